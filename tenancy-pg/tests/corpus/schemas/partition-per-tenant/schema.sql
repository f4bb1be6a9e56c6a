-- Measurements, one partition for each large tenant and one for all others.
set role own;
create table reading (tenant_id uuid not null, at timestamptz not null, sensor text not null, value float8, primary key (tenant_id, sensor, at))
    partition by list (tenant_id);
create table reading_a partition of reading for values in ({a});
create table reading_others partition of reading default;
{policies}
{grants}
reset role;
insert into reading values ({a}, '2026-11-01', {canary_a}, 1), ({b}, '2026-11-01', {canary_b}, 2);
