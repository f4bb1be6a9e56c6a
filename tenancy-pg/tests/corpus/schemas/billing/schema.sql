-- A ledger: entries are added and read, never changed; a restrictive floor lies under the policy of the application.
set role own;
create table account (tenant_id bigint not null, id bigint not null, name text not null, primary key (tenant_id, id));
create table entry (tenant_id bigint not null, id bigint not null, account_id bigint not null, cents bigint not null check (cents <> 0),
    text text not null, primary key (tenant_id, id), foreign key (tenant_id, account_id) references account);
alter table account enable row level security;
alter table account force row level security;
alter table entry enable row level security;
alter table entry force row level security;
create policy floor on account as restrictive for all to public
    using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::bigint)
    with check (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::bigint);
create policy floor on entry as restrictive for all to public
    using (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::bigint)
    with check (tenant_id = nullif(current_setting('tenancy.row_key', true), '')::bigint);
create policy of_the_app on account for all to app using (true);
create policy reads on entry for select to app using (true);
create policy adds on entry for insert to app with check (cents between -100000000 and 100000000);
grant usage on schema public to app;
grant select, insert, update, delete on account to app;
grant select, insert on entry to app;
reset role;
insert into account values ({a}, 1, {canary_a}), ({b}, 2, {canary_b});
insert into entry values ({a}, 1, 1, 500, {canary_a}), ({b}, 2, 2, -500, {canary_b});
