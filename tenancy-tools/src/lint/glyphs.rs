//! Letters as a reader sees them.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Compatibility forms decomposed, accents and invisible characters dropped, look-alikes replaced.
pub(super) fn folded_chars(name: &str) -> impl Iterator<Item = char> {
    name.nfkd().filter(|c| !is_combining_mark(*c) && !is_invisible(*c)).map(look_alike)
}

const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Cyrillic, Greek and a few other letters that read as Latin ones.
const fn look_alike(c: char) -> char {
    match c {
        'а' | 'α' | 'ɑ' | 'ᴀ' => 'a',
        'А' | 'Α' => 'A',
        'в' | 'ʙ' => 'b',
        'В' | 'Β' => 'B',
        'с' | 'ϲ' | 'ᴄ' => 'c',
        'С' | 'Ϲ' => 'C',
        'ԁ' | 'ᴅ' | 'đ' => 'd',
        'е' | 'ε' | 'ɛ' | 'ᴇ' | 'є' => 'e',
        'Е' | 'Ε' => 'E',
        'ɡ' | 'ց' => 'g',
        'һ' | 'ʜ' => 'h',
        'Н' | 'Η' => 'H',
        'і' | 'ι' | 'ı' | 'ɪ' => 'i',
        'І' | 'Ι' => 'I',
        'ј' | 'ϳ' => 'j',
        'Ј' => 'J',
        'к' | 'κ' | 'ᴋ' => 'k',
        'К' | 'Κ' => 'K',
        'ӏ' | 'ł' | 'ʟ' => 'l',
        'м' | 'ᴍ' => 'm',
        'М' | 'Μ' => 'M',
        'п' | 'η' | 'ո' | 'ɴ' | 'ռ' => 'n',
        'Ν' | 'И' => 'N',
        'о' | 'ο' | 'σ' | 'օ' | 'ᴏ' | 'ø' => 'o',
        'О' | 'Ο' | 'Օ' => 'O',
        'р' | 'ρ' | 'ᴘ' => 'p',
        'Р' | 'Ρ' => 'P',
        'г' | 'ʀ' => 'r',
        'ѕ' | 'ꜱ' => 's',
        'Ѕ' => 'S',
        'т' | 'τ' | 'ᴛ' => 't',
        'Т' | 'Τ' => 'T',
        'υ' | 'ս' | 'ᴜ' => 'u',
        'ν' | 'ѵ' | 'ᴠ' => 'v',
        'ω' | 'ԝ' | 'ᴡ' => 'w',
        'х' | 'χ' => 'x',
        'Х' | 'Χ' => 'X',
        'у' | 'γ' | 'ʏ' => 'y',
        'У' | 'Υ' => 'Y',
        'ᴢ' => 'z',
        'Ζ' => 'Z',
        other => other,
    }
}

/// Digits that stand for letters.
pub(super) const fn unleet(c: char) -> char {
    match c {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '7' => 't',
        other => other,
    }
}
