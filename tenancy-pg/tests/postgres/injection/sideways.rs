//! Ways around the policy that need no other seal.

use super::{Attack, LOOK};

pub(super) const SIDEWAYS: &[Attack] = &[
    (
        "a function that sees rows before the policy does",
        &[
            "create function pg_temp.tell(text) returns boolean language plpgsql cost 0.0000001 as $$ begin raise notice '%', $1; return true; end $$",
            "select count(*) from public.note where pg_temp.tell(body)",
            "create function pg_temp.leakproof(text) returns boolean language plpgsql leakproof as $$ begin raise notice '%', $1; return true; end $$",
            "select count(*) from public.note where pg_temp.leakproof(body)",
        ],
    ),
    (
        "errors that quote rows",
        &[
            "select * from public.note where body::int > 0",
            "select * from public.note where 1 / (id - 3) > 0",
            "select * from public.note where ('{' || body)::int[] is null",
            "select * from public.note where body::xml is document",
        ],
    ),
    (
        "COPY",
        &[
            "copy public.note to stdout",
            "copy (select * from public.note) to stdout csv",
            "copy public.note from stdin",
            "copy public.note to '/tmp/stolen'",
            "copy public.note to program 'cat'",
        ],
    ),
    (
        "queries in texts",
        &[
            "select query_to_xml('select * from public.note', true, true, '')",
            "select table_to_xml('public.note', true, true, '')",
            "select database_to_xml(true, true, '')",
            "select cursor_to_xml('c', 10, true, true, '')",
            "select * from ts_stat('select to_tsvector(body) from public.note')",
        ],
    ),
    (
        "statistics",
        &[
            "select * from pg_stats where tablename = 'note'",
            "select * from pg_stats_ext_exprs",
            "analyze public.note",
            "select * from pg_stats where tablename = 'note'",
        ],
    ),
    (
        "places instead of rows",
        &[
            "select * from public.note where ctid in ('(0,1)', '(0,2)', '(0,3)', '(0,4)', '(0,5)')",
            "select currtid2('public.note', '(0,3)')",
            "select * from only public.note tablesample system (100)",
            "select xmin, xmax, tableoid, * from public.note where tenant_id = '{victim}'",
        ],
    ),
    (
        "the victim's rows, written to",
        &[
            "insert into public.note values ('{victim}', 77, 'planted')",
            "update public.note set body = 'defaced' where tenant_id = '{victim}'",
            "update public.note set tenant_id = '{victim}' where id = 1",
            "update public.note set body = 'defaced' where id > 2 returning *",
            "delete from public.note where tenant_id = '{victim}' returning *",
            "delete from public.note using (select 1) x where id > 2 returning body",
        ],
    ),
    (
        "the victim's rows, by MERGE",
        &[
            "merge into public.note n using (select '{victim}'::uuid t, 3 id) s on n.tenant_id = s.t and n.id = s.id when matched then update set body = 'defaced' when not matched then insert values (s.t, s.id, 'planted')",
            "merge into public.note n using (values (3)) s(id) on n.id = s.id when matched then delete",
        ],
    ),
    (
        "the victim's rows, by ON CONFLICT on a key that is led by the row key",
        &[
            "insert into public.note values ('{victim}', 3, 'x') on conflict (tenant_id, id) do update set body = excluded.body returning body",
            "insert into public.note values ('{victim}', 3, 'x') on conflict do nothing returning body",
            "insert into public.note values ('{own}', 3, 'x') on conflict (tenant_id, id) do update set tenant_id = '{victim}', body = public.note.body returning body",
            "insert into public.note values ('{own}', 1, 'x') on conflict (tenant_id, id) do update set tenant_id = '{victim}', id = 78",
        ],
    ),
    (
        "all rows at once",
        &[
            "truncate public.note",
            "truncate public.note cascade",
            "lock table public.note in access exclusive mode",
            "select * from public.note for update",
            "vacuum public.note",
            "cluster public.note",
        ],
    ),
    (
        "objects that work for another",
        &[
            "create trigger t before insert on public.note for each row execute function suppress_redundant_updates_trigger()",
            "create rule r as on select to public.note do instead select 1",
            "create view public.stolen as select * from public.note",
            "create temp view stolen as select * from public.note",
            "select * from stolen",
            "create function pg_temp.stolen() returns setof public.note language sql security definer as 'select * from public.note'",
            "select * from pg_temp.stolen()",
            "create temp table mine (id int references public.note)",
            "create index stolen on public.note (body)",
            "create publication stolen for table public.note",
            "create event trigger stolen on ddl_command_start execute function pg_catalog.suppress_redundant_updates_trigger()",
            "create materialized view pg_temp.stolen2 as select * from public.note",
            "alter default privileges grant all on tables to app",
            "comment on table public.note is 'mine'",
        ],
    ),
    (
        "files, programs and other servers",
        &[
            "select pg_read_file('global/pg_control')",
            "select pg_ls_dir('base')",
            "select lo_import('/etc/hostname')",
            "create extension dblink",
            "create extension postgres_fdw",
            "load 'plpgsql'",
            "load '/tmp/mine.so'",
            "select pg_create_logical_replication_slot('mine', 'test_decoding')",
            "select * from pg_ls_waldir()",
            "alter system set row_security = off",
        ],
    ),
    (
        "planner settings",
        &[
            "set local enable_seqscan = off; set local enable_indexscan = off; set local enable_material = off; set local join_collapse_limit = 1; set local geqo = off; set local jit_above_cost = 0; set local constraint_exclusion = on",
            "select n.* from (values (1), (3), (4), (5)) v(i) left join public.note n on n.id = v.i",
            "explain (analyze, verbose, buffers) select * from public.note",
            "select * from public.note a full join public.note b on a.id = b.id + 1",
        ],
    ),
    (
        "recursion, windows and aggregates",
        &[
            "with recursive r as (select * from public.note union select n.* from public.note n join r on n.id = r.id + 1) select * from r",
            "select lag(body) over (order by id), lead(body) over (order by id) from public.note",
            "select json_agg(note), string_agg(body, ','), array_agg(note) from public.note",
            "select to_jsonb(n), n::text, (n).* from public.note n",
            "table public.note",
            "select count(*), sum(length(body)) from public.note group by grouping sets ((tenant_id), ())",
        ],
    ),
    (
        "ending the neighbours",
        &[
            "select pg_cancel_backend(pid) from pg_stat_activity where usename = current_user and pid <> pg_backend_pid() and query like '%{live}%'",
            "select pg_terminate_backend(pid) from pg_stat_activity where usename = current_user and pid <> pg_backend_pid() and query like '%{live}%'",
            LOOK,
        ],
    ),
    (
        "large objects and channels",
        &[
            "select lo_from_bytea(4711, 'mine')",
            "select convert_from(lo_get(4711), 'UTF8')",
            "select lo_unlink(4711)",
            "listen mine",
            "notify mine, '{victim}'",
            "select pg_notify('tenancy', '{own}')",
        ],
    ),
];
