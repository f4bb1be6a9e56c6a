-- Notes with tags: every key is led by the tenant.
set role own;
create table note (tenant_id uuid not null, id uuid not null default gen_random_uuid(), title text not null, body text,
    primary key (tenant_id, id));
create table tag (tenant_id uuid not null, id uuid not null default gen_random_uuid(), name text not null,
    primary key (tenant_id, id), unique (tenant_id, name));
create table note_tag (tenant_id uuid not null, note_id uuid not null, tag_id uuid not null, why text,
    primary key (tenant_id, note_id, tag_id),
    foreign key (tenant_id, note_id) references note on delete cascade,
    foreign key (tenant_id, tag_id) references tag on delete cascade);
{policies}
{grants}
reset role;
insert into note values ({a}, '10000000-0000-4000-8000-000000000001', 'plans', {canary_a}),
                        ({b}, '10000000-0000-4000-8000-000000000002', 'plans', {canary_b});
insert into tag values ({a}, '20000000-0000-4000-8000-000000000001', 'of ' || {canary_a}),
                       ({b}, '20000000-0000-4000-8000-000000000002', 'of ' || {canary_b});
insert into note_tag values
    ({a}, '10000000-0000-4000-8000-000000000001', '20000000-0000-4000-8000-000000000001', {canary_a}),
    ({b}, '10000000-0000-4000-8000-000000000002', '20000000-0000-4000-8000-000000000002', {canary_b});
