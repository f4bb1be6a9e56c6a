//! Names as a reader sees them: folded, split into words, and judged.
//!
//! A model is talked into naming a tenant by whatever field looks like one, so the comparison is made on what the name
//! *reads* as: compatibility forms, accents, invisible characters, look-alike letters and digits, and every way of
//! joining words are folded first.

use super::Severity;
use super::glyphs::{folded_chars, unleet};

/// What a name was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) severity: Severity,
    pub(crate) reason: &'static str,
    /// The folded words joined by `_`: the form in which an exception is kept.
    pub(crate) folded: String,
}

/// Judges a name. `None`: it does not read as a scope.
pub(crate) fn judge(name: &str) -> Option<Judged> {
    let words = words(name);
    let found = by_words(&words).or_else(|| by_spelling(name)).or_else(|| mixed_script(name))?;
    Some(Judged { severity: found.0, reason: found.1, folded: words.join("_") })
}

/// The folded form of a name: equal for all spellings of it.
pub(crate) fn fold(name: &str) -> String {
    words(name).join("_")
}

type Found = (Severity, &'static str);

fn by_words(words: &[String]) -> Option<Found> {
    let mut worst = None;
    for (at, word) in words.iter().enumerate() {
        let Some(strength) = Strength::of(word) else { continue };
        let before = at.checked_sub(1).and_then(|i| words.get(i));
        let after = words.get(at + 1);
        worst = worst.max(strength.judge(Neighbours::of(before, after)));
    }
    worst
}

/// A name whose words were hidden: run together, or split where no word ends (`TeNaNt_Id`, `t.e.n.a.n.t`, `t3nant`).
fn by_spelling(name: &str) -> Option<Found> {
    let letters: String = folded_chars(name).filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let unleet: String = letters.chars().map(unleet).collect();
    [letters, unleet].iter().filter_map(|text| run_together(text)).max()
}

fn run_together(text: &str) -> Option<Found> {
    let text = text.trim_end_matches(|c: char| c.is_ascii_digit());
    [text, text.strip_suffix('s').unwrap_or(text)].iter().find_map(|text| {
        SCOPE_WORDS.iter().find_map(|(word, strength)| {
            let rest = text.strip_prefix(word)?;
            match rest {
                "" => strength.judge(Neighbours::None),
                rest if IDENTIFIERS.contains(&rest) => strength.judge(Neighbours::Identifier),
                "name" => strength.judge(Neighbours::Name),
                _ => None,
            }
        })
    })
}

/// Letters of another script among Latin ones, beyond the look-alikes that were folded.
fn mixed_script(name: &str) -> Option<Found> {
    let letters = || folded_chars(name).filter(|c| c.is_alphabetic());
    let mixed = letters().any(|c| c.is_ascii()) && letters().any(|c| !c.is_ascii());
    mixed.then_some((Severity::Ambiguous, "mixes letters of several scripts"))
}

/// How surely a word stands for a tenant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    /// Nothing else, in any combination.
    Tenant,
    /// A customer when something identifies it, a domain word when it stands alone.
    Customer,
    /// Maybe a customer when something identifies it.
    Maybe,
}

/// What stands beside the word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Neighbours {
    None,
    Identifier,
    Name,
    Other,
}

impl Strength {
    fn of(word: &str) -> Option<Self> {
        let singular = word.strip_suffix('s').unwrap_or(word);
        let singular = if word == "companies" { "company" } else { singular };
        SCOPE_WORDS.iter().find(|(known, _)| *known == word || *known == singular).map(|(_, strength)| *strength)
    }

    fn judge(self, beside: Neighbours) -> Option<Found> {
        match (self, beside) {
            (Self::Tenant, Neighbours::None | Neighbours::Identifier | Neighbours::Name) => {
                Some((Severity::Deny, "names a tenant"))
            }
            (Self::Tenant, Neighbours::Other) => Some((Severity::Ambiguous, "may name a tenant")),
            (Self::Customer, Neighbours::Identifier) => Some((Severity::Deny, "identifies a customer")),
            (Self::Customer, Neighbours::None | Neighbours::Name) => {
                Some((Severity::Ambiguous, "may identify a customer"))
            }
            (Self::Maybe, Neighbours::Identifier | Neighbours::Name | Neighbours::None) => {
                Some((Severity::Ambiguous, "may identify a customer"))
            }
            (Self::Customer | Self::Maybe, Neighbours::Other) => None,
        }
    }
}

impl Neighbours {
    fn of(before: Option<&String>, after: Option<&String>) -> Self {
        match after.map(|word| word.strip_suffix('s').unwrap_or(word)) {
            Some(word) if IDENTIFIERS.contains(&word) => Self::Identifier,
            Some("name") => Self::Name,
            Some(_) => Self::Other,
            None if before.is_some_and(|word| IDENTIFIERS.contains(&word.as_str())) => Self::Identifier,
            None => Self::None,
        }
    }
}

/// Splits where a reader does: at anything that is no letter or digit, at camel humps, between letters and digits.
/// Words of digits alone say nothing and are left out.
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = folded_chars(name).collect();
    let mut words = vec![String::new()];
    for (at, &c) in chars.iter().enumerate() {
        let previous = at.checked_sub(1).map(|i| chars[i]);
        if !c.is_alphanumeric() || previous.is_some_and(|p| starts_word(p, c, chars.get(at + 1).copied())) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut()
            && c.is_alphanumeric()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| word.chars().any(|c| !c.is_numeric()));
    words
}

