-- Published drafts are for the tenant, others for nobody who reads here: two permissive policies that both bind.
set role own;
create table draft (tenant_id uuid not null, id uuid not null, author text not null, published boolean not null default true, body text not null,
    primary key (tenant_id, id));
alter table draft enable row level security;
alter table draft force row level security;
create policy published on draft for select
    using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid and published);
create policy by_author on draft
    using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid and author <> '')
    with check (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::uuid and author <> '');
grant usage on schema public to app;
grant select, insert, update, delete on draft to app;
reset role;
insert into draft values ({a}, '10000000-0000-4000-8000-000000000001', 'x', true, {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', 'y', true, {canary_b});
