-- A tenant column that fills itself, and an insert trigger that insists on it.
set role own;
create table setting (tenant_id uuid not null default nullif(current_setting('tenancy.row_key', true), '')::uuid, name text not null, value text not null,
    primary key (tenant_id, name));
create function insist() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    new.tenant_id := nullif(current_setting('tenancy.row_key', true), '')::uuid;
    return new;
end $$;
{policies}
{grants}
reset role;
insert into setting values ({a}, 'colour', {canary_a}), ({b}, 'colour', {canary_b});
create trigger insist before insert on setting for each row execute function insist();
