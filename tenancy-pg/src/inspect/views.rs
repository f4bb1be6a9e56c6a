//! In whose name a view or rule reads, and what.
//!
//! A view reads as its owner, or with `security_invoker` as whoever runs the statement, also from within another view
//! (rewriteHandler.c). So each view of a chain is judged by itself, for its own readers.

use std::collections::HashMap;

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::catalog::Catalog;
use crate::error::PgError;
use crate::unnamed;

/// One relation that the definition of a view or rule names.
#[derive(sqlx::FromRow)]
struct Edge {
    reader: Oid,
    reader_name: String,
    /// `v`, `m`, or the kind of the table that a rule is on.
    kind: String,
    owner: Oid,
    invoker: bool,
    /// A rule other than the one that makes the view.
    is_rule: bool,
    read: Oid,
}

/// Which view, materialized view or rule reads which relation, and which children a relation has.
pub(super) struct Views {
    edges: HashMap<Oid, Vec<Edge>>,
    children: HashMap<Oid, Vec<Oid>>,
}

/// What is behind a view.
#[derive(Default)]
pub(super) struct Behind {
    /// Tables and materialized views at the ends of all chains.
    pub(super) ends: Vec<Oid>,
    /// Whether a tenant table is read by somebody whom its policies do not hold.
    pub(super) unheld: bool,
    /// The views on the way that read as their owner, as SQL names them.
    pub(super) as_owner: Vec<String>,
}

impl Views {
    pub(super) async fn load(connection: &mut PgConnection) -> Result<Self, PgError> {
        let mut edges: HashMap<Oid, Vec<Edge>> = HashMap::new();
        for edge in unnamed::query_as::<Edge>(EDGES).fetch_all(&mut *connection).await? {
            edges.entry(edge.reader).or_default().push(edge);
        }
        let mut children: HashMap<Oid, Vec<Oid>> = HashMap::new();
        for (parent, child) in unnamed::query_as::<(Oid, Oid)>(CHILDREN).fetch_all(connection).await? {
            children.entry(parent).or_default().push(child);
        }
        Ok(Self { edges, children })
    }

    /// Whether rows of a tenant table come out of a relation: because it reads the table, by way of whatever views and
    /// copies, or because it is a parent of one and shows the child's rows by its own policies.
    pub(super) fn gives_tenants(&self, relation: Oid, catalog: &Catalog<'_>) -> bool {
        let (mut seen, mut left) = (vec![relation], vec![relation]);
        while let Some(next) = left.pop() {
            let read = self.edges.get(&next).into_iter().flatten().filter(|edge| !edge.is_rule).map(|edge| edge.read);
            for beyond in read.chain(self.children.get(&next).into_iter().flatten().copied()) {
                if catalog.table(beyond).is_some() {
                    return true;
                }
                if !seen.contains(&beyond) {
                    seen.push(beyond);
                    left.push(beyond);
                }
            }
        }
        false
    }

    /// Follows a view to the tables behind it.
    pub(super) fn behind(&self, view: Oid, catalog: &Catalog<'_>) -> Behind {
        let mut behind = Behind::default();
        self.follow(view, catalog, &mut Vec::new(), &mut behind);
        behind
    }

    /// Follows what the rules on a relation do.
    pub(super) fn behind_rules(&self, relation: Oid, catalog: &Catalog<'_>) -> Behind {
        let mut behind = Behind::default();
        for edge in self.edges.get(&relation).into_iter().flatten().filter(|edge| edge.is_rule) {
            self.step(edge, catalog, &mut vec![relation], &mut behind);
        }
        behind
    }

    fn follow(&self, view: Oid, catalog: &Catalog<'_>, seen: &mut Vec<Oid>, behind: &mut Behind) {
        if seen.contains(&view) {
            return;
        }
        seen.push(view);
        for edge in self.edges.get(&view).into_iter().flatten().filter(|edge| !edge.is_rule) {
            self.step(edge, catalog, seen, behind);
        }
    }

    fn step(&self, edge: &Edge, catalog: &Catalog<'_>, seen: &mut Vec<Oid>, behind: &mut Behind) {
        let readers = if edge.invoker { catalog.reach.clone() } else { vec![edge.owner] };
        if !edge.invoker && edge.kind == "v" && !behind.as_owner.contains(&edge.reader_name) {
            behind.as_owner.push(edge.reader_name.clone());
        }
        let is_view = self.edges.get(&edge.read).is_some_and(|edges| edges.iter().any(|next| next.kind == "v"));
        if is_view {
            return self.follow(edge.read, catalog, seen, behind);
        }
        behind.ends.push(edge.read);
        if catalog.table(edge.read).is_some() && !catalog.holds(edge.read, &readers) {
            behind.unheld = true;
        }
    }
}

const CHILDREN: &str = "select inhparent, inhrelid from pg_inherits order by 1, 2";

const EDGES: &str = "
select distinct c.oid as reader, format('%I.%I', n.nspname, c.relname) as reader_name, c.relkind::text as kind,
       c.relowner as owner, r.rulename <> '_RETURN' as is_rule, d.refobjid as read,
       exists (select from pg_options_to_table(c.reloptions) o
               where o.option_name = 'security_invoker' and lower(o.option_value) in ('true', 'on', 'yes', '1')) as invoker
from pg_rewrite r join pg_class c on c.oid = r.ev_class join pg_namespace n on n.oid = c.relnamespace
join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
where c.oid >= 16384 and (d.refobjid <> c.oid or (r.rulename <> '_RETURN' and c.relkind in ('r', 'p')))
order by 1, 2, 3, 4, 5, 6, 7";
