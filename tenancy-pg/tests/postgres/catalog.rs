//! The catalog as text: two dumps are equal when nothing that a migration can change is different.

use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tenancy_testkit::TestDatabase;

/// A right that was never touched and one that was given back are the same right.
pub(crate) async fn dump(server: &TestDatabase) -> Vec<String> {
    let mut connection = PgConnection::connect_with(&server.superuser_options()).await.unwrap();
    let lines = sqlx::query_scalar(CATALOG).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    lines
}

const CATALOG: &str = "
with mine as (
    select n.oid, n.nspname, n.nspowner, n.nspacl from pg_namespace n
    where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
), rel as (
    select c.*, format('%I.%I', m.nspname, c.relname) as whole from pg_class c join mine m on m.oid = c.relnamespace
)
select 'schema ' || quote_ident(nspname) || ' of ' || nspowner::regrole from mine
union all
select format('right on schema %I: %s %s %s', nspname, coalesce(nullif(a.grantee, 0)::regrole::text, 'PUBLIC'), a.privilege_type, a.is_grantable)
from mine, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) a
union all
select format('relation %s %s of %s rls=%s force=%s', whole, relkind, relowner::regrole, relrowsecurity, relforcerowsecurity) from rel
union all
select format('right on %s: %s %s %s', whole, coalesce(nullif(a.grantee, 0)::regrole::text, 'PUBLIC'), a.privilege_type, a.is_grantable)
from rel, aclexplode(coalesce(relacl, acldefault('r', relowner))) a where relkind in ('r', 'p', 'v', 'm', 'f')
union all
select format('right on %s.%I: %s %s %s', whole, t.attname, coalesce(nullif(a.grantee, 0)::regrole::text, 'PUBLIC'), a.privilege_type, a.is_grantable)
from rel join pg_attribute t on t.attrelid = rel.oid, aclexplode(t.attacl) a
union all
select format('column %s.%I %s null=%s default=%s', whole, t.attname, format_type(t.atttypid, t.atttypmod), not t.attnotnull,
              pg_get_expr(d.adbin, d.adrelid))
from rel join pg_attribute t on t.attrelid = rel.oid and t.attnum > 0 and not t.attisdropped
left join pg_attrdef d on d.adrelid = rel.oid and d.adnum = t.attnum where relkind in ('r', 'p', 'v', 'm', 'f')
union all
select format('policy %I on %s %s %s to %s using %s check %s', polname, whole, polcmd, polpermissive, polroles::regrole[],
              pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
from pg_policy join rel on rel.oid = polrelid
union all
select format('constraint %I on %s %s valid=%s', conname, whole, pg_get_constraintdef(k.oid), convalidated)
from pg_constraint k join rel on rel.oid = conrelid
union all
select format('index %s valid=%s', pg_get_indexdef(indexrelid), indisvalid) from pg_index join rel on rel.oid = indexrelid
order by 1";

/// What one has and the other has not.
pub(crate) fn difference(one: &[String], two: &[String]) -> Vec<String> {
    let only = |sign: char, here: &[String], there: &[String]| -> Vec<String> {
        here.iter().filter(|line| !there.contains(line)).map(|line| format!("{sign} {line}")).collect()
    };
    [only('-', one, two), only('+', two, one)].concat()
}
