//! Prompts that nobody can have asked before.

use uuid::Uuid;

/// Words of four and five letters, more than 60 random bits in the first three.
///
/// The first block of a prompt decides what the rest can be found by, so it is not left to a counter or a greeting.
pub(super) fn random_words(count: usize) -> String {
    let mut words = Vec::with_capacity(count + 2);
    while words.len() < count {
        // Of its sixteen bytes two have fixed bits.
        let random: Vec<u8> = Uuid::new_v4().as_bytes().iter().enumerate().filter(is_random).map(letter).collect();
        words.extend(random.chunks(5).map(|letters| String::from_utf8_lossy(letters).into_owned()));
    }
    words.truncate(count);
    words.join(" ")
}

fn is_random((at, _): &(usize, &u8)) -> bool {
    !matches!(at, 6 | 8)
}

fn letter((_, byte): (usize, &u8)) -> u8 {
    b'a' + byte % 26
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_prompt_is_another_from_its_first_words_on() {
        let begins: HashSet<String> =
            (0..1_000).map(|_| random_words(600).split(' ').take(3).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(begins.len(), 1_000);
    }

    #[test]
    fn it_has_as_many_words_as_asked() {
        for count in [1, 2, 3, 4, 600] {
            let prompt = random_words(count);
            assert_eq!(prompt.split(' ').count(), count);
            assert!(prompt.split(' ').all(|word| matches!(word.len(), 4 | 5)), "{prompt}");
        }
    }
}
