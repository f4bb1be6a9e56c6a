//! The prefix cache.

use std::collections::HashMap;

/// Blocks by who they are for and all that is before them.
#[derive(Default)]
pub(super) struct Blocks {
    /// By salt and model, what begins there.
    roots: HashMap<(Option<String>, String), usize>,
    /// By what is before it and its words, what comes after.
    blocks: HashMap<(usize, String), usize>,
}

impl Blocks {
    /// How many words at the beginning are there, for one salt.
    pub(super) fn found(&self, salt: Option<&str>, model: &str, words: &[String]) -> usize {
        let root = self.roots.get(&(salt.map(str::to_owned), model.to_owned()));
        root.map_or(0, |root| self.found_after(*root, words))
    }

    /// The same for whichever salt has most.
    pub(super) fn found_anywhere(&self, model: &str, words: &[String]) -> usize {
        let roots = self.roots.iter().filter(|((_, of), _)| of == model);
        roots.map(|(_, root)| self.found_after(*root, words)).max().unwrap_or(0)
    }

    fn found_after(&self, root: usize, words: &[String]) -> usize {
        let (mut at, mut found) = (root, 0);
        // The last word is computed whatever is there.
        for block in words[..words.len().saturating_sub(1)].chunks_exact(BLOCK) {
            match self.blocks.get(&(at, block.join(" "))) {
                Some(next) => (at, found) = (*next, found + BLOCK),
                None => break,
            }
        }
        found
    }

    pub(super) fn keep(&mut self, salt: Option<&str>, model: &str, words: &[String]) {
        let mut next = self.roots.len() + self.blocks.len();
        let mut number = || {
            next += 1;
            next
        };
        let mut at = *self.roots.entry((salt.map(str::to_owned), model.to_owned())).or_insert_with(&mut number);
        for block in words.chunks_exact(BLOCK) {
            at = *self.blocks.entry((at, block.join(" "))).or_insert_with(&mut number);
        }
    }
}

const BLOCK: usize = 16;
