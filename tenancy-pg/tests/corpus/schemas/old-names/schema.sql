-- Names with quotes, spaces, capitals and letters beyond ASCII.
set role own;
create schema "Büro ""Süd""";
create table "Büro ""Süd"""."Auftrag" ("Kunden Nr" uuid not null, "Nr" bigint not null, "Bemerkung ♥" text, primary key ("Kunden Nr", "Nr"));
create table "Büro ""Süd"""."Auftrags-Zeile" ("Kunden Nr" uuid not null, "Nr" bigint not null, "Zeile" int not null, "select" text,
    primary key ("Kunden Nr", "Nr", "Zeile"), foreign key ("Kunden Nr", "Nr") references "Büro ""Süd"""."Auftrag");
{policies}
{grants}
reset role;
insert into "Büro ""Süd"""."Auftrag" values ({a}, 1, {canary_a}), ({b}, 2, {canary_b});
insert into "Büro ""Süd"""."Auftrags-Zeile" values ({a}, 1, 1, {canary_a}), ({b}, 2, 1, {canary_b});
