-- A shop: orders and their items with composite keys, and a table whose name is a keyword.
set role own;
create table product (tenant_id bigint not null, sku text not null, label text not null, price numeric(10, 2) not null check (price > 0),
    primary key (tenant_id, sku));
create table "order" (tenant_id bigint not null, number bigint not null, customer text not null,
    placed_at timestamptz not null default now(), primary key (tenant_id, number));
create table order_item (tenant_id bigint not null, number bigint not null, line int not null, sku text not null,
    quantity int not null check (quantity > 0), remark text,
    primary key (tenant_id, number, line),
    foreign key (tenant_id, number) references "order" on delete cascade,
    foreign key (tenant_id, sku) references product);
{policies}
{grants}
reset role;
insert into product values ({a}, 'pen-a', {canary_a}, 1), ({b}, 'pen-b', {canary_b}, 2);
insert into "order" (tenant_id, number, customer) values ({a}, 1, {canary_a}), ({b}, 2, {canary_b});
insert into order_item values ({a}, 1, 1, 'pen-a', 3, {canary_a}), ({b}, 2, 1, 'pen-b', 4, {canary_b});
