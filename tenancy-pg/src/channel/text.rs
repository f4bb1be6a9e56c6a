//! Bytes as texts that a channel can carry.

/// Five bits a letter, without padding: 52 letters for 32 bytes.
pub(super) fn base32(bytes: &[u8]) -> String {
    let bit = |at: usize| bytes.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1);
    let letter = |at: usize| (0..5).fold(0, |value, offset| value << 1 | usize::from(bit(at + offset)));
    (0..bytes.len() * 8).step_by(5).map(|at| char::from(LETTERS[letter(at)])).collect()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(LETTERS_HEX[usize::from(digit)]))
        .collect()
}

/// `None` for what [`hex`] did not write.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| LETTERS_HEX.iter().position(|letter| letter == byte).and_then(|at| u8::try_from(at).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair.first()?)? << 4 | digit(pair.get(1)?)?)).collect()
}

const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const LETTERS_HEX: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_what_others_write_too() {
        assert_eq!(base32(b"foobar"), "mzxw6ytboi");
        assert_eq!(base32(&[0xff; 32]).len(), 52);
        assert_eq!(hex(&[0, 0x9f, 0xff]), "009fff");
        assert_eq!(from_hex("009fff"), Some(vec![0, 0x9f, 0xff]));
        for bad in ["0", "0g", "0F", "00 "] {
            assert_eq!(from_hex(bad), None, "{bad}");
        }
    }
}
