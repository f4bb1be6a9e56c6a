// What is measured: the same statements for every way, in both programs.

/// One piece of work of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// One row by its key.
    Key,
    /// One new row.
    Insert,
    /// A hundred rows.
    Scan,
    /// A hundred rows of five tables.
    Join,
}

impl Work {
    fn parse(text: &str) -> Self {
        match text {
            "key" => Self::Key,
            "insert" => Self::Insert,
            "scan" => Self::Scan,
            "join" => Self::Join,
            other => panic!("no such work: {other}"),
        }
    }

    /// `$1` is the tenant's row key, `$2` the key of its note. Every way names its tenant, as a careful service does.
    fn sql(self) -> &'static str {
        match self {
            Self::Key => "select body from note where tenant_id = $1 and id = $2",
            Self::Insert => "insert into event (tenant_id, note, body) values ($1, $2, 'x')",
            Self::Scan => "select body from note where tenant_id = $1 and id >= $2 order by id limit 100",
            Self::Join => {
                "select n.body from note n
                 join author a on (a.tenant_id, a.id) = (n.tenant_id, n.author)
                 join project p on (p.tenant_id, p.id) = (n.tenant_id, n.project)
                 join team t on (t.tenant_id, t.id) = (p.tenant_id, p.team)
                 join label l on (l.tenant_id, l.id) = (n.tenant_id, n.label)
                 where n.tenant_id = $1 and n.id >= $2 order by n.id limit 100"
            }
        }
    }

    /// How many rows it must be; a way that answers quickly with nothing is no faster.
    fn rows(self) -> usize {
        match self {
            Self::Key => 1,
            Self::Insert => 0,
            Self::Scan | Self::Join => 100,
        }
    }
}

/// The first note of the tenant of this number.
fn first_note(tenant: usize) -> i64 {
    i64::try_from(tenant).unwrap() * 1_000 + 1
}
