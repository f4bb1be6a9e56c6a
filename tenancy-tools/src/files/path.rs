//! Paths as a model writes them.

use std::path::Path;

use tenancy_core::Denial;

use super::FilesError;

/// A relative path that does not climb above where it starts, by its text alone. Links are the kernel's business.
///
/// Nothing is decoded: `%2e%2e` is a name of six characters and a backslash is a letter.
#[derive(Clone)]
pub(super) struct RelPath(Box<str>);

impl RelPath {
    /// # Errors
    /// [`FilesError::InvalidPath`], or [`Denial::OutOfReach`] for an absolute path and for one with more `..` than
    /// names before it.
    pub(super) fn parse(text: &str) -> Result<Self, FilesError> {
        if text.is_empty() || text.len() > MAX_BYTES || text.contains('\0') {
            return Err(FilesError::InvalidPath);
        }
        if text.starts_with('/') || Path::new(text).has_root() || climbs_out(text) {
            return Err(Denial::OutOfReach.into());
        }
        Ok(Self(text.into()))
    }

    pub(super) fn as_path(&self) -> &Path {
        Path::new(&*self.0)
    }

    /// Whether it names the directory it starts from.
    pub(super) fn is_root(&self) -> bool {
        self.0.split('/').all(|name| name.is_empty() || name == ".")
    }
}

/// `a/../../b` climbs out whether `a` exists or not, so that the answer does not depend on it.
fn climbs_out(text: &str) -> bool {
    let mut depth = 0u32;
    for name in text.split('/') {
        match name {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return true,
            },
            _ => depth += 1,
        }
    }
    false
}

/// What Linux takes.
const MAX_BYTES: usize = 4095;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_alone_decides_what_text_can_decide() {
        for (text, denied) in [
            ("a/b", false),
            ("a/../b", false),
            ("..", true),
            ("a/../../b", true),
            ("./../b", true),
            ("/etc/passwd", true),
            ("//a", true),
            ("%2e%2e/b", false),
            ("..\\b", false),
            ("...", false),
        ] {
            let outcome = RelPath::parse(text).map(drop);
            assert_eq!(matches!(outcome, Err(FilesError::Denied(Denial::OutOfReach))), denied, "{text}: {outcome:?}");
        }
        for text in ["", "a\0b", &"a/".repeat(3000)] {
            assert!(matches!(RelPath::parse(text), Err(FilesError::InvalidPath)), "{text:?}");
        }
    }

    #[test]
    fn the_root_has_several_spellings() {
        for text in [".", "./", "./."] {
            assert!(RelPath::parse(text).unwrap().is_root(), "{text}");
        }
        assert!(!RelPath::parse("a/..").unwrap().is_root());
    }
}
