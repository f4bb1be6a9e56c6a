//! What a bench prints and writes.

use std::path::Path;

use serde::{Serialize, Serializer};

use crate::failure::Failure;

/// One comparison: medians over interleaved rounds, or a count.
#[derive(Serialize)]
pub(super) struct Row {
    id: String,
    ours: f64,
    against: f64,
    ratio: f64,
    /// What is to be reached, where something is: a number, of `ratio` unless what is counted is no time.
    reach: Option<Reach>,
    unit: &'static str,
    runs: usize,
}

/// What is to be reached.
#[derive(Clone, Copy)]
pub(super) enum Reach {
    /// The most that `ratio` may be.
    Ratio(f64),
    /// The least that `ours` may be.
    AtLeast(f64),
    /// The most that `ours` may be.
    AtMost(f64),
}

impl Row {
    pub(super) fn new(
        id: String,
        ours: f64,
        against: f64,
        reach: Option<Reach>,
        unit: &'static str,
        runs: usize,
    ) -> Self {
        Self { id, ours: rounded(ours), against: rounded(against), ratio: rounded(ours / against), reach, unit, runs }
    }

    fn is_missed(&self) -> bool {
        match self.reach {
            None => false,
            Some(Reach::Ratio(most)) => self.ratio > most,
            Some(Reach::AtLeast(least)) => self.ours < least,
            Some(Reach::AtMost(most)) => self.ours > most,
        }
    }
}

impl Reach {
    const fn number(self) -> f64 {
        let (Self::Ratio(number) | Self::AtLeast(number) | Self::AtMost(number)) = self;
        number
    }
}

impl Serialize for Reach {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.number())
    }
}

#[derive(Serialize)]
struct Rows<'a> {
    rows: &'a [Row],
}

fn json(rows: &[Row]) -> Result<String, Failure> {
    serde_json::to_string_pretty(&Rows { rows }).map_err(|e| Failure::new(e.to_string()))
}

pub(super) fn write(file: &Path, rows: &[Row]) -> Result<(), Failure> {
    std::fs::write(file, json(rows)? + "\n").map_err(Failure::at(file.display()))
}

pub(super) fn print_json(rows: &[Row]) -> Result<(), Failure> {
    println!("{}", json(rows)?);
    Ok(())
}

pub(super) fn print(rows: &[Row]) {
    println!("\n{:<52} {:>9} {:>9} {:<9} {:>6} {:>6}", "", "ours", "against", "", "ratio", "reach");
    for row in rows {
        let Row { id, ours, against, ratio, reach, unit, runs: _ } = row;
        let reach = reach.map_or(String::new(), |reach| format!("{:.2}", reach.number()));
        let missed = if row.is_missed() { " missed" } else { "" };
        let (ours, against) = (short(*ours), short(*against));
        println!("{id:<52} {ours:>9} {against:>9} {unit:<9} {ratio:>6.2} {reach:>6}{missed}");
    }
}

/// The one in the middle.
pub(super) fn median(rounds: Option<&Vec<f64>>) -> f64 {
    let mut rounds = rounds.cloned().unwrap_or_default();
    rounds.sort_by(f64::total_cmp);
    rounds.get(rounds.len() / 2).copied().unwrap_or(f64::NAN)
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Whole numbers from a hundred on, three decimals below.
fn short(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reach_is_of_the_ratio_or_of_ours() {
        let row = |ours, against, reach| Row::new("id".to_owned(), ours, against, Some(reach), "us", 1);
        for (row, missed) in [
            (row(105.0, 100.0, Reach::Ratio(1.05)), false),
            (row(106.0, 100.0, Reach::Ratio(1.05)), true),
            (row(1.0, 0.1, Reach::AtLeast(1.0)), false),
            (row(0.999, 0.1, Reach::AtLeast(1.0)), true),
            (row(0.0, 0.9, Reach::AtMost(0.0)), false),
            (row(0.01, 0.9, Reach::AtMost(0.0)), true),
        ] {
            assert_eq!(row.is_missed(), missed, "{} {}", row.ours, row.ratio);
        }
    }

    #[test]
    fn the_middle_is_the_middle() {
        assert_eq!(median(Some(&vec![3.0, 1.0, 2.0])), 2.0);
        assert!(median(None).is_nan());
    }
}
