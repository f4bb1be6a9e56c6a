//! What there is to try. The catalog says where to knock, never what is behind: that is seen.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::session::Session;
use crate::declaration::Declaration;
use crate::error::PgError;
use crate::ident::quote_ident;

/// A relation on which the acting role has any right.
#[derive(Clone, Deserialize)]
pub(super) struct Relation {
    pub(super) oid: i64,
    schema: String,
    name: String,
    pub(super) kind: String,
    pub(super) columns: Vec<Column>,
    pub(super) delete: bool,
    pub(super) truncate: bool,
    pub(super) trigger: bool,
    /// A trigger, a rule or the table behind a view may put another row in the place of one that is inserted.
    pub(super) bends_insert: bool,
    /// The same for one that is updated.
    pub(super) bends_update: bool,
    /// Declared the same for everybody.
    #[serde(default)]
    pub(super) global: bool,
    #[serde(default)]
    pub(super) declared: bool,
    /// The column that says whose a row is.
    #[serde(default)]
    pub(super) tenant: Option<String>,
}

/// A column and what the acting role may do with it.
#[derive(Clone, Deserialize)]
pub(super) struct Column {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) type_name: String,
    pub(super) select: bool,
    pub(super) insert: bool,
    pub(super) update: bool,
    /// Computed, or an identity that takes no value.
    pub(super) fixed: bool,
    pub(super) generated: bool,
}

impl Relation {
    /// As SQL names it.
    pub(super) fn sql(&self) -> String {
        format!("{}.{}", quote_ident(&self.schema), quote_ident(&self.name))
    }

    pub(super) fn is(&self, declared: &crate::declaration::Relation) -> bool {
        declared.schema() == self.schema && declared.table() == self.name
    }

    /// The tenant column, if the acting role may do this with it.
    pub(super) fn tenant_if(&self, may: impl Fn(&Column) -> bool) -> Option<String> {
        let tenant = self.tenant.as_ref()?;
        self.columns.iter().any(|column| column.name == *tenant && may(column)).then(|| quote_ident(tenant))
    }

    pub(super) fn readable(&self) -> Vec<String> {
        self.columns.iter().filter(|c| c.select).map(|c| quote_ident(&c.name)).collect()
    }

    pub(super) fn insertable(&self) -> Vec<String> {
        self.columns.iter().filter(|c| c.insert && !c.generated).map(|c| quote_ident(&c.name)).collect()
    }

    /// The columns that an UPDATE may set, the tenant column last.
    pub(super) fn updatable(&self, may: impl Fn(&Column) -> bool) -> Vec<&str> {
        let may = |column: &&Column| column.update && !column.fixed && may(column);
        let is_tenant = |column: &&Column| Some(&column.name) == self.tenant.as_ref();
        let others = self.columns.iter().filter(|column| !is_tenant(column));
        others.chain(self.columns.iter().filter(is_tenant)).filter(may).map(|column| column.name.as_str()).collect()
    }
}

/// Every relation within reach of the acting role.
pub(super) async fn relations(session: &mut Session, declaration: &Declaration) -> Result<Vec<Relation>, PgError> {
    let mut relations = parsed::<Relation>(session.ask(RELATIONS).await?);
    for relation in &mut relations {
        let is = |of: &crate::declaration::Relation| of.schema() == relation.schema && of.table() == relation.name;
        let own = declaration.tenant_tables().iter().find(|table| is(&table.relation));
        // A partition, a child or a view has the column of the table behind it.
        let alike = || {
            declaration.tenant_tables().iter().find(|table| {
                let fits = |c: &Column| c.name == table.column() && c.type_name == table.key().sql();
                relation.columns.iter().any(fits)
            })
        };
        let tenant = own.or_else(alike).map(|table| table.column().to_owned());
        let (global, declared) = (declaration.global_tables().iter().any(is), own.is_some());
        (relation.global, relation.declared, relation.tenant) = (global, declared, tenant);
    }
    Ok(relations)
}

/// A function or procedure of a user that the acting role may call.
#[derive(Clone, Deserialize)]
pub(super) struct Function {
    schema: String,
    name: String,
    pub(super) procedure: bool,
    /// The types of its arguments.
    pub(super) arguments: Vec<String>,
}

