//! A drawing of lines over a scale of tenths, hundreds and thousands.

use std::fmt::Write;

/// Lines over numbers of tenants, as an SVG.
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    /// What the upward axis counts.
    pub(super) unit: &'a str,
    /// The top of the upward axis; the bottom is 0.
    pub(super) top: f64,
    /// A name, and points from the left to the right.
    pub(super) lines: &'a [(&'a str, Vec<(f64, f64)>)],
}

impl Plot<'_> {
    pub(super) fn svg(&self) -> String {
        let all = || self.lines.iter().flat_map(|(_, points)| points);
        let (left, right) = all().fold((f64::MAX, f64::MIN), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
        let across = |x: f64| LEFT + WIDTH * (x.log10() - left.log10()) / (right.log10() - left.log10()).max(0.1);
        let up = |y: f64| TOP + HEIGHT * (1.0 - (y / self.top).clamp(0.0, 1.0));
        let mut svg = String::from(HEAD);
        let mut put = |line: String| {
            // Writing to a string does not fail.
            let _infallible = writeln!(svg, "{line}");
        };
        put(text(LEFT, 24.0, "start", "black", self.title));
        for step in 0..=4 {
            let value = self.top * f64::from(step) / 4.0;
            let y = up(value);
            put(format!("<path d=\"M{LEFT} {y:.1}h{WIDTH}\" stroke=\"#ccc\"/>"));
            put(text(LEFT - 8.0, y + 4.0, "end", "black", &format!("{value}")));
        }
        put(text(LEFT, TOP - 10.0, "start", "#666", self.unit));
        let mut ticks: Vec<f64> = all().map(|(x, _)| *x).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        for x in ticks {
            put(text(across(x), TOP + HEIGHT + 20.0, "middle", "black", &format!("{x} tenants")));
        }
        for ((name, points), (number, colour)) in self.lines.iter().zip(COLOURS.iter().enumerate()) {
            let path: Vec<String> = points.iter().map(|(x, y)| format!("{:.1} {:.1}", across(*x), up(*y))).collect();
            let dash = if number % 2 == 0 { "none" } else { "6 3" };
            put(format!(
                "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
                path.join("L")
            ));
            let y = TOP + 18.0 * number as f64;
            put(text(LEFT + WIDTH + 16.0, y + 10.0, "start", colour, name));
        }
        svg + "</svg>\n"
    }
}

fn text(x: f64, y: f64, anchor: &str, colour: &str, words: &str) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{words}</text>")
}

const HEAD: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 400\" font-family=\"sans-serif\" \
                    font-size=\"13\">\n<rect width=\"760\" height=\"400\" fill=\"white\"/>\n";
const LEFT: f64 = 70.0;
const TOP: f64 = 60.0;
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 290.0;
const COLOURS: [&str; 4] = ["#1b6", "#16b", "#c33", "#a70"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_goes_through_its_points() {
        let lines = [("ours", vec![(10.0, 1.0), (1000.0, 1.0)]), ("a < b", vec![(10.0, 0.0), (1000.0, 0.5)])];
        let svg = Plot { title: "t", unit: "u", top: 1.0, lines: &lines }.svg();
        assert!(svg.contains("M70.0 60.0L510.0 60.0"), "at the top: {svg}");
        assert!(svg.contains("M70.0 350.0L510.0 205.0"), "from the bottom to the middle: {svg}");
        assert!(svg.contains("a &lt; b") && svg.ends_with("</svg>\n"));
    }
}
