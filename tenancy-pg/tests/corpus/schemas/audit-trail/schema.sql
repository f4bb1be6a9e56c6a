-- A trail that a trigger writes, in the name and the scope of whoever changes the page.
set role own;
create table page (tenant_id uuid not null, id uuid not null, body text not null, primary key (tenant_id, id));
create table page_change (tenant_id uuid not null, id uuid not null default gen_random_uuid(), page_id uuid not null, before text, after text,
    primary key (tenant_id, id));
create function page_changed() returns trigger language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into public.page_change (tenant_id, page_id, before, after) values (new.tenant_id, new.id, old.body, new.body);
    return new;
end $$;
create trigger page_changed after update on page for each row execute function page_changed();
{policies}
{grants}
reset role;
insert into page values ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b});
insert into page_change (tenant_id, page_id, before) values
    ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b});
