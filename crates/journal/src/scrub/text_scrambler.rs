//! Replaces the letters of a text.

use crate::digest::sha256_of_parts;

/// Replaces letters and digits, depending on a key.
pub(super) struct TextScrambler {
    key: String,
}

impl TextScrambler {
    pub(super) fn new(key: &str) -> Self {
        Self { key: key.to_owned() }
    }

    /// Scrambles a text and preserves its length in every unit. Punctuation and whitespace stay.
    pub(super) fn scramble(&self, text: &str) -> String {
        // These lines have a meaning for the loop, so they are kept.
        let lines = text.split('\n').map(|line| match line.trim() {
            PIN_LINE => line.to_owned(),
            _ => self.scramble_with_salt(line, ""),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The same, but equal texts with different salts become different.
    pub(super) fn scramble_with_salt(&self, text: &str, salt: &str) -> String {
        let seed = sha256_of_parts(&[self.key.as_bytes(), salt.as_bytes(), text.as_bytes()]);
        let mut filled = String::with_capacity(text.len());
        let mut is_escaped = false;
        for (place, letter) in text.chars().enumerate() {
            let chance = seed.get(place % seed.len()).copied().unwrap_or_default();
            let chance = chance.wrapping_add(u8::try_from(place / seed.len() % 251).unwrap_or(0));
            let draw = |first: u8, count: u8| char::from(first + chance % count);
            filled.push(match letter {
                // An escape sequence in a JSON string must stay one.
                letter if is_escaped && letter.is_ascii() => letter,
                'a'..='z' => draw(b'a', 26),
                'A'..='Z' => draw(b'A', 26),
                '0'..='9' => draw(b'0', 10),
                letter if letter.is_ascii() => letter,
                letter => match letter.len_utf8() {
                    2 => 'ß',
                    3 => '字',
                    _ => '😀',
                },
            });
            is_escaped = letter == '\\' && !is_escaped;
        }
        filled
    }
}

const PIN_LINE: &str = "<!-- pin -->";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stay_and_words_go() {
        let filler = TextScrambler::new("key");
        for text in ["", "a secret, 42 of them\nand\tmore", "Zürich 漢字 🚀", "{\"a\":\"\\n\"}"]
        {
            let filled = filler.scramble(text);
            assert_eq!(filled.len(), text.len(), "{filled}");
            assert_eq!(filled.chars().count(), text.chars().count());
            assert_eq!(filled, filler.scramble(text));
        }
        assert!(!filler.scramble("a secret, 42 of them").contains("secret"));
        assert_ne!(filler.scramble("echo one"), filler.scramble("echo two"));
        assert_ne!(filler.scramble("echo one"), TextScrambler::new("other").scramble("echo one"));
        assert_ne!(
            filler.scramble_with_salt("Bash", "ran"),
            filler.scramble_with_salt("Bash", "asked")
        );
        assert_eq!(filler.scramble("x\n <!-- pin -->").lines().nth(1), Some(" <!-- pin -->"));
    }
}
