-- Columns that the server computes, full text among them, and an index on an expression.
set role own;
create table doc (tenant_id uuid not null, id uuid not null, body text not null,
    words tsvector generated always as (to_tsvector('simple', body)) stored,
    length int generated always as (length(body)) stored, primary key (tenant_id, id));
create index on doc using gin (words);
create index on doc (tenant_id, lower(body));
{policies}
{grants}
reset role;
insert into doc (tenant_id, id, body) values ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b});
