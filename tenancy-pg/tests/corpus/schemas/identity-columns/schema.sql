-- Numbers that the server gives out, led by the tenant in every key.
set role own;
create table job (tenant_id bigint not null, id bigint generated always as identity, name text not null, primary key (tenant_id, id));
create table job_log (tenant_id bigint not null, id bigint generated always as identity, job_id bigint not null, line text not null,
    primary key (tenant_id, id), foreign key (tenant_id, job_id) references job on delete cascade);
{policies}
{grants}
reset role;
insert into job (tenant_id, name) values ({a}, {canary_a}), ({b}, {canary_b});
insert into job_log (tenant_id, job_id, line) select tenant_id, id, name from job;
