//! Who logs in, and what that role can become.

use super::{Mutation, Operator, operator, unprovable};

pub(super) const OPERATORS: &[Operator] = &[
    operator("another login, no more", |_| vec![Mutation::login("")]),
    operator("a superuser", |_| vec![Mutation::login("alter role {login} superuser")]),
    operator("BYPASSRLS", |_| vec![Mutation::login("alter role {login} bypassrls")]),
    operator("a member of the owner", |_| vec![Mutation::login("grant own to {login}")]),
    operator("a member of the owner by a group", |_| {
        vec![Mutation::login("create role {login}_group in role own; grant {login}_group to {login}")]
    }),
    operator("a member that does not inherit", |_| {
        vec![Mutation::login("alter role {login} noinherit; grant own, app to {login}")]
    }),
    operator("a member of a superuser", |_| {
        vec![Mutation::login("create role {login}_group superuser; grant {login}_group to {login}")]
    }),
    operator("a member of a role with BYPASSRLS", |_| {
        vec![Mutation::login("create role {login}_group bypassrls in role app; grant {login}_group to {login}")]
    }),
    operator("an owner's administrator", |_| vec![Mutation::login("grant own to {login} with admin option")]),
    unprovable("CREATEROLE", "from 16 on it reaches only roles that it was given, none here", |_| {
        vec![Mutation::login("alter role {login} createrole")]
    }),
    unprovable("REPLICATION", "the attack is a stream of the log, which is not tried", |_| {
        vec![Mutation::login("alter role {login} replication")]
    }),
    unprovable(
        "pg_read_server_files",
        "a file is read by COPY into a table of one's own, which the role can't make",
        |_| vec![Mutation::login("grant pg_read_server_files to {login}")],
    ),
    unprovable("pg_write_server_files", "writing the server's files is not tried", |_| {
        vec![Mutation::login("grant pg_write_server_files to {login}")]
    }),
    unprovable("pg_execute_server_program", "programs of the server are not tried", |_| {
        vec![Mutation::login("grant pg_execute_server_program to {login}")]
    }),
    unprovable("pg_read_all_data", "what it reads are the TOAST tables, where the prober's short rows are not", |_| {
        vec![Mutation::login("grant pg_read_all_data to {login}")]
    }),
    operator("pg_write_all_data", |_| vec![Mutation::login("grant pg_write_all_data to {login}")]),
    unprovable("a default tenant of the login", "our startup message sets it; another client's would not", |f| {
        // In one database: the judge looks at the defaults of all roles, and others are judged at the same time.
        let tenant = f.a.trim_matches('\'');
        let set = format!("alter role {{login}} in database {{database}} set {} = '{tenant}'", f.setting);
        vec![Mutation::login(set)]
    }),
];
