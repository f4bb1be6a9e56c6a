//! Attacks on the seal itself.

use super::{Attack, LOOK};

pub(super) const SEALS: &[Attack] = &[
    ("the plain setting", &["set local tenancy.row_key = '{victim}'", LOOK]),
    ("the plain setting, for the session", &["set tenancy.row_key = '{victim}'", "commit", LOOK]),
    ("no seal", &["set local tenancy.seal = ''", LOOK]),
    ("RESET", &["reset tenancy.seal", LOOK, "reset all", LOOK]),
    ("the victim's row key instead of a seal", &["set local tenancy.seal = '{victim}'", LOOK]),
    (
        "the victim's row key in the own seal",
        &["do $$ begin execute format('set local tenancy.seal = %L', left('{seal}', 108) || '{victim}'); end $$", LOOK],
    ),
    (
        "the victim's life and row key in the own seal",
        &[
            "do $$ begin execute format('set local tenancy.seal = %L', replace('{seal}', '{own}', '{victim}')); end $$",
            LOOK,
        ],
    ),
    ("a seal that is live on another backend", &["set local tenancy.seal = '{live}'", LOOK, TELL]),
    ("a seal of this backend's past", &["set local tenancy.seal = '{old}'", LOOK, TELL]),
    (
        "a seal of this backend's past, in the next transaction",
        &["commit", "begin", "set local tenancy.seal = '{old}'", LOOK],
    ),
    ("COMMIT AND CHAIN", &["commit and chain", "set local tenancy.seal = '{old}'", LOOK]),
    ("all in one message", &["commit; begin; set local tenancy.seal = '{old}'; select * from public.note"]),
    ("for the session", &["commit", "set tenancy.seal = '{old}'", LOOK, "set tenancy.seal = '{live}'", LOOK]),
    (
        "every seal that pg_stat_activity shows",
        &["do $$ declare s text; r record; begin
            for s in select m[1] from pg_stat_activity, regexp_matches(query, 'seal = ''([^'']+)''', 'g') m loop begin
                execute format('set local tenancy.seal = %L', s);
                for r in select body from public.note loop raise notice '%', r.body; end loop;
            exception when others then raise notice '%', sqlerrm; end; end loop; end $$"],
    ),
    ("set_config within the query", &["select set_config('tenancy.seal', '{old}', true), body from public.note"]),
    (
        "set_config in a WHERE",
        &["select body from public.note where set_config('tenancy.seal', '{live}', true) <> '' or true"],
    ),
    (
        "set_config in a CTE and a LATERAL",
        &[
            "with s as materialized (select set_config('tenancy.seal', '{live}', true)) select body from s, public.note",
            "select n.body from set_config('tenancy.seal', '{old}', false) s, lateral (select * from public.note offset 0) n",
        ],
    ),
    (
        "another seal under a savepoint, taken back in the middle",
        &["savepoint s", "set local tenancy.seal = '{live}'", LOOK, "rollback to s", LOOK, "release s"],
    ),
    (
        "a cursor that was opened under the own seal",
        &[
            "declare c scroll cursor with hold for select body from public.note",
            "set local tenancy.seal = '{live}'",
            "fetch all from c",
            "commit",
            "set tenancy.seal = '{old}'",
            "fetch backward all from c",
            "fetch all from c",
        ],
    ),
    (
        "a prepared plan that has become generic",
        &[
            "prepare p as select body from public.note",
            "execute p; execute p; execute p; execute p; execute p; execute p",
            "set local tenancy.seal = '{live}'",
            "execute p",
            "set local plan_cache_mode = force_generic_plan",
            "execute p",
        ],
    ),
    (
        "transactions of one's own within a DO block",
        &[
            "commit",
            "do $$ declare r record; begin
            for i in 1..20 loop
                commit; perform set_config('tenancy.seal', '{old}', true);
                begin for r in select body from public.note loop raise notice '%', r.body; end loop;
                exception when others then null; end;
            end loop; end $$",
        ],
    ),
    (
        "a snapshot that is passed on",
        &[
            "select pg_export_snapshot()",
            "commit",
            "begin isolation level repeatable read",
            "set local tenancy.seal = '{old}'",
            LOOK,
        ],
    ),
    (
        "settings that read texts another way",
        &[
            "set local standard_conforming_strings = off",
            "set local bytea_output = 'escape'",
            "set local transform_null_equals = on",
            "set local array_nulls = off",
            "set local datestyle = 'sql, dmy'",
            "set local timezone = 'Asia/Kathmandu'",
            "set local tenancy.seal = '{live}'",
            LOOK,
        ],
    ),
    (
        "another encoding",
        &[
            "set local client_encoding = 'SJIS'",
            "set local tenancy.seal = '{live}\u{80}'",
            LOOK,
            "set local client_encoding = 'LATIN1'",
            LOOK,
        ],
    ),
    (
        "a role setting for every session to come",
        &[
            "alter role app in database {database} set tenancy.seal = '{live}'",
            "alter role current_user in database {database} set tenancy.row_key = '{victim}'",
        ],
    ),
    (
        "parallel workers, whose process is another",
        &[
            "set local parallel_setup_cost = 0; set local parallel_tuple_cost = 0; set local min_parallel_table_scan_size = 0; set local enable_indexscan = off; set local enable_bitmapscan = off",
            "select body from public.note where tenant_id <> '{own}'",
            "set local tenancy.seal = '{live}'",
            LOOK,
        ],
    ),
];

/// Prints what is seen, whatever it takes.
const TELL: &str = "do $$ declare r record; begin
    for r in select body from public.note loop raise notice '%', r.body; end loop; end $$";
