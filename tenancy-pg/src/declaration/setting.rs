//! The name of the setting that carries the row key.

use super::error::DeclarationError;
use crate::ident::quote_ident;

/// The name of the setting, of an alphabet that needs no escaping anywhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Setting(String);

impl Default for Setting {
    fn default() -> Self {
        Self(DEFAULT_SETTING.to_owned())
    }
}

impl Setting {
    pub(super) fn parse(text: &str) -> Result<Self, DeclarationError> {
        let word = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_lowercase())
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        match text.split_once('.') {
            Some((class, rest)) if word(class) && word(rest) && text.len() <= MAX_SETTING => Ok(Self(text.to_owned())),
            _other => Err(DeclarationError::Setting),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// For `SET`.
    pub(crate) fn quoted(&self) -> String {
        quote_ident(&self.0)
    }
}

/// The setting, unless declared otherwise.
pub(crate) const DEFAULT_SETTING: &str = "tenancy.row_key";
const MAX_SETTING: usize = 63;
