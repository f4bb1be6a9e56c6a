//! The functions that policies call.

use sqlparser::ast::Expr;
use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;

use super::codes::Code;
use super::expression::parse;
use super::report::Finding;
use crate::declaration::RowKeyType;
use crate::error::PgError;
use crate::ident::quote_ident;
use crate::signed::{SCHEMA, SEARCH_PATH, Verifier};
use crate::unnamed;

/// A function of somebody's, not the server's, that a policy depends on.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct Helper {
    policy: Oid,
    pub(super) schema: String,
    pub(super) name: String,
    /// The types of its arguments, as SQL.
    arguments: String,
    /// As `format_type` prints it.
    pub(super) returns: String,
    language: String,
    /// A plain function that returns one value and takes nothing.
    plain: bool,
    definer: bool,
    volatile: bool,
    /// Settings that hold while it runs, the search path apart.
    has_settings: bool,
    search_path: Option<String>,
    source: String,
    /// The body that was parsed when the function was made, as the server prints it.
    parsed: Option<String>,
    /// Whether somebody made a `current_setting` or an `=` of text that the words of `source` could mean.
    shadowed: bool,
    /// Whether the service can act as the owner of the function or of its schema.
    pub(super) replaceable: bool,
}

impl Helper {
    /// The one expression that the function gives. `None` where that can't be told, or won't last.
    pub(super) fn body(&self) -> Option<Expr> {
        if self.language != "sql" || !self.plain || self.has_settings || self.replaceable {
            return None;
        }
        let text = match &self.parsed {
            Some(parsed) => without_frame(parsed)?,
            None if self.shadowed => return None,
            None => self.source.trim().trim_end_matches(';'),
        };
        match parse(&format!("({text})"))? {
            Expr::Subquery(query) => super::expression::only_selected(&query),
            Expr::Nested(inner) if self.parsed.is_some() => Some(*inner),
            _other => None,
        }
    }

    /// Whether this is the verifier of the signed scope for keys of this type, exactly as it is generated.
    pub(super) fn is_verifier(&self, key: RowKeyType) -> bool {
        let verifier = Verifier::RowKey(key);
        self.schema == SCHEMA
            && self.name == verifier.name()
            && self.returns == key.sql()
            && self.language == "plpgsql"
            && self.plain
            && self.definer
            && !self.has_settings
            && self.search_path.as_deref() == Some(SEARCH_PATH)
            && self.source == verifier.body()
            && !self.replaceable
    }

    fn object(&self) -> String {
        format!("{}.{}({})", quote_ident(&self.schema), quote_ident(&self.name), self.arguments)
    }
}

pub(super) async fn load(connection: &mut PgConnection, tables: &[Oid], reach: &[Oid]) -> Result<Vec<Helper>, PgError> {
    Ok(unnamed::query_as(HELPERS).bind(tables).bind(reach).fetch_all(connection).await?)
}

/// Those of one policy.
pub(super) fn of_policy(helpers: &[Helper], policy: Oid) -> Vec<Helper> {
    helpers.iter().filter(|helper| helper.policy == policy).cloned().collect()
}

pub(super) fn findings(helpers: &[Helper]) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for helper in helpers {
        let mut add = |finding: Finding| {
            if !found.contains(&finding) {
                found.push(finding);
            }
        };
        let object = helper.object();
        if helper.replaceable {
            let why = "A policy calls this function, and the service can act as its owner or its schema's. It can replace \
                       the function, and with it the policy.";
            let fix = format!(
                "ALTER SCHEMA {} OWNER TO CURRENT_USER; ALTER FUNCTION {object} OWNER TO CURRENT_USER;",
                quote_ident(&helper.schema)
            );
            add(Finding::fatal(Code::ReplaceableHelper, object.clone(), why, fix));
        }
        if helper.volatile {
            let why = "A policy calls this function, and it is VOLATILE. The server runs it for every row and can't use an \
                       index for the comparison.";
            add(Finding::warning(
                Code::VolatileHelper,
                object.clone(),
                why,
                format!("ALTER FUNCTION {object} STABLE;"),
            ));
        }
    }
    found
}

/// Without `RETURN ..` or `BEGIN ATOMIC ..; END`.
fn without_frame(parsed: &str) -> Option<&str> {
    let parsed = parsed.trim();
    if let Some(returned) = parsed.strip_prefix("RETURN ") {
        return Some(returned);
    }
    Some(parsed.strip_prefix("BEGIN ATOMIC")?.strip_suffix("END")?.trim().trim_end_matches(';'))
}

const HELPERS: &str = "
select distinct d.objid as policy, n.nspname::text as schema, p.proname::text as name,
       pg_get_function_identity_arguments(p.oid) as arguments, format_type(p.prorettype, null) as returns,
       l.lanname::text as language,
       p.prokind = 'f' and not p.proretset and p.pronargs = 0 and p.provariadic = 0 as plain,
       p.prosecdef as definer, p.provolatile = 'v' as volatile,
       exists (select from unnest(p.proconfig) c where c not like 'search_path=%') as has_settings,
       (select substr(c, 13) from unnest(p.proconfig) c where c like 'search_path=%') as search_path,
       p.prosrc as source, pg_get_function_sqlbody(p.oid) as parsed,
       exists (select from pg_proc o where o.proname = 'current_setting' and o.pronamespace <> 'pg_catalog'::regnamespace)
         or exists (select from pg_operator o where o.oprname = '=' and o.oprnamespace <> 'pg_catalog'::regnamespace
                    and o.oprleft = 'text'::regtype and o.oprright = 'text'::regtype) as shadowed,
       p.proowner = any($2) or n.nspowner = any($2) as replaceable
from pg_policy t
join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = t.oid and d.refclassid = 'pg_proc'::regclass
join pg_proc p on p.oid = d.refobjid join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
where t.polrelid = any($1) and n.nspname <> 'pg_catalog'
order by 1, 2, 3, 4";

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: RowKeyType = RowKeyType::Uuid;

    type Change = fn(&mut Helper);

    fn verifier() -> Helper {
        Helper {
            policy: Oid(1),
            schema: SCHEMA.to_owned(),
            name: Verifier::RowKey(KEY).name().to_owned(),
            arguments: String::new(),
            returns: KEY.sql().to_owned(),
            language: "plpgsql".to_owned(),
            plain: true,
            definer: true,
            volatile: false,
            has_settings: false,
            search_path: Some(SEARCH_PATH.to_owned()),
            source: Verifier::RowKey(KEY).body(),
            parsed: None,
            shadowed: false,
            replaceable: false,
        }
    }

    #[test]
    fn the_verifier_is_one_in_every_part() {
        assert!(verifier().is_verifier(KEY));
        assert!(!verifier().is_verifier(RowKeyType::Text), "of another type of key");
        let changes: [(&str, Change); 11] = [
            ("schema", |helper| helper.schema = "public".to_owned()),
            ("name", |helper| helper.name.push('_')),
            ("type", |helper| helper.returns = "text".to_owned()),
            ("language", |helper| helper.language = "sql".to_owned()),
            ("arguments", |helper| helper.plain = false),
            ("whose rights it has", |helper| helper.definer = false),
            ("settings", |helper| helper.has_settings = true),
            ("no search path", |helper| helper.search_path = None),
            ("search path", |helper| helper.search_path = Some("public".to_owned())),
            ("body", |helper| helper.source.push(' ')),
            ("who may replace it", |helper| helper.replaceable = true),
        ];
        for (what, change) in changes {
            let mut helper = verifier();
            change(&mut helper);
            assert!(!helper.is_verifier(KEY), "another {what}");
        }
    }
}
