-- A search that runs with the rights of its caller.
set role own;
create table article (tenant_id uuid not null, id uuid not null, body text not null, primary key (tenant_id, id));
create function search_articles(words text) returns setof article language sql stable as
    $$ select * from article where body ilike '%' || words || '%' $$;
create function article_count() returns bigint language sql stable as $$ select count(*) from article $$;
create procedure rename_article(which uuid, new_body text) language sql as $$ update article set body = new_body where id = which $$;
{policies}
{grants}
reset role;
insert into article values ({a}, '10000000-0000-4000-8000-000000000001', {canary_a}), ({b}, '10000000-0000-4000-8000-000000000002', {canary_b});
