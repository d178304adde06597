//! Wraps streaming text at words.
//!
//! A word is held back until it is complete. Because the terminal never wraps a line itself, the number
//! of rows is known and the text can be erased.

#[derive(Debug)]
pub(super) struct WordWrapper {
    width: usize,
    column: usize,
    /// Blanks before `word`; neither is shown yet.
    blanks: usize,
    word: String,
    /// Line breaks shown.
    pub(super) rows: usize,
    pub(super) shown: String,
}

impl WordWrapper {
    pub(super) fn new(width: usize) -> Self {
        Self {
            width: width.max(20),
            column: 0,
            blanks: 0,
            word: String::new(),
            rows: 0,
            shown: String::new(),
        }
    }

    /// Returns what can be shown now.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for letter in piece.chars() {
            match letter {
                '\n' => {
                    self.place_word(&mut out);
                    self.break_line(&mut out);
                }
                letter if letter.is_whitespace() => {
                    self.place_word(&mut out);
                    self.blanks += 1;
                }
                letter => {
                    self.word.push(letter);
                    if self.word.chars().count() >= self.width {
                        self.place_word(&mut out);
                    }
                }
            }
        }
        self.shown.push_str(&out);
        out
    }

    /// Returns the word that was held back.
    pub(super) fn finish(&mut self) -> String {
        let mut out = String::new();
        self.place_word(&mut out);
        self.shown.push_str(&out);
        out
    }

    fn place_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let length = self.word.chars().count();
        if self.column > 0 && self.column + self.blanks + length > self.width {
            self.break_line(out);
        }
        out.push_str(&" ".repeat(self.blanks));
        out.push_str(&self.word);
        self.column += self.blanks + length;
        self.blanks = 0;
        self.word.clear();
    }

    fn break_line(&mut self, out: &mut String) {
        out.push('\n');
        self.rows += 1;
        self.column = 0;
        self.blanks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_words_however_the_text_is_cut() {
        let text = "The script takes every fourth year for a leap year.\n\n  indented  words";
        let whole = "The script takes\nevery fourth year\nfor a leap year.\n\n  indented  words";
        for size in 1..12 {
            let mut wrap = WordWrapper::new(20);
            let mut out = String::new();
            let letters: Vec<char> = text.chars().collect();
            for piece in letters.chunks(size) {
                out.push_str(&wrap.push(&piece.iter().collect::<String>()));
            }
            out.push_str(&wrap.finish());
            assert_eq!(out, whole);
            assert_eq!(wrap.shown, whole);
            assert_eq!(wrap.rows, 4);
        }
    }

    #[test]
    fn a_word_longer_than_a_line_is_cut() {
        let mut wrap = WordWrapper::new(20);
        let out = wrap.push(&"x".repeat(50)) + &wrap.finish();
        assert!(out.lines().all(|line| line.len() <= 20), "{out}");
        assert_eq!(out.replace('\n', "").len(), 50);
    }
}
