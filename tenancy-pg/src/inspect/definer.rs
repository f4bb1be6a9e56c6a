//! Functions that run in their owner's name, or see rows before the policies do.
//!
//! What a function does is not in the catalog. So each is read by somebody and declared, or found; the verifiers of the
//! signed scope are ours, as long as they are exactly as they were generated.

use sqlx::postgres::PgConnection;

use super::catalog::Catalog;
use super::codes::Code;
use super::report::Finding;
use crate::declaration::Declaration;
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::signed::{SCHEMA, SEARCH_PATH, Verifier};
use crate::unnamed;

/// A function, not the server's own, that the service runs by name or by a trigger.
#[derive(sqlx::FromRow)]
struct Function {
    schema: String,
    name: String,
    /// The types of its arguments.
    arguments: String,
    definer: bool,
    leakproof: bool,
    /// Written in a language whose functions share variables, or one that opens connections and keeps them.
    remembers: bool,
    search_path: Option<String>,
    source: String,
    /// Its body was parsed when it was made, so that no search path changes what its words mean.
    is_parsed: bool,
    /// The tables on which a trigger runs it.
    triggers: Vec<String>,
    /// Whether the service may call it, by name or as a part of an aggregate.
    callable: bool,
}

pub(super) async fn findings(connection: &mut PgConnection, catalog: &Catalog<'_>) -> Result<Vec<Finding>, PgError> {
    let functions: Vec<Function> = unnamed::query_as(FUNCTIONS)
        .bind(&catalog.reach)
        .bind(WITH_STATE.map(str::to_owned).to_vec())
        .fetch_all(&mut *connection)
        .await?;
    let may_shadow: bool = unnamed::query_scalar(MAY_SHADOW).bind(&catalog.reach).fetch_one(connection).await?;
    Ok(functions
        .iter()
        .filter(|function| !function.is_ours())
        .flat_map(|function| function.findings(catalog, may_shadow))
        .collect())
}

impl Function {
    fn findings(&self, catalog: &Catalog<'_>, may_shadow: bool) -> Vec<Finding> {
        let trusted = self.is_trusted(catalog.declaration);
        let grantees = catalog.grantees();
        let object = self.object();
        let mut found = Vec::new();
        if self.definer && self.callable && !trusted {
            let why = "The service may call this function, and it runs in its owner's name. What it reads and changes for \
                       which tenant is up to its body, which nobody is declared to have read.";
            let fix = format!("ALTER ROUTINE {object} SECURITY INVOKER;");
            found.push(Finding::fatal(Code::DefinerFunction, object.clone(), why, fix));
        }
        if self.definer && !self.triggers.is_empty() && !trusted {
            let why = format!(
                "A trigger runs this function in its owner's name when the service changes {}. What it reads and changes \
                 for which tenant is up to its body, which nobody is declared to have read.",
                self.triggers.join(", ")
            );
            let fix = format!("ALTER ROUTINE {object} SECURITY INVOKER;");
            found.push(Finding::fatal(Code::DefinerTrigger, object.clone(), why, fix));
        }
        if self.definer && !self.is_parsed && !self.is_pinned(may_shadow) {
            let why = "This function runs in its owner's name, and names in it mean what the caller's search path says. A \
                       temporary table or type of the same name comes first, with the owner's rights.";
            let fix = format!("ALTER ROUTINE {object} SET search_path = {};", self.pinned());
            found.push(Finding::fatal(Code::SearchPath, object.clone(), why, fix));
        }
        if self.remembers && self.callable && !trusted {
            let why = "What this function keeps in shared variables or in a connection of its own outlives the transaction, and no \
                       proof of a clean connection sees it. The next tenant's call on the same connection finds it.";
            let fix = format!("REVOKE EXECUTE ON ROUTINE {object} FROM {grantees};");
            found.push(Finding::fatal(Code::StatefulFunction, object.clone(), why, fix));
        }
        if self.leakproof && self.callable && !trusted {
            let why = "The server runs a LEAKPROOF function on rows before the policies have held them. If it tells its \
                       arguments in any way, it tells other tenants' values.";
            let fix = format!("ALTER ROUTINE {object} NOT LEAKPROOF;");
            found.push(Finding::fatal(Code::Leakproof, object, why, fix));
        }
        found
    }

    /// `"schema"."name"(types)`.
    fn object(&self) -> String {
        format!("{}.{}({})", quote_ident(&self.schema), quote_ident(&self.name), self.arguments)
    }

    fn is_trusted(&self, declaration: &Declaration) -> bool {
        let signature = format!("{}({})", self.name, self.arguments);
        declaration.trusted_functions().iter().any(|function| {
            function.schema() == self.schema && without_spaces(function.signature()) == without_spaces(&signature)
        })
    }

