//! The schema `tenancy_control`.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection};

use crate::error::PgError;
use crate::ident::quote_role;
use crate::options::quiet;

/// Makes the schema `tenancy_control`, or what is missing of it, as an owner, and lets `control_role` use it.
/// Idempotent, in one transaction. Dropped before it answers, it may have been committed.
///
/// # Errors
/// [`PgError`] when the owner can't connect, may not make it, or there is no such role.
pub async fn migrate_control(owner: PgConnectOptions, control_role: &str) -> Result<(), PgError> {
    let role = quote_role(control_role);
    let grants = format!(
        "grant select, insert, update, delete on all tables in schema tenancy_control to {role}; \
         revoke all on tenancy_control.audit from {role};"
    );
    make(owner, &role, &grants).await
}

/// Makes the schema `tenancy_control`, or what is missing of it, as an owner, and lets `audit_role` add audit records
/// and read them, and nothing else. Mind that it is another role than the control stores'. Idempotent, in one
/// transaction; after [`migrate_control`] or before it.
///
/// # Errors
/// As [`migrate_control`].
pub async fn migrate_audit(owner: PgConnectOptions, audit_role: &str) -> Result<(), PgError> {
    let role = quote_role(audit_role);
    let grants = format!(
        "revoke all on all tables in schema tenancy_control from {role}; \
         grant select, insert on tenancy_control.audit to {role};"
    );
    make(owner, &role, &grants).await
}

async fn make(owner: PgConnectOptions, role: &str, grants: &str) -> Result<(), PgError> {
    let mut connection = PgConnection::connect_with(&quiet(owner)).await?;
    // The simple protocol runs the statements of one text in one transaction.
    let sql = format!("{SCHEMA} grant usage on schema tenancy_control to {role}; {grants}");
    let made = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await;
    let closed = connection.close().await;
    made?;
    Ok(closed?)
}

/// Times are microseconds since 1970. What only an erased tenant holds (name, claims) is free again; a life and a row
/// key never are.
const SCHEMA: &str = "
select pg_advisory_xact_lock(hashtext('tenancy_control'));
create schema if not exists tenancy_control;
revoke all on schema tenancy_control from public;

create table if not exists tenancy_control.tenant (
    life uuid primary key,
    name text not null,
    born bigint not null,
    row_key_type text not null check (row_key_type in ('uuid', 'bigint', 'text')),
    row_key text not null,
    standing text not null check (standing in ('active', 'suspended', 'erased')),
    details jsonb not null,
    unique (row_key_type, row_key)
);
create unique index if not exists tenant_living_name
    on tenancy_control.tenant (lower(name)) where standing <> 'erased';

create table if not exists tenancy_control.claim (
    life uuid not null references tenancy_control.tenant,
    issuer text not null,
    value text not null,
    living boolean not null,
    primary key (life, issuer, value)
);
create unique index if not exists claim_living on tenancy_control.claim (issuer, value) where living;
create index if not exists claim_all on tenancy_control.claim (issuer, value);

create table if not exists tenancy_control.api_key (
    id text primary key,
    record jsonb not null
);

create table if not exists tenancy_control.key (
    realm text not null,
    owner text not null,
    usage text not null,
    wrap jsonb not null,
    primary key (realm, owner, usage)
);
create table if not exists tenancy_control.tombstone (
    realm text not null,
    owner text not null,
    primary key (realm, owner)
);

create table if not exists tenancy_control.ticket (
    id text primary key,
    keep_until bigint not null
);

create table if not exists tenancy_control.corpus (
    scope text primary key,
    version bytea not null check (octet_length(version) = 16)
);
create table if not exists tenancy_control.corpus_write (
    scope text not null references tenancy_control.corpus,
    id bytea not null,
    began timestamptz not null default clock_timestamp(),
    primary key (scope, id)
);

create table if not exists tenancy_control.audit (
    realm text not null,
    writer text not null,
    boot uuid not null,
    sequence bigint not null,
    id bigint generated always as identity,
    life uuid,
    everyone boolean not null,
    line text not null,
    primary key (realm, writer, boot, sequence)
);
create index if not exists audit_of_life on tenancy_control.audit (realm, life, id) where life is not null;
create index if not exists audit_of_everyone on tenancy_control.audit (realm, id) where everyone;
";
