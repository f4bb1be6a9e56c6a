-- A schema for each part of the product.
set role own;
create schema sales;
create schema support;
create schema shared;
create table shared.country (code char(2) primary key, name text not null);
create table sales.lead (tenant_id uuid not null, id uuid not null, country char(2) not null references shared.country, name text not null,
    primary key (tenant_id, id));
create table support.ticket (tenant_id uuid not null, id uuid not null, lead_id uuid, subject text not null,
    primary key (tenant_id, id), foreign key (tenant_id, lead_id) references sales.lead);
{policies}
{grants}
reset role;
insert into shared.country values ('at', 'Austria');
insert into sales.lead values ({a}, '10000000-0000-4000-8000-000000000001', 'at', {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', 'at', {canary_b});
insert into support.ticket values ({a}, '20000000-0000-4000-8000-000000000001', '10000000-0000-4000-8000-000000000001', {canary_a}),
                                  ({b}, '20000000-0000-4000-8000-000000000002', '10000000-0000-4000-8000-000000000002', {canary_b});
