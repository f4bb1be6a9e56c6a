//! `cargo xtask arch`: arrows between members run one way, and each driver has one home.

use crate::failure::Failure;
use crate::workspace::{self, Member};

pub(crate) fn run() -> Result<(), Failure> {
    let members = workspace::members(&workspace::metadata()?);
    let faults = check(&members);
    if faults.is_empty() {
        println!("arch: {} members, every arrow and every driver home as it should be", members.len());
        return Ok(());
    }
    Err(Failure::new(format!("arch:\n  {}", faults.join("\n  "))))
}

/// The library members and what each may depend on. Nothing else is a library, and nothing here forms a circle, so what
/// passes has none either.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("tenancy-core", &[]),
    ("tenancy-cache", &["tenancy-core", "tenancy-vector"]),
    ("tenancy-vector", &["tenancy-core", "tenancy-pg"]),
    ("tenancy-vector-edge", &["tenancy-core", "tenancy-vector"]),
    ("tenancy-pg", &["tenancy-core"]),
    ("tenancy-tools", &["tenancy-core", "tenancy-pg", "tenancy-cache", "tenancy-vector"]),
    ("tenancy-canary", &["tenancy-core"]),
    (
        "tenancy-stack",
        &[
            "tenancy-core",
            "tenancy-cache",
            "tenancy-vector",
            "tenancy-vector-edge",
            "tenancy-pg",
            "tenancy-tools",
            "tenancy-canary",
        ],
    ),
];

/// Test support may use every library, and drivers; no library may be built with it.
const TEST_SUPPORT: &str = "tenancy-testkit";

/// Members that nothing may depend on and that may use what they like.
const EXEMPT: &[&str] = &[
    "rag-backend",
    "tenancy-cli",
    "guardrails-fixture",
    "tenancy-bench-cache",
    "tenancy-bench-vector",
    "tenancy-tests",
    "tenancy-ui-tests",
    "xtask",
];

/// Drivers, and the one library that may be built with each.
const DRIVER_HOMES: &[(&str, &str)] = &[
    ("blake3", "tenancy-core"),
    ("sqlx", "tenancy-pg"),
    ("redis", "tenancy-cache"),
    ("qdrant-client", "tenancy-vector"),
    ("qdrant-edge", "tenancy-vector-edge"),
];

fn check(members: &[Member]) -> Vec<String> {
    members.iter().flat_map(|member| faults_of(member, members)).collect()
}

fn faults_of(member: &Member, members: &[Member]) -> Vec<String> {
    let name = member.name.as_str();
    if EXEMPT.contains(&name) {
        return Vec::new();
    }
    if name == TEST_SUPPORT {
        return arrows(member, members, |to| LIBRARIES.iter().any(|(library, _)| *library == to));
    }
    let Some((_, allowed)) = LIBRARIES.iter().find(|(library, _)| *library == name) else {
        return vec![format!("{name} is in no list of xtask/src/arch.rs: say what it may depend on")];
    };
    let mut faults = arrows(member, members, |to| allowed.contains(&to));
    for (driver, home) in DRIVER_HOMES {
        if *home != name && member.depends_on.iter().any(|to| to == driver) {
            faults.push(format!("{name} depends on {driver}, which only {home} may"));
        }
    }
    faults
}

/// What the member may not depend on among the members.
fn arrows(member: &Member, members: &[Member], may: impl Fn(&str) -> bool) -> Vec<String> {
    let inside = |to: &&String| members.iter().any(|other| other.name == **to);
    let forbidden = member.depends_on.iter().filter(inside).filter(|to| !may(to));
    forbidden.map(|to| format!("{} depends on {to}, an arrow that is not in the table", member.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole house as allowed, with one dependency more.
    fn with(extra: Option<(&str, &str)>) -> Vec<Member> {
        let library = |(name, may): &(&str, &[&str])| Member {
            name: (*name).to_owned(),
            depends_on: may.iter().map(|to| (*to).to_owned()).collect(),
        };
        let mut members: Vec<Member> = LIBRARIES.iter().map(library).collect();
        for name in EXEMPT.iter().copied().chain([TEST_SUPPORT]) {
            members.push(Member { name: name.to_owned(), depends_on: vec!["tenancy-core".to_owned()] });
        }
        for (driver, home) in DRIVER_HOMES {
            add(&mut members, home, driver);
        }
        if let Some((from, to)) = extra {
            add(&mut members, from, to);
        }
        members
    }

    fn add(members: &mut [Member], from: &str, to: &str) {
        let member = members.iter_mut().find(|member| member.name == from).expect("a member");
        member.depends_on.push(to.to_owned());
    }

    #[test]
    fn the_house_as_drawn_passes() {
        assert_eq!(check(&with(None)), Vec::<String>::new());
    }

    #[test]
    fn each_forbidden_arrow_is_one_fault() {
        for (from, to) in [
            ("tenancy-core", "tenancy-pg"),
            ("tenancy-pg", "tenancy-cache"),
            ("tenancy-vector", "tenancy-vector-edge"),
            ("tenancy-cache", "tenancy-stack"),
            ("tenancy-canary", "tenancy-tools"),
            // Test support in a library's build would ship it.
            ("tenancy-stack", "tenancy-testkit"),
            ("tenancy-core", "tenancy-testkit"),
            // Nothing depends on what is exempt.
            ("tenancy-tools", "rag-backend"),
            ("tenancy-testkit", "xtask"),
        ] {
            let faults = check(&with(Some((from, to))));
            assert_eq!(faults, [format!("{from} depends on {to}, an arrow that is not in the table")]);
        }
    }

    #[test]
    fn each_driver_outside_its_home_is_one_fault() {
        for (driver, home) in DRIVER_HOMES {
            for (name, _) in LIBRARIES.iter().filter(|(name, _)| name != home) {
                let faults = check(&with(Some((name, driver))));
                assert_eq!(faults, [format!("{name} depends on {driver}, which only {home} may")]);
            }
        }
    }

    #[test]
    fn test_support_and_exempt_members_may_use_drivers() {
        for name in EXEMPT.iter().chain([&TEST_SUPPORT]) {
            for (driver, _) in DRIVER_HOMES {
                assert_eq!(check(&with(Some((name, driver)))), Vec::<String>::new(), "{name} {driver}");
            }
        }
    }

    #[test]
    fn a_new_member_must_be_listed() {
        let mut members = with(None);
        members.push(Member { name: "tenancy-new".to_owned(), depends_on: Vec::new() });
        let faults = check(&members);
        assert_eq!(faults, ["tenancy-new is in no list of xtask/src/arch.rs: say what it may depend on"]);
    }

    #[test]
    fn the_table_has_no_circle() {
        let mut left: Vec<_> = LIBRARIES.to_vec();
        while !left.is_empty() {
            let before = left.len();
            let names: Vec<&str> = left.iter().map(|(name, _)| *name).collect();
            left.retain(|(_, may)| may.iter().any(|to| names.contains(to)));
            assert!(left.len() < before, "a circle among {names:?}");
        }
    }

    #[test]
    fn the_workspace_itself_passes() {
        let members = workspace::members(&workspace::metadata().expect("cargo metadata"));
        assert!(members.len() > LIBRARIES.len());
        assert_eq!(check(&members), Vec::<String>::new());
    }
}
