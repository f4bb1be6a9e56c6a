//! Everything else that the service can reach: every relation is declared, or is a view that gives what is.

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::catalog::Catalog;
use super::codes::Code;
use super::report::Finding;
use super::views::{Behind, Views};
use crate::declaration::Relation;
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::queue;
use crate::unnamed;

/// A relation, not one of the server's own, on which a role within reach has any right.
#[derive(sqlx::FromRow)]
pub(super) struct Reached {
    pub(super) oid: Oid,
    schema: String,
    name: String,
    kind: String,
    /// The rules on it, beside the one that makes a view.
    rules: Vec<String>,
}

impl Reached {
    fn object(&self) -> String {
        format!("{}.{}", quote_ident(&self.schema), quote_ident(&self.name))
    }

    fn is(&self, relation: &Relation) -> bool {
        relation.schema.as_str() == self.schema && relation.table.as_str() == self.name
    }
}

pub(super) async fn reached(connection: &mut PgConnection, catalog: &Catalog<'_>) -> Result<Vec<Reached>, PgError> {
    let all: Vec<Reached> = unnamed::query_as(REACHED).bind(&catalog.reach).fetch_all(&mut *connection).await?;
    let mut reached = Vec::new();
    for relation in all {
        if !queue::as_made(connection, &relation.schema, &relation.name).await? {
            reached.push(relation);
        }
    }
    Ok(reached)
}

pub(super) fn findings(catalog: &Catalog<'_>, views: &Views, reached: &[Reached]) -> Vec<Finding> {
    let global: Vec<Oid> = reached.iter().filter(|r| is_global(catalog, r)).map(|r| r.oid).collect();
    let world = World { catalog, views, global };
    reached.iter().flat_map(|relation| [world.relation(relation), world.rules(relation)]).flatten().collect()
}

fn is_global(catalog: &Catalog<'_>, reached: &Reached) -> bool {
    catalog.declaration.global_tables().iter().any(|relation| reached.is(relation))
}

struct World<'a> {
    catalog: &'a Catalog<'a>,
    views: &'a Views,
    /// The reached relations that are declared global.
    global: Vec<Oid>,
}

