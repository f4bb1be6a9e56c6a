-- A role that reads two columns of a table across tenants, for a grant.
set role own;
create table sale (tenant_id bigint not null, id bigint not null, item text not null, cents int not null, note text,
    primary key (tenant_id, id));
create table customer (tenant_id bigint not null, id bigint not null, name text not null, primary key (tenant_id, id));
reset role;
{reports}
insert into sale values ({a}, 1, {canary_a}, 100), ({b}, 2, {canary_b}, 200);
insert into customer values ({a}, 1, {canary_a}), ({b}, 2, {canary_b});
