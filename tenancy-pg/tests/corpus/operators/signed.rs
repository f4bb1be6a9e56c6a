//! Mistakes in what a signed scope stands on.

use super::policies::{tables, using};
use super::{Mutation, Operator, operator, unprovable};
use crate::facts::Facts;

pub(super) const OPERATORS: &[Operator] = &[
    operator("a verifier that compares nothing", |f| edited(f, "if sha256(outer_pad", "if true or sha256(outer_pad")),
    operator("a verifier that believes", |f| {
        replaced(f, |key_type| format!("nullif(substr(current_setting('tenancy.seal', true), 109), '')::{key_type}"))
    }),
    operator("a verifier that takes a setting first", |f| {
        let setting = "current_setting('app.act_as', true)";
        let first = format!("if {setting} <> '' then return {setting}::{}; end if; if seal is null", f.key_type());
        edited(f, "if seal is null", &first)
    }),
    operator("a policy that takes the plain setting", |f| {
        tables(f, |t, f| {
            f.verifier.as_ref()?;
            let plain =
                format!("{} = nullif(current_setting('tenancy.row_key', true), '')::{}", t.column, f.key_type());
            Some(format!("create policy m on {} using ({plain})", t.name))
        })
    }),
    operator("a policy that reads the seal itself", |f| {
        using(f, |t, _, f| {
            f.verifier.as_ref()?;
            Some(format!("{}::text = substr(current_setting('tenancy.seal', true), 109)", t.column))
        })
    }),
    operator("readable signing keys", |f| verifier(f, |_| "grant select on tenancy.signing_key to app".to_owned())),
    operator("signing keys of everybody's", |f| {
        verifier(f, |_| {
            "grant all on tenancy.signing_key to public; grant usage on schema tenancy to public".to_owned()
        })
    }),
    unprovable("a verifier that asks for no life", "it takes a fenced tenant to see it", |f| {
        edited(f, "if is_live then", "if true then")
    }),
    unprovable("a registry within reach", "a key that is a number is no mark, and no seal follows from it", |f| {
        verifier(f, |_| "grant select, insert, update on tenancy.tenant to app".to_owned())
    }),
    unprovable("a verifier that takes its caller's names", "it takes a schema of the caller's own", |f| {
        verifier(f, |verifier| format!("alter function {verifier} reset search_path"))
    }),
    operator("the owner of the signed scope", |f| {
        let login = Mutation::login("grant tenancy_owner to {login}");
        f.verifier.iter().map(|_| login.clone()).collect()
    }),
];

fn verifier(facts: &Facts, make: impl Fn(&str) -> String) -> Vec<Mutation> {
    facts.verifier.iter().map(|verifier| Mutation::of(verifier, make(verifier))).collect()
}

/// With another text in the place of one in its body.
fn edited(facts: &Facts, old: &str, new: &str) -> Vec<Mutation> {
    verifier(facts, |verifier| {
        format!(
            "do $do$ declare old text := pg_get_functiondef('{verifier}'::regprocedure); \
             begin assert strpos(old, '{old}') > 0; execute replace(old, '{old}', $new${new}$new$); end $do$"
        )
    })
}

/// With another body.
fn replaced(facts: &Facts, body: impl Fn(&str) -> String) -> Vec<Mutation> {
    let key_type = facts.key_type();
    verifier(facts, |verifier| {
        let body = body(key_type);
        format!("create or replace function {verifier} returns {key_type} language sql stable as $$ select {body} $$")
    })
}
