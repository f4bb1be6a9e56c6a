//! The verifiers: the functions that policies of signed tables ask for the row key, and for the reach of a report.

use super::seal::{EVERY, KNOWN, NONCE, REACH_SETTING, SEAL_SETTING};
use crate::declaration::RowKeyType;

/// A function that verifies a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verifier {
    /// The row key of the scope: a function per type, so that the policy's comparison needs no cast and an index serves it.
    RowKey(RowKeyType),
    /// Whether a report reaches every tenant.
    Every,
    /// Whether whoever asks has a key that is good here. No policy calls it.
    Known,
}

impl Verifier {
    pub(crate) const ALL: [Self; 5] = [
        Self::RowKey(RowKeyType::Uuid),
        Self::RowKey(RowKeyType::BigInt),
        Self::RowKey(RowKeyType::Text),
        Self::Every,
        Self::Known,
    ];

    /// Its name in the schema [`SCHEMA`].
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::RowKey(RowKeyType::Uuid) => "signed_row_key_uuid",
            Self::RowKey(RowKeyType::BigInt) => "signed_row_key_bigint",
            Self::RowKey(RowKeyType::Text) => "signed_row_key_text",
            Self::Every => "signed_reach_every",
            Self::Known => "signed_key_known",
        }
    }

    /// The type of what it returns, as `format_type` prints it.
    pub(crate) const fn returns(&self) -> &'static str {
        match self {
            Self::RowKey(key) => key.sql(),
            Self::Every | Self::Known => "boolean",
        }
    }

    /// `tenancy.signed_row_key_uuid()`.
    pub(crate) fn call(&self) -> String {
        format!("{SCHEMA}.{}()", self.name())
    }

    /// Makes it, or makes it anew.
    ///
    /// `STABLE` and `PARALLEL RESTRICTED` with the policy's `(SELECT ..)` around the call: it runs once a query, in the
    /// leader, whose process the seal names. The search path has `pg_temp` last, else a temporary type or table of the
    /// caller's would be taken for the server's, and run with the owner's rights.
    pub(crate) fn create_sql(&self) -> String {
        let (call, returns) = (self.call(), self.returns());
        format!(
            "CREATE OR REPLACE FUNCTION {call} RETURNS {returns}\n\
             LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER COST {COST}\n\
             SET search_path = {SEARCH_PATH} AS {QUOTE}{}{QUOTE};\n",
            self.body()
        )
    }

    /// What the catalog holds as its source.
    ///
    /// No seal is NULL, or no reach, and every seal that is not right has the one refusal at the end, whatever is wrong
    /// with it. Nothing in between may fail in a way of its own: texts are turned into bytes by the one conversion that
    /// takes all, and into types only after the MAC was found right.
    ///
    /// The pads and MACs stay in expressions without a query. In a query they would be parameters, and the planner puts
    /// those into the plan, which `debug_print_plan` shows to whoever asks.
    pub(crate) fn body(&self) -> String {
        let returns = match self {
            Self::RowKey(key) => key.sql(),
            Self::Every => return body_of_word(EVERY),
            Self::Known => return body_of_word(KNOWN),
        };
        let field = |text: &str| format!("int4send(octet_length({text})) || convert_to({text}, 'SQL_ASCII')");
        let fields = [
            field("left(seal, 8)"),
            field(&format!("'{returns}'")),
            field("substr(seal, 109)"),
            field("substr(seal, 9, 36)"),
            field("nonce"),
        ]
        .join("\n    || ");
        format!(
            "
declare
  seal text := current_setting('{SEAL_SETTING}', true);
  nonce text;
  inner_pad bytea;
  outer_pad bytea;
  mac bytea;
  is_live boolean;
begin
  if seal is null or seal = '' then
    return null;
  end if;
  select k.ipad, k.opad into inner_pad, outer_pad from {SCHEMA}.signing_key k where k.kid = left(seal, 8);
  nonce := {NONCE};
  mac := sha256(outer_pad || sha256(inner_pad
    || {fields}));
  -- Both sides are hashed with the key once more, so that how long the comparison takes tells nothing.
  if sha256(outer_pad || convert_to(encode(mac, 'hex'), 'SQL_ASCII'))
     = sha256(outer_pad || convert_to(substr(seal, 45, 64), 'SQL_ASCII')) then
    select t.live into is_live from {SCHEMA}.tenant t
      where t.life = substr(seal, 9, 36)::uuid and t.row_key::text = substr(seal, 109);
    if is_live then
      return substr(seal, 109)::{returns};
    end if;
  end if;
  raise exception 'tenant seal refused' using errcode = '28000';
end
"
        )
    }
}

/// As the row key's: what is sealed is a word that no type of row key is called.
fn body_of_word(word: &str) -> String {
    let field = |text: &str| format!("int4send(octet_length({text})) || convert_to({text}, 'SQL_ASCII')");
    let fields = [field("left(seal, 8)"), field(&format!("'{word}'")), field("nonce")].join(" || ");
    format!(
        "
declare
  seal text := current_setting('{REACH_SETTING}', true);
  nonce text;
  inner_pad bytea;
  outer_pad bytea;
  mac bytea;
begin
  if seal is null or seal = '' then
    return false;
  end if;
  select k.ipad, k.opad into inner_pad, outer_pad from {SCHEMA}.signing_key k where k.kid = left(seal, 8);
  nonce := {NONCE};
  mac := sha256(outer_pad || sha256(inner_pad || {fields}));
  if sha256(outer_pad || convert_to(encode(mac, 'hex'), 'SQL_ASCII'))
     = sha256(outer_pad || convert_to(substr(seal, 9), 'SQL_ASCII')) then
    return true;
  end if;
  raise exception 'tenant seal refused' using errcode = '28000';
end
"
    )
}

/// The schema of the registry, the keys and the verifiers.
pub(crate) const SCHEMA: &str = "tenancy";
/// As the catalog holds it.
pub(crate) const SEARCH_PATH: &str = "pg_catalog, pg_temp";
/// What the planner is told.
const COST: u32 = 1000;
const QUOTE: &str = "$tenancy$";
