//! Places and areas on the earth.

use std::fmt;

use serde_json::Value;

use crate::error::VectorError;

/// A place: degrees of longitude and latitude (WGS 84). In a payload `{"lon": 13.4, "lat": 52.5}`.
#[derive(Clone, Copy, PartialEq)]
pub struct Place {
    lon: f64,
    lat: f64,
}

/// An area.
#[derive(Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a back end that misses a kind of area must not compile")]
pub enum Area {
    /// Within so many metres of a place.
    Circle {
        /// The middle.
        center: Place,
        /// In metres.
        radius: f64,
    },
    /// Between two corners. One whose west is east of its east goes over the date line.
    Box {
        /// The corner in the north-west.
        north_west: Place,
        /// The corner in the south-east.
        south_east: Place,
    },
    /// Within a line that comes back to where it began: at least four places, the last one the first again.
    Polygon(Vec<Place>),
}

impl Place {
    /// A place.
    ///
    /// # Errors
    /// [`VectorError::BadPlace`] beyond 180 degrees of longitude or 90 of latitude.
    pub fn new(lon: f64, lat: f64) -> Result<Self, VectorError> {
        // Written so that NaN fails.
        if lon.abs() <= 180.0 && lat.abs() <= 90.0 { Ok(Self { lon, lat }) } else { Err(VectorError::BadPlace) }
    }

    /// Degrees of longitude.
    #[must_use]
    pub const fn lon(&self) -> f64 {
        self.lon
    }

    /// Degrees of latitude.
    #[must_use]
    pub const fn lat(&self) -> f64 {
        self.lat
    }

    /// The place a value of a payload stands for.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        Self::new(value.get("lon")?.as_f64()?, value.get("lat")?.as_f64()?).ok()
    }

    /// The same place, or one within a millimetre of it that is not on the end of a scale.
    fn off_the_end(self) -> Self {
        Self { lon: self.lon.min(180.0 - BARELY), lat: self.lat.min(90.0 - BARELY) }
    }

    /// Metres between two places on a sphere (haversine formula, radius 6,371,008.8 m).
    pub(crate) fn distance(self, other: Self) -> f64 {
        let half = |one: f64, two: f64| ((two - one).to_radians() / 2.0).sin().powi(2);
        let (one, two) = (self.lat.to_radians(), other.lat.to_radians());
        let haversine = half(self.lat, other.lat) + one.cos() * two.cos() * half(self.lon, other.lon);
        2.0 * EARTH_RADIUS * haversine.sqrt().min(1.0).asin()
    }
}

impl Area {
    pub(crate) fn ensure_sound(&self) -> Result<(), VectorError> {
        match self {
            Self::Circle { radius, .. } if *radius > 0.0 && radius.is_finite() => Ok(()),
            Self::Box { north_west, south_east } if north_west.lat >= south_east.lat => Ok(()),
            Self::Polygon(line) if line.len() >= 4 && line.first() == line.last() => Ok(()),
            Self::Circle { .. } | Self::Box { .. } | Self::Polygon(_) => Err(VectorError::BadPlace),
        }
    }

    /// The same area, in one or two parts that an index by geohash covers. That of Qdrant walks east from the cell of one
    /// side to the cell of the other: where a box goes nearly round the earth, into the cell in which it began, it stops at
    /// once and finds nothing elsewhere. The ends of the scales, 180 degrees east and the north pole, it takes for their
    /// other ends.
    pub(crate) fn parts(self) -> Vec<Self> {
        match self {
            Self::Box { north_west: nw, south_east: se } => {
                let (nw, se) = (nw.off_the_end(), se.off_the_end());
                let width = if nw.lon <= se.lon { se.lon - nw.lon } else { se.lon - nw.lon + 360.0 };
                if width <= 180.0 {
                    return vec![Self::Box { north_west: nw, south_east: se }];
                }
                // The halves overlap by a little, since the engine has what is on a side outside.
                let middle = |more: f64| {
                    let lon = nw.lon + width / 2.0 + more;
                    if lon > 180.0 { lon - 360.0 } else { lon }
                };
                vec![
                    Self::Box { north_west: nw, south_east: Place { lon: middle(BARELY), ..se } },
                    Self::Box { north_west: Place { lon: middle(-BARELY), ..nw }, south_east: se },
                ]
            }
            Self::Polygon(line) => vec![Self::Polygon(line.into_iter().map(Place::off_the_end).collect())],
            circle @ Self::Circle { .. } => vec![circle],
        }
    }

    pub(crate) const fn corners(&self) -> usize {
        match self {
            Self::Circle { .. } | Self::Box { .. } => 1,
            Self::Polygon(line) => line.len(),
        }
    }

