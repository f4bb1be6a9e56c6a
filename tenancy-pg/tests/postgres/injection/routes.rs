//! Every route to another seal, and to text that runs as SQL.

use super::{Attack, LOOK};

pub(super) const ROUTES: &[Attack] = &[
    (
        "set_config by a query in a text",
        &[
            "select query_to_xml('select set_config(''tenancy.seal'', ''{live}'', true)', true, true, '')",
            LOOK,
            "select query_to_xml_and_xmlschema('select set_config(''tenancy.seal'', ''{old}'', false)', true, true, '')",
            LOOK,
        ],
    ),
    (
        "set_config by a view in a name",
        &[
            "create temp view c as select set_config('tenancy.seal', '{old}', true)",
            "select table_to_xml('c'::regclass, true, true, '')",
            LOOK,
        ],
    ),
    (
        "set_config by a cursor in a name",
        &[
            "declare c cursor for select set_config('tenancy.seal', '{live}', true)",
            "select cursor_to_xml('c', 1, true, true, '')",
            LOOK,
        ],
    ),
    (
        "set_config by text search",
        &[
            "select * from ts_stat('select to_tsvector(set_config(''tenancy.seal'', ''{live}'', true))')",
            LOOK,
            "select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, (set_config(''tenancy.seal'', ''{old}'', true) is null)::text::tsquery')",
            LOOK,
        ],
    ),
    (
        "an update of the view of the settings",
        &[
            "update pg_settings set setting = '{live}' where name = 'tenancy.seal'",
            LOOK,
            "with u as (update pg_settings set setting = '{old}' where name = 'tenancy.seal' returning 1) select body from u, public.note",
        ],
    ),
    (
        "a function that brings its own settings",
        &[
            "create function pg_temp.f() returns setof text language sql set work_mem = '1MB' as 'select body from public.note'",
            "select * from pg_temp.f()",
            "alter function pg_temp.f() set tenancy.seal = '{old}'",
            "create or replace function pg_temp.f() returns setof text language sql set tenancy.seal = '{live}' as 'select body from public.note'",
            "alter function pg_temp.f() set tenancy.seal from current",
            "select * from pg_temp.f()",
        ],
    ),
    (
        "a function in SQL",
        &[
            "create function pg_temp.g() returns text language sql as $$ select string_agg(body, ',') from public.note $$",
            "select pg_temp.g()",
            "create function pg_temp.h(text) returns boolean language sql immutable as $$ select set_config('tenancy.seal', $1, true) is not null $$",
            "select body from public.note where pg_temp.h('{live}')",
        ],
    ),
    (
        "a function whose body is parsed when it is made",
        &[
            "create function pg_temp.i() returns setof text begin atomic select set_config('tenancy.seal', '{old}', true); select body from public.note; end",
            "select * from pg_temp.i()",
            LOOK,
        ],
    ),
    (
        "a procedure",
        &[
            "create procedure pg_temp.p() language sql as $$ select set_config('tenancy.seal', '{old}', false) $$",
            "call pg_temp.p()",
            LOOK,
        ],
    ),
    (
        "EXECUTE within EXECUTE",
        &[
            "do $a$ begin execute $b$ do $c$ begin execute 'set local tenancy.seal = ''{live}'''; end $c$ $b$; end $a$",
            LOOK,
        ],
    ),
    (
        "the session's own characteristics",
        &[
            "set session characteristics as transaction isolation level serializable",
            "set transaction read only",
            "set local transaction_read_only = off",
            "set session role none",
            LOOK,
        ],
    ),
    (
        "statements that write within one that reads",
        &[
            "with d as (delete from public.note where tenant_id = '{victim}' returning *) select * from d",
            "with i as (insert into public.note values ('{victim}', 79, 'planted') returning *) select * from i",
            "with u as (update public.note set body = body where id > 2 returning *) table u",
            "with s as materialized (select set_config('tenancy.seal', '{live}', true)), d as (delete from public.note where id > 2 returning body) select d.body from s, d",
        ],
    ),
    (
        "RETURNING what was and what is",
        &[
            "update public.note set body = body where tenant_id = '{victim}' returning old.body, new.body",
            "delete from public.note where id > 2 returning old.*",
            "insert into public.note values ('{victim}', 3, 'x') on conflict (tenant_id, id) do update set body = 'x' returning old.body",
        ],
    ),
    (
        "views of one's own",
        &[
            "create temp view b with (security_barrier) as select * from public.note",
            "select * from b",
            "create or replace temp view b with (security_invoker) as select * from public.note where tenant_id = '{victim}'",
            "select * from b",
            "create temp recursive view r (id, body) as select id, body from public.note union select n.id, n.body from public.note n join r on n.id = r.id + 1",
            "select * from r",
        ],
    ),
    (
        "functions in another's name",
        &[
            "select p.oid::regprocedure from pg_proc p where prosecdef and pronamespace <> 'pg_catalog'::regnamespace",
            "select tenancy.signed_row_key_uuid()",
            "set local tenancy.seal = '{live}'",
            "select tenancy.signed_row_key_uuid()",
            "reset tenancy.seal",
            "create function pg_temp.d() returns uuid language sql security definer as 'select tenancy.signed_row_key_uuid()'",
            "select pg_temp.d()",
        ],
    ),
    (
        "row_security",
        &["set local row_security = off", LOOK, "copy public.note to stdout", "set row_security = off", "commit", LOOK],
    ),
    (
        "EXPLAIN as an oracle",
        &[
            "explain (analyze, verbose, costs, buffers, timing off) select * from public.note where body like 'globex%'",
            "explain (analyze, format json) update public.note set body = body where body like 'globex%'",
            "explain (analyze, verbose) select (body || 'x')::int from public.note where tenant_id = '{victim}'",
        ],
    ),
    (
        "errors as an oracle",
        &[
            "select (body || 'x')::int from public.note where tenant_id = '{victim}'",
            "select 1 / (select count(*) from public.note where tenant_id = '{victim}')",
            "select case when exists (select from public.note where id = 3) then 1 / (id - id) end from public.note",
            "select body::numrange from public.note where id > 2",
            "insert into public.note select tenant_id, id, null from public.note where id > 2",
        ],
    ),
    (
        "what others run",
        &[
            "select query from pg_stat_activity",
            "select * from pg_stat_get_activity(null)",
            "select * from pg_stat_statements",
            "select * from pg_prepared_statements",
            "select * from pg_cursors",
            "select * from pg_locks",
        ],
    ),
    (
        "other servers, and this one from outside",
        &[
            "select dblink('dbname=postgres', 'select 1')",
            "create foreign data wrapper mine",
            "create server mine foreign data wrapper postgres_fdw",
            "create subscription mine connection 'dbname=postgres' publication mine with (connect = false)",
            "import foreign schema public from server mine into public",
        ],
    ),
    (
        "casts, operators and types of one's own",
        &[
            "create cast (text as integer) with inout as implicit",
            "create type pg_temp.shell",
            "create type pg_temp.shadow as (x int)",
            "create domain pg_temp.narrow as text check (value <> '')",
            "create operator public.= (leftarg = uuid, rightarg = text, function = pg_catalog.starts_with)",
            "create aggregate pg_temp.all_of(text) (sfunc = textcat, stype = text)",
            "select pg_temp.all_of(body) from public.note",
            LOOK,
        ],
    ),
    (
        "children of the table",
        &[
            "create temp table child () inherits (public.note)",
            "create temp table note (like public.note including all)",
            "select * from public.note* n",
            "alter table public.note inherit pg_temp.note",
            LOOK,
        ],
    ),
    (
        "what stays for whoever comes next",
        &[
            "prepare mine as select 'stolen' as body",
            "declare kept cursor with hold for select body from public.note",
            "listen mine",
            "set search_path = pg_temp, public",
            "create temp table note as select 'stolen'::text as body, 1 as id",
            "set statement_timeout = 1000",
            "set default_transaction_read_only = on",
            "select setseed(0.5)",
            "select pg_advisory_lock(42)",
            "set tenancy.seal = '{old}'",
        ],
    ),
    (
        "the driver's own prepared statements, each swapped for another",
        &[
            "do $$ declare s record; begin
                for s in select name from pg_prepared_statements loop
                    execute format('deallocate %I', s.name);
                    execute format('prepare %I as select body from public.note union all select ''stolen''', s.name);
                end loop; end $$",
            "deallocate all",
            "discard all",
        ],
    ),
];