impl Function {
    pub(super) fn sql(&self) -> String {
        format!("{}.{}", quote_ident(&self.schema), quote_ident(&self.name))
    }
}

pub(super) async fn functions(session: &mut Session) -> Result<Vec<Function>, PgError> {
    Ok(parsed(session.ask(FUNCTIONS).await?))
}

/// A foreign key or a unique index of a tenant table, without its tenant column.
#[derive(Clone, Deserialize)]
pub(super) struct Key {
    pub(super) table: i64,
    /// For a foreign key: what it refers to.
    pub(super) parent: Option<i64>,
    /// A constraint's or an index's, and that of the same one on each partition.
    pub(super) names: Vec<String>,
    pub(super) columns: Vec<String>,
    #[serde(default)]
    pub(super) referenced: Vec<String>,
}

pub(super) async fn keys(session: &mut Session) -> Result<Vec<Key>, PgError> {
    let mut keys = parsed(session.ask(FOREIGN_KEYS).await?);
    keys.extend(parsed::<Key>(session.ask(UNIQUE).await?));
    Ok(keys)
}

/// The roles that the login may become, and those that it might make itself a member of.
pub(super) async fn roles(session: &mut Session) -> Result<(Vec<String>, Vec<String>), PgError> {
    Ok((session.ask(WITHIN_REACH).await?, session.ask(WORTH_REACHING).await?))
}

/// The settings, other than the declared one, that policies and functions read.
pub(super) async fn settings(session: &mut Session, declared: &str) -> Result<BTreeSet<String>, PgError> {
    let texts = session.ask(POLICY_TEXTS).await?;
    let mut names = BTreeSet::new();
    for text in texts {
        for rest in text.split("current_setting").skip(1) {
            let name = rest.split('\'').nth(1).unwrap_or_default();
            let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
            if plain && name.contains('.') && !name.eq_ignore_ascii_case(declared) {
                names.insert(name.to_owned());
            }
        }
    }
    Ok(names)
}

/// A function that policies call.
#[derive(Clone, Deserialize)]
pub(super) struct Helper {
    /// Its name and arguments, as SQL.
    pub(super) signature: String,
    pub(super) returns: String,
}

pub(super) async fn helpers(session: &mut Session) -> Result<Vec<Helper>, PgError> {
    Ok(parsed(session.ask(HELPERS).await?))
}

/// The sequences whose place the acting role may read or move.
pub(super) async fn sequences(session: &mut Session) -> Result<Vec<String>, PgError> {
    session.ask(SEQUENCES).await
}

/// The schemas in which the acting role may create.
pub(super) async fn own_ground(session: &mut Session) -> Result<Vec<String>, PgError> {
    session.ask(OWN_GROUND).await
}

/// Each row is a JSON object of our own query, so one that does not fit is not there.
fn parsed<T: for<'a> Deserialize<'a>>(rows: Vec<String>) -> Vec<T> {
    rows.iter().filter_map(|row| serde_json::from_str(row).ok()).collect()
}

