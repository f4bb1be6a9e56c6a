-- Rows that are gone for the application and stay for the owner: a second, restrictive policy hides them.
set role own;
create table file (tenant_id uuid not null, id uuid not null, name text not null, deleted_at timestamptz, primary key (tenant_id, id));
alter table file enable row level security;
alter table file force row level security;
create policy of_the_tenant on file using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid)
    with check (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid);
create policy not_deleted on file as restrictive for select using (deleted_at is null);
grant usage on schema public to app;
grant select, insert, update on file to app;
reset role;
insert into file values ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}, null), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b}, null),
                        ({a}, '10000000-0000-4000-8000-000000000003', 'gone', now()), ({b}, '10000000-0000-4000-8000-000000000004', 'gone', now());
