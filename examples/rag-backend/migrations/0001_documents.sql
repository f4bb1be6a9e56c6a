-- Documents and the jobs that ingest them. Both are tenants' tables: the first column of each key is the tenant's.

create table documents (
    tenant_id uuid not null,
    id        text not null,
    title     text not null,
    body      text not null,
    primary key (tenant_id, id)
);

create table ingest_jobs (
    tenant_id uuid not null,
    id        uuid not null,
    document  text not null,
    state     text not null check (state in ('queued', 'done', 'failed')),
    primary key (tenant_id, id)
);

-- What `tenancy_pg::policy_sql` prints for the two tables of tenancy.toml.

alter table documents enable row level security;
alter table documents force row level security;
create policy tenancy_row_key on documents for all to public
    using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid);

alter table ingest_jobs enable row level security;
alter table ingest_jobs force row level security;
create policy tenancy_row_key on ingest_jobs for all to public
    using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid);
