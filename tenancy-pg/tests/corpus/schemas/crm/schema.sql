-- Companies, contacts and deals; the stages of a deal are the same for everybody.
set role own;
create table stage (code text primary key, place int not null);
create table company (tenant_id uuid not null, id bigint not null, name text not null, domain text,
    primary key (tenant_id, id), unique (tenant_id, domain));
create table contact (tenant_id uuid not null, id bigint not null, company_id bigint, name text not null, email text,
    primary key (tenant_id, id), unique (tenant_id, email),
    foreign key (tenant_id, company_id) references company);
create table deal (tenant_id uuid not null, id bigint not null, company_id bigint not null, stage text not null references stage,
    title text not null, amount numeric(12, 2) not null default 0 check (amount >= 0),
    primary key (tenant_id, id), foreign key (tenant_id, company_id) references company);
{policies}
{grants}
reset role;
insert into stage values ('open', 1), ('won', 2);
insert into company values ({a}, 1, 'One ' || {canary_a}, 'a.example'), ({b}, 2, 'Two ' || {canary_b}, 'b.example');
insert into contact values ({a}, 1, 1, {canary_a}, 'x@a.example'), ({b}, 2, 2, {canary_b}, 'x@b.example');
insert into deal values ({a}, 1, 1, 'open', {canary_a}, 10), ({b}, 2, 2, 'won', {canary_b}, 20);
