//! The server and the session.

use sqlx::postgres::PgConnection;

use super::codes::Code;
use super::report::{Finding, Severity};
use crate::error::PgError;

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
    Ok(sqlx::query_as(sql).fetch_one(connection).await?)
}

pub(super) fn findings(session: &Session, floor_severity: Severity) -> Option<Finding> {
    let major = session.version / 10_000;
    let floor = FLOORS.iter().find(|(of, _)| *of == major).map(|(_, minor)| *minor);
    let old = match floor {
        Some(minor) => session.version % 10_000 < minor,
        None => major < OLDEST_MAINTAINED,
    };
    let fix = match floor {
        Some(minor) => format!("install the newest minor release, {major}.{minor} or later"),
        None => "upgrade to a maintained major release".to_owned(),
    };
    let finding = Finding {
        code: Code::ServerRelease,
        severity: floor_severity,
        object: format!("server_version_num {}", session.version),
        why:
            "In this release INSERT .. ON CONFLICT DO UPDATE reads rows that policies hide (CVE-2026-120154). A tenant \
              that may insert and update can therefore read other tenants' rows."
                .to_owned(),
        fix,
    };
    old.then_some(finding)
}

/// The first minor release of each major one without CVE-2026-120154.
const FLOORS: [(i32, i32); 5] = [(14, 25), (15, 20), (16, 16), (17, 12), (18, 7)];
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
