-- A report over all tenants that the service does not reach.
set role own;
create table sale (tenant_id bigint not null, id bigint not null, item text not null, cents int not null, primary key (tenant_id, id));
create schema reporting;
{policies}
{grants}
reset role;
insert into sale values ({a}, 1, {canary_a}, 100), ({b}, 2, {canary_b}, 200);
create materialized view reporting.sale_by_item as select item, sum(cents) from sale group by item;
alter materialized view reporting.sale_by_item owner to own;
