-- An outbox beside the events: the service puts messages in, and its dispatcher, another role, takes them out.
set role own;
create table event (tenant_id uuid not null, id uuid not null, kind text not null, primary key (tenant_id, id));
create table outbox (tenant_id uuid not null, id uuid not null default gen_random_uuid(), payload jsonb not null, primary key (tenant_id, id));
create function to_outbox() returns trigger language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into public.outbox (tenant_id, payload) values (new.tenant_id, jsonb_build_object('event', new.id));
    return null;
end $$;
create trigger to_outbox after insert on event for each row execute function to_outbox();
{policies}
grant usage on schema public to app;
grant select, insert on event to app;
grant insert, select on outbox to app;
reset role;
insert into event values ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b});
