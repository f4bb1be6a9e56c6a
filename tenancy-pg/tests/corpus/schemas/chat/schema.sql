-- A chat whose messages are partitioned by month; nobody reaches a partition by its own name.
set role own;
create table room (tenant_id uuid not null, id uuid not null, name text not null, primary key (tenant_id, id));
create table message (tenant_id uuid not null, id uuid not null, room_id uuid not null, sent_at timestamptz not null, body text not null,
    primary key (tenant_id, id, sent_at), foreign key (tenant_id, room_id) references room) partition by range (sent_at);
create table message_2026_10 partition of message for values from ('2026-10-01') to ('2026-11-01');
create table message_2026_11 partition of message for values from ('2026-11-01') to ('2026-12-01');
{policies}
{grants}
reset role;
insert into room values ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b});
insert into message values
    ({a}, gen_random_uuid(), '10000000-0000-4000-8000-000000000001', '2026-10-05', {canary_a}),
    ({b}, gen_random_uuid(), '10000000-0000-4000-8000-000000000002', '2026-10-06', {canary_b}),
    ({a}, gen_random_uuid(), '10000000-0000-4000-8000-000000000001', '2026-11-05', {canary_a}),
    ({b}, gen_random_uuid(), '10000000-0000-4000-8000-000000000002', '2026-11-06', {canary_b});
