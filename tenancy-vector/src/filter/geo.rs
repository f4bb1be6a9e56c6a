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
