-- Policies that ask a function of the schema for the tenant, and a setting with a name of its own.
set role own;
create schema app;
create function app.current_tenant() returns uuid language sql stable as
    $$ select nullif(current_setting('app.tenant', true), '')::uuid $$;
create table project (tenant_id uuid not null, id uuid not null, name text not null, primary key (tenant_id, id));
alter table project enable row level security;
alter table project force row level security;
create policy of_the_tenant on project using (tenant_id = app.current_tenant()) with check (tenant_id = app.current_tenant());
grant usage on schema public, app to app;
grant select, insert, update, delete on project to app;
reset role;
insert into project values ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b});
