-- A function that runs with the rights of the owner, whom the policies hold too.
set role own;
create table member (tenant_id uuid not null, id uuid not null, name text not null, secret text, primary key (tenant_id, id));
create function member_names() returns setof text language sql stable security definer set search_path = pg_catalog, public, pg_temp as
    $$ select name from public.member $$;
{policies}
grant usage on schema public to app;
grant select (tenant_id, id, name), insert, update (name), delete on member to app;
reset role;
insert into member values ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}, 's'), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b}, 't');
