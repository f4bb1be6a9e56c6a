//! Filters of every kind.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenancy_vector::{Area, Filter, IndexKind, Place, Range, Schema, Words};

use super::data::{self, TAGS, key};
use super::random::Random;

/// A filter that fits the schema.
pub(super) fn filter(schema: &Schema, random: &mut Random) -> Filter {
    nested(schema, random, 3)
}

fn nested(schema: &Schema, random: &mut Random, levels: usize) -> Filter {
    if levels == 0 || random.percent(40) {
        return one(schema, random);
    }
    let some = |random: &mut Random| random.many(1, 3, |random| nested(schema, random, levels - 1));
    match random.below(4) {
        0 => Filter::All(some(random)),
        1 => Filter::Any(some(random)),
        2 => {
            let filters = some(random);
            let least = 1 + random.below(filters.len());
            Filter::AtLeast(least, filters)
        }
        _ => nested(schema, random, levels - 1).not(),
    }
}

fn one(schema: &Schema, random: &mut Random) -> Filter {
    let number = |random: &mut Random| random.between(-5, 10);
    match random.below(18) {
        0 => Filter::Equals(key("tag"), (*random.pick(&TAGS)).into()),
        1 => Filter::AnyOf(key("tag"), random.many(0, 3, |random| (*random.pick(&TAGS)).into())),
        2 => Filter::Equals(key("n"), number(random).into()),
        3 => Filter::AnyOf(key("n"), random.many(0, 4, |random| number(random).into())),
        4 => Filter::Equals(key("flag"), random.percent(50).into()),
        5 => {
            Filter::Within(key("n"), range(random, |random| f64::from(i32::try_from(random.between(-5, 10)).unwrap())))
        }
        6 => Filter::Within(key("x"), range(random, |random| f64::from(random.value()))),
        7 => Filter::During(key("at"), range(random, moment)),
        8 => words(schema, random),
        9 => Filter::Inside(key("place"), area(random)),
        10 => Filter::Items(
            key(random.word(&["tag", "n", "list", "deep.tags", "missing"])),
            range(random, |random| random.below(4) as u64),
        ),
        11 => Filter::IsEmpty(key(random.word(&KEYS))),
        12 => Filter::IsNull(key(random.word(&["n", "tag", "missing", "list", "deep.n"]))),
        13 => Filter::HasId(random.many(0, 10, data::id)),
        14 => Filter::HasVector(data::any_vector(schema, random).0),
        15 => Filter::Nested(key("list"), Box::new(of_a_part(random))),
        16 => Filter::Equals(key("deep.tags"), (*random.pick(&TAGS)).into()),
        _ => Filter::Equals(key(random.word(&["list[].n", "deep.n"])), random.between(0, 4).into()),
    }
}

/// A condition on one object of a list.
fn of_a_part(random: &mut Random) -> Filter {
    let n = Filter::Equals(key("n"), random.between(0, 4).into());
    let tag = Filter::Equals(key("tag"), (*random.pick(&TAGS)).into());
    match random.below(4) {
        0 => n,
        1 => Filter::All(vec![n, tag]),
        2 => Filter::Any(vec![n.not(), tag]),
        _ => Filter::All(vec![n.not(), Filter::IsEmpty(key("missing")), tag.not()]),
    }
}

fn words(schema: &Schema, random: &mut Random) -> Filter {
    if schema.index_of(&key("words")) != Some(IndexKind::Words) {
        return Filter::IsEmpty(key("words"));
    }
    let text = random.many(1, 3, |random| *random.pick(&data::WORDS)).join(" ");
    Filter::Words(
        key("words"),
        match random.below(3) {
            0 => Words::All(text),
            1 => Words::Any(text),
            _ => Words::Phrase(text),
        },
    )
}

fn area(random: &mut Random) -> Area {
    // Between whole degrees, where no place of a payload is.
    let half = |number: i64| f64::from(i32::try_from(number).unwrap()) + 0.5;
    match random.below(3) {
        0 => {
            let center = Place::new(half(random.between(-180, 179)), half(random.between(-90, 89))).unwrap();
            Area::Circle { center, radius: half(random.between(100_000, 9_000_000)) }
        }
        1 => {
            let (one, two) = (random.between(-90, 89), random.between(-90, 89));
            // Over the date line, too, and now and then up to the end of a scale.
            let side = |random: &mut Random, end: f64| {
                if random.percent(10) { end } else { half(random.between(-180, 179)) }
            };
            let (west, east) = (side(random, -180.0), side(random, 180.0));
            let north = if random.percent(10) { 90.0 } else { half(one.max(two)) };
            let south = if random.percent(10) { -90.0 } else { half(one.min(two)) };
            let corner = |lon, lat| Place::new(lon, lat).unwrap();
            Area::Box { north_west: corner(west, north), south_east: corner(east, south) }
        }
        _ => {
            let (lon, lat, size) = (random.between(-170, 100), random.between(-80, 20), random.between(5, 60));
            let at = |x: i64, y: i64, more: f64| Place::new(half(lon + x), half(lat + y) + more).unwrap();
            // With no whole degrees on its slope.
            Area::Polygon(vec![at(0, 0, 0.0), at(size, 0, 0.0), at(size, size, 0.3), at(0, 0, 0.0)])
        }
    }
}

fn moment(random: &mut Random) -> SystemTime {
    let hours = u64::try_from(random.between(0, 24 * 365)).unwrap();
    UNIX_EPOCH + Duration::from_secs(FIRST_OF_2026 + 3600 * hours)
}

fn range<T: Copy + PartialOrd>(random: &mut Random, value: impl Fn(&mut Random) -> T) -> Range<T> {
    let (one, two) = (value(random), value(random));
    let (low, high) = if one <= two { (one, two) } else { (two, one) };
    match random.below(4) {
        0 => Range::new(low..),
        1 => Range::new(..high),
        2 => Range::new(low..=high),
        _ => Range::new((std::ops::Bound::Excluded(low), std::ops::Bound::Included(high))),
    }
    .unwrap()
}

const KEYS: [&str; 6] = ["tag", "n", "at", "deep.tags", "missing", "list"];
const FIRST_OF_2026: u64 = 1_767_225_600;
