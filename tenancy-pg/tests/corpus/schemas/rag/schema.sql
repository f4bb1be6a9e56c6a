-- Retrieval: documents and their embedded chunks, searched exactly within a tenant.
-- needs: vector
create extension vector;
set role own;
create table document (tenant_id uuid not null, id uuid not null, title text not null, source text, primary key (tenant_id, id));
create table chunk (tenant_id uuid not null, document_id uuid not null, place int not null, body text not null, embedding vector(3),
    primary key (tenant_id, document_id, place), foreign key (tenant_id, document_id) references document on delete cascade);
create function nearest(query vector, most int) returns table (body text) language sql stable as
    $$ select body from chunk order by embedding <-> query limit most $$;
{policies}
{grants}
reset role;
insert into document values ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b});
insert into chunk values ({a}, '10000000-0000-4000-8000-000000000001', 1, {canary_a}, '[1,2,3]'),
                         ({b}, '10000000-0000-4000-8000-000000000002', 1, {canary_b}, '[3,2,1]');