    /// A verifier of the signed scope, unchanged.
    fn is_ours(&self) -> bool {
        let is = |verifier: &Verifier| self.name == verifier.name() && self.source == verifier.body();
        self.schema == SCHEMA
            && self.arguments.is_empty()
            && !self.leakproof
            && self.search_path.as_deref() == Some(SEARCH_PATH)
            && Verifier::ALL.iter().any(is)
    }

    /// The temporary schema comes first unless it is named, so it must be named last wherever it can be written to.
    fn is_pinned(&self, may_shadow: bool) -> bool {
        let last = |path: &str| path.rsplit(',').next().is_some_and(|name| name.trim().trim_matches('"') == "pg_temp");
        self.search_path.as_deref().is_some_and(|path| !may_shadow || last(path))
    }

    fn pinned(&self) -> String {
        match self.search_path.as_deref() {
            None => format!("pg_catalog, {}, pg_temp", quote_ident(&self.schema)),
            Some("" | "\"\"") => "pg_catalog, pg_temp".to_owned(),
            Some(path) => {
                let others = path.split(',').map(str::trim).filter(|name| name.trim_matches('"') != "pg_temp");
                others.chain(["pg_temp"]).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

fn without_spaces(text: &str) -> String {
    text.split(", ").collect::<Vec<_>>().join(",")
}

/// Languages whose functions share variables for as long as the connection lives.
const WITH_STATE: [&str; 10] =
    ["plperl", "plperlu", "plpythonu", "plpython2u", "plpython3u", "plv8", "pltcl", "pltclu", "plr", "pllua"];

const MAY_SHADOW: &str =
    "select exists (select from unnest($1::oid[]) u where has_database_privilege(u, current_database(), 'TEMPORARY'))";

/// A trigger runs its function without asking whether the caller may, and so does an aggregate its own. A statement sets off
/// the triggers of what it changes by another name as well: of children and partitions, of the tables behind a view or
/// rule, and of those that a foreign key carries it on to.
const FUNCTIONS: &str = "
with recursive reached(oid) as (
    select c.oid from pg_class c
    where c.oid >= 16384 and c.relkind in ('r', 'p', 'v', 'f')
      and exists (select from unnest($1::oid[]) u
                  where has_table_privilege(u, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                     or has_any_column_privilege(u, c.oid, 'INSERT, UPDATE'))
    union
    select beyond.oid from reached cross join lateral (
        select inhrelid as oid from pg_inherits where inhparent = reached.oid
        union all
        select conrelid from pg_constraint
        where contype = 'f' and confrelid = reached.oid and (confdeltype in ('c', 'n', 'd') or confupdtype in ('c', 'n', 'd'))
        union all
        select d.refobjid from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
        where r.ev_class = reached.oid and d.refclassid = 'pg_class'::regclass
    ) as beyond
), called as (
    select p.oid from pg_proc p
    where p.oid >= 16384
      and exists (select from unnest($1::oid[]) u where has_function_privilege(u, p.oid, 'EXECUTE')
                                                    and has_schema_privilege(u, p.pronamespace, 'USAGE'))
), callable as (
    select oid from called
    union
    select step from called join pg_aggregate a on a.aggfnoid = called.oid
    cross join lateral unnest(array[aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn,
                                    aggminvtransfn, aggmfinalfn]::oid[]) as step
), triggered as (
    select t.tgfoid, array_agg(distinct format('%I.%I', n.nspname, c.relname)) as tables
    from pg_trigger t join reached on reached.oid = t.tgrelid join pg_class c on c.oid = t.tgrelid
    join pg_namespace n on n.oid = c.relnamespace
    where not t.tgisinternal and t.tgenabled <> 'D' group by t.tgfoid
)
select n.nspname::text as schema, p.proname::text as name, oidvectortypes(p.proargtypes) as arguments,
       p.prosecdef and not p.proowner = any($1) as definer, p.proleakproof as leakproof,
       l.lanname = any($2) or p.proname like 'dblink_connect%' as remembers, p.prosrc as source, p.prosqlbody is not null as is_parsed,
       (select substr(c, 13) from unnest(p.proconfig) c where c like 'search_path=%') as search_path,
       coalesce(t.tables, '{}') as triggers,
       p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype) and c.oid is not null as callable
from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
left join triggered t on t.tgfoid = p.oid left join callable c on c.oid = p.oid
where p.oid >= 16384 and ((p.prosecdef and not p.proowner = any($1)) or p.proleakproof or l.lanname = any($2)
                          or p.proname like 'dblink_connect%')
  and not exists (select from pg_depend d where p.proleakproof and not p.prosecdef and not l.lanname = any($2) and d.classid = 'pg_proc'::regclass
                    and d.objid = p.oid and d.deptype = 'e')
  and (t.tgfoid is not null or c.oid is not null)
order by 1, 2, 3";
