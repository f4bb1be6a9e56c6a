//! Documents cut into passages: one paragraph each, kept word for word so that a citation can be checked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One document of a corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// Its id: the path below the folder, without the extension.
    pub id: String,
    /// Its first heading, or its id.
    pub title: String,
    /// Its text.
    pub text: String,
}

impl Document {
    /// A document of this text.
    #[must_use]
    pub fn new(id: &str, text: &str) -> Self {
        let heading = text.lines().find_map(|line| line.trim_start().strip_prefix("# "));
        let title = heading.map_or(id, str::trim).to_owned();
        Self { id: id.to_owned(), title, text: text.to_owned() }
    }
}

/// Cuts a text into passages at blank lines. Headings go with the paragraph below them only as the title; passages
/// longer than 1200 bytes are cut at the last line or sentence end that fits.
#[must_use]
pub fn passages(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let normal = |block: &&str| !block.is_empty() && !block.lines().all(|line| line.trim_start().starts_with('#'));
    for block in blocks(text).into_iter().filter(normal) {
        let mut rest = block;
        while rest.len() > MAX_PASSAGE {
            let (head, tail) = rest.split_at(cut(rest));
            found.push(head.trim());
            rest = tail;
        }
        if !rest.trim().is_empty() {
            found.push(rest.trim());
        }
    }
    found
}

/// Runs of lines between blank ones, as slices of the text itself.
fn blocks(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() {
            found.push(text[start..at].trim());
            start = at + line.len();
        }
        at += line.len();
    }
    found.push(text[start..].trim());
    found
}

fn cut(text: &str) -> usize {
    let limit = (0..=MAX_PASSAGE).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let window = &text[..limit];
    let end = window.rfind(". ").map(|at| at + 1).or_else(|| window.rfind('\n')).or_else(|| window.rfind(' '));
    end.filter(|at| *at > 0).unwrap_or(limit)
}

/// Reads every `.md` and `.txt` file below a folder, in the order of their paths.
///
/// # Errors
/// What the system says, with the path of the folder or file in front; `InvalidData` for a file that is no UTF-8.
pub fn read_corpus(folder: &Path) -> io::Result<Vec<Document>> {
    let mut files = Vec::new();
    collect(folder, &mut files, 0)?;
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).map_err(of(&path))?;
            let below = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
            Ok(Document::new(&below.to_string_lossy(), &text))
        })
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(of(folder))? {
        let path = entry.map_err(of(folder))?.path();
        let kind = fs::symlink_metadata(&path).map_err(of(&path))?;
        if kind.is_dir() {
            collect(&path, files, depth + 1)?;
        } else if kind.is_file() && path.extension().is_some_and(|ext| ext == "md" || ext == "txt") {
            files.push(path);
        }
    }
    Ok(())
}

/// Says which path an error is about.
fn of(path: &Path) -> impl Fn(io::Error) -> io::Error + '_ {
    |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The longest passage in bytes.
pub(crate) const MAX_PASSAGE: usize = 1200;
const MAX_DEPTH: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_are_the_documents_own_words() {
        let text = "# Leave\n\nStaff get 26 days.\nMore follow.\n\n## Carry over\n\nFive days.\r\n\r\nLast one";
        let found = passages(text);
        assert_eq!(found, ["Staff get 26 days.\nMore follow.", "Five days.", "Last one"]);
        assert!(found.iter().all(|passage| text.contains(passage)));
    }

    #[test]
    fn a_file_that_is_no_text_is_named() {
        let folder = std::env::temp_dir().join(format!("passages-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("good.md"), "Staff get 26 days.").unwrap();
        fs::write(folder.join("bad.txt"), b"\xff\xfe").unwrap();
        let error = read_corpus(&folder).unwrap_err();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("bad.txt: "), "{error}");
    }

    #[test]
    fn long_passages_are_cut_without_losing_a_word() {
        let text = "Ein Satz mit Umlaut ü und mehr. ".repeat(200);
        let found = passages(&text);
        assert!(found.len() > 3 && found.iter().all(|p| p.len() <= MAX_PASSAGE && text.contains(p)));
        let words = found.iter().flat_map(|p| p.split_whitespace()).count();
        assert_eq!(words, text.split_whitespace().count());
    }
}