impl World<'_> {
    fn relation(&self, reached: &Reached) -> Option<Finding> {
        if self.catalog.table(reached.oid).is_some() {
            return None;
        }
        let behind = self.views.behind(reached.oid, self.catalog);
        let reads_tenants = self.views.gives_tenants(reached.oid, self.catalog);
        if self.global.contains(&reached.oid) {
            return match (reads_tenants, reached.kind.as_str()) {
                (true, _) => Some(self.global_reads_tenant(reached, &behind)),
                (false, "f") => Some(self.foreign(reached)),
                (false, _) => None,
            };
        }
        match reached.kind.as_str() {
            "v" if behind.unheld => Some(view_unheld(reached, &behind.as_owner)),
            "m" if reads_tenants => Some(self.materialized(reached)),
            "v" if behind.ends.iter().all(|end| self.is_declared(*end)) => {
                (reads_tenants && !behind.as_owner.is_empty()).then(|| view_as_owner(reached, &behind.as_owner))
            }
            _other => Some(self.undeclared(reached)),
        }
    }

    fn is_declared(&self, relation: Oid) -> bool {
        self.catalog.table(relation).is_some() || self.global.contains(&relation)
    }

    fn rules(&self, reached: &Reached) -> Option<Finding> {
        let behind = self.views.behind_rules(reached.oid, self.catalog);
        let object = reached.object();
        let drop = |rule: &String| format!("DROP RULE {} ON {object};", quote_ident(rule));
        let fix = reached.rules.iter().map(drop).collect::<Vec<_>>().join("\n");
        if behind.unheld {
            let why = "A rule on this relation reads or changes a tenant table in the name of the relation's owner, whom \
                       policies do not hold. A statement of the service sets it off for every tenant's rows.";
            return Some(Finding::fatal(Code::RewriteRule, object, why, fix));
        }
        (!reached.rules.is_empty()).then(|| {
            let why = "A rule on this relation adds to statements or replaces them, in the name of the relation's owner. \
                       That owner is held by the policies as they are now.";
            Finding::warning(Code::RewriteRule, object, why, fix)
        })
    }

    fn undeclared(&self, reached: &Reached) -> Finding {
        let kind = match reached.kind.as_str() {
            "v" => "view",
            "m" => "materialized view",
            "f" => "foreign table",
            _table => "table",
        };
        let why = format!(
            "The service can reach this {kind} and nobody said whose its rows are. If they are tenants' rows, nothing \
             holds them."
        );
        let object = reached.object();
        let fix = self.catalog.revoke_all(&object);
        Finding::fatal(Code::Undeclared, object, why, fix)
    }

    fn global_reads_tenant(&self, reached: &Reached, behind: &Behind) -> Finding {
        let why = "It is declared global and rows of a tenant table come out of it: it reads one, or a copy of one, or is a \
                   parent of one. The table's own policies do not say which.";
        let object = reached.object();
        let mut fix = self.catalog.revoke_all(&object);
        if reached.kind == "v" && behind.ends.iter().all(|end| self.is_declared(*end)) {
            let invoker = make_invoker(&behind.as_owner).replace("ALTER", "-- ALTER");
            fix = format!(
                "-- enough: take it out of global-tables, since such a view needs no declaration, and let it read as whoever \
                 asks\n{invoker}\n-- or keep it out of reach\n{fix}"
            );
        }
        Finding::fatal(Code::GlobalReadsTenant, object, why, fix)
    }

    fn materialized(&self, reached: &Reached) -> Finding {
        let why = "It is a copy of a tenant table's rows, as its owner saw them when it was last refreshed. Policies hold \
                   no materialized view, so every tenant reads all of it.";
        let object = reached.object();
        let fix = self.catalog.revoke_all(&object);
        Finding::fatal(Code::MaterializedView, object, why, fix)
    }

    fn foreign(&self, reached: &Reached) -> Finding {
        let why = "It is declared global and its rows come from another server, as one user there. Policies hold no foreign \
                   table, whatever that server puts into it.";
        let object = reached.object();
        let fix = self.catalog.revoke_all(&object);
        Finding::warning(Code::ForeignTable, object, why, fix)
    }
}

fn view_unheld(reached: &Reached, as_owner: &[String]) -> Finding {
    let why = "This view reads a tenant table in the name of somebody whom its policies do not hold. Every tenant reads every \
               row through it.";
    Finding::fatal(Code::ViewUnheld, reached.object(), why, make_invoker(as_owner))
}

fn view_as_owner(reached: &Reached, as_owner: &[String]) -> Finding {
    let why = "This view reads a tenant table in its owner's name. The policies hold that owner, but only as long as row level \
               security stays forced and the owner stays plain.";
    Finding::warning(Code::ViewAsOwner, reached.object(), why, make_invoker(as_owner))
}

/// Where every view reads as whoever asks already, it is the tables' policies that do not hold this login.
fn make_invoker(views: &[String]) -> String {
    if views.is_empty() {
        return "-- it reads as this login, whom the policies of its tables do not hold: mend what is found about those"
            .to_owned();
    }
    let one = |view: &String| format!("ALTER VIEW {view} SET (security_invoker = true);");
    views.iter().map(one).collect::<Vec<_>>().join("\n")
}

const REACHED: &str = "
select c.oid, n.nspname::text as schema, c.relname::text as name, c.relkind::text as kind,
       array(select r.rulename::text from pg_rewrite r where r.ev_class = c.oid and r.rulename <> '_RETURN' order by 1) as rules
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f')
  and c.oid >= 16384 and n.nspname !~ '^pg_(toast|temp)'
  and exists (select from unnest($1::oid[]) as u
              where has_table_privilege(u, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                 or has_any_column_privilege(u, c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
order by 2, 3";
