-- Tickets and a kind of ticket that inherits: the child has policies of its own.
set role own;
create table ticket (tenant_id uuid not null, id uuid not null, subject text not null, state text not null default 'open', primary key (tenant_id, id));
create table incident (severity int not null, primary key (tenant_id, id)) inherits (ticket);
{policies}
{grants}
reset role;
insert into ticket values ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b});
insert into incident values ({a}, '20000000-0000-4000-8000-000000000001', {canary_a}, 'open', 1),
                            ({b}, '20000000-0000-4000-8000-000000000002', {canary_b}, 'open', 2);