const RELATIONS: &str = "
select json_build_object(
    'oid', c.oid::int8, 'schema', n.nspname, 'name', c.relname, 'kind', c.relkind,
    'delete', has_table_privilege(c.oid, 'DELETE'), 'truncate', has_table_privilege(c.oid, 'TRUNCATE'),
    'trigger', has_table_privilege(c.oid, 'TRIGGER'),
    'bends_insert', c.relkind not in ('r', 'p') or exists (select from pg_rewrite w where w.ev_class = c.oid)
        or exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgtype & 7 = 7 and not t.tgisinternal),
    'bends_update', c.relkind not in ('r', 'p') or exists (select from pg_rewrite w where w.ev_class = c.oid)
        or exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgtype & 19 = 19 and not t.tgisinternal),
    'columns', (select coalesce(json_agg(json_build_object(
            'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
            'select', has_column_privilege(c.oid, a.attnum, 'SELECT'),
            'insert', has_column_privilege(c.oid, a.attnum, 'INSERT'),
            'update', has_column_privilege(c.oid, a.attnum, 'UPDATE'),
            'generated', a.attgenerated <> '', 'fixed', a.attgenerated <> '' or a.attidentity = 'a') order by a.attnum), '[]')
        from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped))
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not in ('pg_catalog', 'information_schema')
  and n.nspname !~ '^pg_(toast|temp)' and has_schema_privilege(n.oid, 'USAGE')
  and (has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       or has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
order by c.oid";

/// What an extension brings is the extension's to answer for; triggers are fired by the writes.
const FUNCTIONS: &str = "
select json_build_object('schema', n.nspname, 'name', p.proname, 'procedure', p.prokind = 'p',
    'arguments', (select coalesce(json_agg(format_type(t, null) order by i), '[]')
                  from unnest(p.proargtypes) with ordinality as u(t, i)))
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where p.prokind in ('f', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
  and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
  and has_function_privilege(p.oid, 'EXECUTE') and has_schema_privilege(n.oid, 'USAGE')
  and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
order by p.oid";

const FOREIGN_KEYS: &str = "
select json_build_object('table', k.conrelid::int8, 'parent', k.confrelid::int8, 'names', json_build_array(k.conname),
    'columns', (select json_agg(a.attname order by i) from unnest(k.conkey) with ordinality as u(n, i)
                join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.n),
    'referenced', (select json_agg(a.attname order by i) from unnest(k.confkey) with ordinality as u(n, i)
                   join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.n))
from pg_constraint k where k.contype = 'f' and k.conparentid = 0 order by k.oid";

const UNIQUE: &str = "
select json_build_object('table', x.indrelid::int8, 'parent', null,
    'names', (select json_agg(c.relname) from pg_class c where c.oid = x.indexrelid
              or c.oid in (select relid from pg_partition_tree(x.indexrelid))),
    'columns', (select json_agg(a.attname order by i)
                from unnest((x.indkey::int2[])[0:x.indnkeyatts - 1]) with ordinality as u(n, i)
                join pg_attribute a on a.attrelid = x.indrelid and a.attnum = u.n))
from pg_index x join pg_class c on c.oid = x.indexrelid join pg_namespace n on n.oid = c.relnamespace
where x.indisunique and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
  and not exists (select from pg_inherits i where i.inhrelid = x.indexrelid)
order by x.indexrelid";

const WITHIN_REACH: &str = "
select rolname::text from pg_roles
where pg_has_role(session_user, oid, 'MEMBER') and rolname not in (session_user, current_user)
  and not (select rolsuper from pg_roles where rolname = session_user)
union all select session_user::text where session_user <> current_user
order by 1";

/// Owners, and roles that no policy holds.
const WORTH_REACHING: &str = "
select r.rolname::text from pg_roles r
where not pg_has_role(session_user, r.oid, 'MEMBER')
  and (r.rolbypassrls or exists (select from pg_class c where c.relowner = r.oid and c.relkind in ('r', 'p')))
order by 1";

const POLICY_TEXTS: &str = "
select concat_ws(' ', qual, with_check) from pg_policies
union all
select p.prosrc from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname not in ('pg_catalog', 'information_schema') and p.prosrc like '%current_setting%'
union all
select case when p.prosqlbody is not null then pg_get_function_sqlbody(p.oid) end
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname not in ('pg_catalog', 'information_schema')";

const HELPERS: &str = "
select json_build_object('signature', format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_arguments(p.oid)),
                         'returns', pg_get_function_result(p.oid))
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname <> 'pg_catalog'
  and exists (select from pg_depend d where d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid
              and d.classid = 'pg_policy'::regclass)
order by p.oid";

const SEQUENCES: &str = "
select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where case c.relkind when 'S' then has_schema_privilege(n.oid, 'USAGE') and has_sequence_privilege(c.oid, 'SELECT, UPDATE') end
order by 1";

const OWN_GROUND: &str = "
select nspname::text from pg_namespace
where nspname !~ '^pg_' and nspname <> 'information_schema' and has_schema_privilege(oid, 'CREATE') order by 1";