    /// Whether a place is inside, as far as plane geometry goes. Engines differ at the very edge.
    pub(crate) fn holds(&self, place: Place) -> bool {
        match self {
            Self::Circle { center, radius } => center.distance(place) <= *radius,
            Self::Box { north_west: nw, south_east: se } => {
                let across = if nw.lon <= se.lon {
                    nw.lon <= place.lon && place.lon <= se.lon
                } else {
                    nw.lon <= place.lon || place.lon <= se.lon
                };
                across && se.lat <= place.lat && place.lat <= nw.lat
            }
            Self::Polygon(line) => {
                let crossed = line.windows(2).filter(|edge| {
                    let [a, b] = edge else { return false };
                    (a.lat > place.lat) != (b.lat > place.lat)
                        && place.lon < (b.lon - a.lon) * (place.lat - a.lat) / (b.lat - a.lat) + a.lon
                });
                crossed.count() % 2 == 1
            }
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Place(..)")
    }
}

impl fmt::Debug for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Circle { .. } => "Circle(..)",
            Self::Box { .. } => "Box(..)",
            Self::Polygon(_) => "Polygon(..)",
        })
    }
}

const EARTH_RADIUS: f64 = 6_371_008.8;
/// A tenth of a millimetre, in degrees.
const BARELY: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    fn place(lon: f64, lat: f64) -> Place {
        Place::new(lon, lat).unwrap()
    }

    #[test]
    fn places_are_on_the_earth() {
        assert!(Place::new(180.0, -90.0).is_ok());
        for (lon, lat) in [(180.1, 0.0), (0.0, 90.1), (f64::NAN, 0.0), (0.0, f64::INFINITY)] {
            assert!(matches!(Place::new(lon, lat), Err(VectorError::BadPlace)), "{lon} {lat}");
        }
    }

    #[test]
    fn areas_hold_what_is_in_them() {
        let berlin = place(13.4, 52.5);
        let circle = |radius| Area::Circle { center: place(2.35, 48.86), radius };
        assert!(circle(900_000.0).holds(berlin) && !circle(850_000.0).holds(berlin), "Paris is some 878 km away");
        let over_the_date_line = Area::Box { north_west: place(170.0, 10.0), south_east: place(-170.0, -10.0) };
        assert!(over_the_date_line.holds(place(-175.0, 0.0)) && !over_the_date_line.holds(place(0.0, 0.0)));
        let line = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (5.0, 5.0), (0.0, 10.0), (0.0, 0.0)];
        let polygon = Area::Polygon(line.map(|(lon, lat)| place(lon, lat)).to_vec());
        assert!(polygon.holds(place(2.0, 4.0)) && !polygon.holds(place(5.0, 8.0)), "it has a notch");
    }

    #[test]
    fn parts_hold_what_the_whole_does_and_none_goes_round_the_earth() {
        let sides = |end: i32| [-end, -end + 1, -60, -15, 0, 15, 60, end - 1, end].map(f64::from);
        let pairs = |end: i32| sides(end).into_iter().flat_map(move |one| sides(end).map(|other| (one, other)));
        for ((north, south), (west, east)) in pairs(90).flat_map(|lats| pairs(180).map(move |lons| (lats, lons))) {
            let whole = Area::Box { north_west: place(west, north), south_east: place(east, south) };
            if whole.ensure_sound().is_err() {
                continue;
            }
            let parts = whole.clone().parts();
            for part in &parts {
                let Area::Box { north_west: nw, south_east: se } = part else { panic!("a box has boxes") };
                let width = (se.lon - nw.lon).rem_euclid(360.0);
                assert!(width <= 180.001 && nw.lat < 90.0 && se.lon < 180.0, "{west} {east}: {} {}", nw.lon, se.lon);
            }
            // Off the sides, and on the middle of each.
            for (lon, lat) in (-17..17).flat_map(|lon| (-8..8).map(move |lat| (f64::from(lon), f64::from(lat)))) {
                for at in [place(lon * 10.0 + 5.3, lat * 10.0 + 5.3), place(lon * 7.5 + 0.25, lat * 10.0 + 0.3)] {
                    let in_a_part = parts.iter().any(|part| part.holds(at));
                    assert_eq!(in_a_part, whole.holds(at), "{west} {north} {east} {south}: {} {}", at.lon, at.lat);
                }
            }
        }
    }

    #[test]
    fn areas_of_nothing_are_refused() {
        let corner = place(0.0, 0.0);
        for bad in [
            Area::Circle { center: corner, radius: 0.0 },
            Area::Circle { center: corner, radius: f64::NAN },
            Area::Box { north_west: corner, south_east: place(0.0, 1.0) },
            Area::Polygon(vec![corner; 3]),
            Area::Polygon(vec![corner, place(1.0, 0.0), place(1.0, 1.0), place(0.0, 1.0)]),
        ] {
            assert!(matches!(bad.ensure_sound(), Err(VectorError::BadPlace)), "{bad:?}");
        }
    }
}
