-- Views that run with the rights of whoever reads them; a view of a view is one too.
set role own;
create table person (tenant_id uuid not null, id uuid not null, name text not null, primary key (tenant_id, id));
create table task (tenant_id uuid not null, id uuid not null, person_id uuid, title text not null, done boolean not null default false,
    primary key (tenant_id, id), foreign key (tenant_id, person_id) references person);
create view open_task with (security_invoker = true) as select * from task where not done;
create view task_by_person with (security_invoker = on) as
    select p.name, count(t.id) as tasks from person p left join open_task t on t.tenant_id = p.tenant_id and t.person_id = p.id group by p.name;
{policies}
{grants}
grant select, insert, update, delete on open_task to app;
grant select on task_by_person to app;
reset role;
insert into person values ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b});
insert into task values ({a}, '20000000-0000-4000-8000-000000000001', '10000000-0000-4000-8000-000000000001', {canary_a}),
                        ({b}, '20000000-0000-4000-8000-000000000002', '10000000-0000-4000-8000-000000000002', {canary_b});
