//! The server and the session.

use sqlx::postgres::PgConnection;

use super::codes::Code;
use super::report::{Finding, Severity};
use crate::error::PgError;
use crate::unnamed;

/// Who is connected to what.
#[derive(sqlx::FromRow)]
pub(super) struct Session {
    pub(super) version: i32,
    pub(super) session_user: String,
    pub(super) current_user: String,
}

pub(super) async fn session(connection: &mut PgConnection) -> Result<Session, PgError> {
    let sql = "select current_setting('server_version_num')::int4 as version, \
               session_user::text as session_user, current_user::text as current_user";
    Ok(unnamed::query_as(sql).fetch_one(connection).await?)
}

/// One finding for all the holes of the release.
pub(super) fn findings(session: &Session, severity: Severity) -> Option<Finding> {
    let (major, minor) = (session.version / 10_000, session.version % 10_000);
    let is_open = |hole: &&Hole| match hole.mended.iter().find(|(of, _)| *of == major) {
        Some((_, first)) => minor < *first,
        None => major < OLDEST_MAINTAINED,
    };
    let open: Vec<&Hole> = HOLES.iter().filter(is_open).collect();
    let first = open.first()?;
    let others: Vec<&str> = open.iter().skip(1).map(|hole| hole.cve).collect();
    let also = if others.is_empty() { String::new() } else { format!(" Also open: {}.", others.join(", ")) };
    let newest = open.iter().flat_map(|hole| hole.mended).filter(|(of, _)| *of == major).map(|(_, minor)| *minor).max();
    let fix = match newest {
        Some(minor) => format!("-- install the newest minor release, {major}.{minor} or later"),
        None => "-- upgrade to a maintained major release".to_owned(),
    };
    Some(Finding {
        code: Code::ServerRelease,
        severity,
        object: format!("server_version_num {}", session.version),
        why: format!("In this release {} ({}).{also}", first.what, first.cve),
        fix,
    })
}

/// A hole in row level security, and the first minor release of each major one without it.
struct Hole {
    cve: &'static str,
    what: &'static str,
    mended: &'static [(i32, i32)],
}

/// The newest first. Releases of majors that are not listed and not maintained have all of them.
const HOLES: [Hole; 6] = [
    Hole {
        cve: "CVE-2026-120154",
        what: "INSERT .. ON CONFLICT DO UPDATE reads rows that policies hide, so a tenant that may insert and update reads others'",
        mended: &[(14, 25), (15, 20), (16, 16), (17, 12), (18, 7)],
    },
    Hole {
        cve: "CVE-2026-16237",
        what: "INSERT .. ON CONFLICT DO UPDATE writes rows that policies hide",
        mended: &[(14, 24), (15, 19), (16, 15), (17, 11), (18, 6)],
    },
    Hole {
        cve: "CVE-2025-8713",
        what: "planner statistics of partitions and children tell values that policies hide",
        mended: &[(13, 22), (14, 19), (15, 14), (16, 10), (17, 6), (18, 0)],
    },
    Hole {
        cve: "CVE-2024-10976",
        what: "a plan that was made for one role is used for another, policies and all",
        mended: &[(13, 17), (14, 14), (15, 9), (16, 5), (17, 1), (18, 0)],
    },
    Hole {
        cve: "CVE-2024-4317",
        what: "extended statistics show every role what others' policies hide",
        mended: &[(14, 12), (15, 7), (16, 3), (17, 0), (18, 0)],
    },
    Hole {
        cve: "CVE-2023-2455",
        what: "an inlined function keeps the policies of another role",
        mended: &[(13, 11), (14, 8), (15, 3), (16, 0), (17, 0), (18, 0)],
    },
];
const OLDEST_MAINTAINED: i32 = 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_the_minor_release_of_the_same_major() {
        let found = |version| {
            let session = Session { version, session_user: String::new(), current_user: String::new() };
            findings(&session, Severity::Warning).is_some()
        };
        for (version, old) in [
            (150_018, true),
            (150_019, true),
            (150_020, false),
            (160_015, true),
            (160_016, false),
            (170_011, true),
            (170_012, false),
            (180_006, true),
            (180_007, false),
            (140_024, true),
            (140_025, false),
            (130_099, true),
            (190_000, false),
        ] {
            assert_eq!(found(version), old, "{version}");
        }
    }
}
