-- Tenants by name. Two of them differ in case only.
set role own;
create table channel (tenant_id text not null, name text not null, topic text, primary key (tenant_id, name));
create table post (tenant_id text not null, id uuid not null default gen_random_uuid(), channel text not null, body text not null,
    primary key (tenant_id, id), foreign key (tenant_id, channel) references channel (tenant_id, name));
{policies}
{grants}
reset role;
insert into channel values ({a}, 'general', {canary_a}), ({b}, 'general', {canary_b});
insert into post (tenant_id, channel, body) values ({a}, 'general', {canary_a}), ({b}, 'general', {canary_b});