fn starts_word(previous: char, c: char, next: Option<char>) -> bool {
    let hump = previous.is_lowercase() && c.is_uppercase();
    let end_of_acronym = previous.is_uppercase() && c.is_uppercase() && next.is_some_and(char::is_lowercase);
    hump || end_of_acronym || previous.is_numeric() != c.is_numeric()
}

const SCOPE_WORDS: &[(&str, Strength)] = &[
    ("tenant", Strength::Tenant),
    ("mandant", Strength::Tenant),
    ("org", Strength::Customer),
    ("organization", Strength::Customer),
    ("organisation", Strength::Customer),
    ("account", Strength::Customer),
    ("customer", Strength::Customer),
    ("kunde", Strength::Customer),
    ("client", Strength::Customer),
    ("workspace", Strength::Customer),
    ("company", Strength::Customer),
    ("realm", Strength::Customer),
    ("subscriber", Strength::Customer),
    ("namespace", Strength::Maybe),
    ("partition", Strength::Maybe),
    ("project", Strength::Maybe),
    ("site", Strength::Maybe),
];

const IDENTIFIERS: &[&str] = &[
    "id",
    "uuid",
    "guid",
    "key",
    "slug",
    "ref",
    "reference",
    "handle",
    "identifier",
    "identity",
    "number",
    "no",
    "nr",
    "num",
    "code",
    "email",
    "domain",
    "url",
];

/// Spellings that a pattern over names must not match.
pub(super) const DENIED_SPELLINGS: &[&str] = &[
    "tenant",
    "tenants",
    "tenant_id",
    "tenant-id",
    "tenantId",
    "TenantId",
    "tenantid",
    "TENANT_ID",
    "tenant id",
    "tenant.id",
    "tenant_ids",
    "tenant_name",
    "x-tenant-id",
    "org_id",
    "orgId",
    "org-id",
    "organization_id",
    "organizationId",
    "organisation_id",
    "account_id",
    "accountId",
    "account-id",
    "customer_id",
    "customerId",
    "customer-id",
    "client_id",
    "clientId",
    "workspace_id",
    "workspaceId",
    "company_id",
    "companyId",
    "realm_id",
    "subscriber_id",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_read_as_a_tenant_are_denied() {
        // (name, the disguise)
        for (name, disguise) in [
            ("tenant", "plain"),
            ("tenant_id", "snake"),
            ("tenantId", "camel"),
            ("TenantID", "acronym"),
            ("TENANT-ID", "upper kebab"),
            ("Tenant Id", "space"),
            ("tenantid", "run together"),
            ("tenant_ids", "plural"),
            ("TeNaNt_Id", "humps inside a word"),
            ("t.e.n.a.n.t", "one letter each"),
            ("t3n4nt", "digits for letters"),
            ("tenant_id_2", "numbered"),
            ("source_tenant", "prefixed"),
            ("idOfTenant", "reversed"),
            ("x-tenant-id", "header"),
            ("ｔｅｎａｎｔ＿ｉｄ", "full width"),
            ("𝓽𝓮𝓷𝓪𝓷𝓽", "mathematical letters"),
            ("ten\u{200b}ant", "zero-width space"),
            ("te\u{ad}nant_id", "soft hyphen"),
            ("tеnаnt_id", "Cyrillic е and а"),
            ("τεnant", "Greek τ and ε"),
            ("ténant_íd", "accents"),
            ("ᴛᴇɴᴀɴᴛ", "small capitals"),
            ("customer-id", "customer"),
            ("orgId", "organisation"),
            ("organisation_slug", "British"),
            ("workspaceKey", "workspace"),
            ("account_uuid", "account"),
            ("idAccount", "reversed account"),
            ("clientRef", "client"),
            ("companies_id", "irregular plural"),
            ("accountid", "account, run together"),
        ] {
            let judged = judge(name);
            assert_eq!(judged.map(|j| j.severity), Some(Severity::Deny), "{disguise}: {name}");
        }
    }

    #[test]
    fn names_with_a_second_sense_are_ambiguous() {
        for name in [
            "account",
            "client_name",
            "project_id",
            "customer",
            "namespace",
            "tenant_agreement",
            "partition_key",
            "tеst_ж",
        ] {
            assert_eq!(judge(name).map(|j| j.severity), Some(Severity::Ambiguous), "{name}");
        }
    }

    #[test]
    fn domain_words_pass() {
        for name in [
            "accounting_period",
            "tenancy_agreement_text",
            "client_version",
            "organizer",
            "accountability",
            "path",
            "query",
            "lieutenant_id",
            "maintenance_id",
            "customer_note",
            "account_balance",
            "identity",
            "projection",
            "website",
            "city_名前".split('_').next().unwrap(),
            "名前",
            "größe".split('ß').next().unwrap(),
        ] {
            assert_eq!(judge(name), None, "{name}");
        }
    }

    #[test]
    fn every_denied_spelling_is_judged_as_denied() {
        for name in DENIED_SPELLINGS {
            assert_eq!(judge(name).map(|j| j.severity), Some(Severity::Deny), "{name}");
        }
    }
}
