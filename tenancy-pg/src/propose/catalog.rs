//! What the catalog says about relations nobody has declared yet.

use sqlx::postgres::PgConnection;
use sqlx::types::Json;

use crate::declaration::RowKeyType;
use crate::error::PgError;
use crate::unnamed;

/// A relation outside the system's schemas and this crate's own, partitions left out: they are their parent's.
#[derive(sqlx::FromRow)]
pub(super) struct Relation {
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) kind: String,
    /// A view that reads as whoever asks.
    pub(super) invoker: bool,
    /// Whoever asks may put rows in, and neither change nor delete any.
    pub(super) append_only: bool,
    #[sqlx(json)]
    pub(super) columns: Vec<Column>,
    /// Relations that a foreign key of this one points to.
    refers_to: Vec<String>,
}

#[derive(serde::Deserialize)]
pub(super) struct Column {
    pub(super) name: String,
    r#type: String,
    pub(super) nullable: bool,
}

impl Column {
    /// `None`: a row key is never of this type.
    pub(super) fn key(&self) -> Option<RowKeyType> {
        [RowKeyType::Uuid, RowKeyType::BigInt, RowKeyType::Text].into_iter().find(|key| key.sql() == self.r#type)
    }
}

impl Relation {
    /// Only an ordinary or partitioned table can have policies.
    pub(super) fn is_table(&self) -> bool {
        matches!(self.kind.as_str(), "r" | "p")
    }

    /// Why it was not proposed as a tenant table.
    pub(super) fn why(&self, column: Option<&Column>) -> String {
        let of_kind = match self.kind.as_str() {
            "m" => "a materialized view: holds a copy of rows and can have no policy",
            "f" => "a foreign table: policies of this server do not hold it",
            _table => "",
        };
        match (column, self.refers_to.as_slice()) {
            _any if !of_kind.is_empty() => of_kind.to_owned(),
            (Some(column), _) => format!("its column {} is {}, which is no row key", column.name, column.r#type),
            (None, []) => "no tenant column".to_owned(),
            (None, parents) => format!("no tenant column, and it refers to {}", parents.join(", ")),
        }
    }
}

pub(super) async fn relations(connection: &mut PgConnection) -> Result<Vec<Relation>, PgError> {
    Ok(unnamed::query_as(RELATIONS).fetch_all(connection).await?)
}

/// What the policies that are there read.
pub(super) struct ReadByPolicies {
    pub(super) setting: Option<String>,
    pub(super) signed: bool,
}

pub(super) async fn read_by_policies(connection: &mut PgConnection) -> Result<ReadByPolicies, PgError> {
    let (Json(settings), signed): (Json<Vec<String>>, bool) = unnamed::query_as(READ).fetch_one(connection).await?;
    let setting = match settings.as_slice() {
        [one] => Some(one.clone()),
        _none_or_several => None,
    };
    Ok(ReadByPolicies { setting, signed })
}

const RELATIONS: &str = "
select n.nspname::text as schema, c.relname::text as name, c.relkind::text as kind,
       exists (select from pg_options_to_table(c.reloptions) o where o.option_name = 'security_invoker'
               and lower(o.option_value) in ('true', 'on', 'yes', '1')) as invoker,
       has_any_column_privilege(c.oid, 'INSERT') and not has_any_column_privilege(c.oid, 'UPDATE')
           and not has_table_privilege(c.oid, 'DELETE') as append_only,
       coalesce((select jsonb_agg(jsonb_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
                                                     'nullable', not a.attnotnull) order by a.attnum)
                 from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), '[]') as columns,
       array(select distinct k.confrelid::regclass::text from pg_constraint k
             where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid order by 1) as refers_to
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  and n.nspname not in ('pg_catalog', 'information_schema', 'tenancy', 'tenancy_control')
  and n.nspname !~ '^pg_(toast|temp)'
  and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
order by 1, 2";

/// A hint for a person, so a search in the printed text will do.
const READ: &str = "
with printed(text) as (
    select coalesce(qual, '') || ' ' || coalesce(with_check, '') from pg_policies
    where schemaname not in ('tenancy', 'tenancy_control')
)
select coalesce((select jsonb_agg(distinct lower(m[1])) from printed,
                 regexp_matches(text, 'current_setting\\(''([^'']+)''', 'g') as m), '[]'),
       exists (select from printed where text ~ 'tenancy\\.signed_row_key_')";
