//! Reads the characters of a shell line, one quote or expansion at a time.
//!
//! Used only for wide matching, so an unclosed quote runs to the end instead of being an error.

pub(super) struct ShellCharCursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> ShellCharCursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn skip(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    /// The text up to this character; skips both.
    pub(super) fn take_until(&mut self, end: char) -> &'a str {
        let rest = self.rest();
        match rest.split_once(end) {
            Some((before, _)) => {
                self.at += before.len() + end.len_utf8();
                before
            }
            None => {
                self.at = self.text.len();
                rest
            }
        }
    }

    /// The text up to the bracket that closes the one just skipped, respecting quotes.
    pub(super) fn take_until_closing(&mut self, open: char, close: char) -> &'a str {
        let start = self.at;
        let mut depth = 1_usize;
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    self.next();
                }
                '\'' => {
                    self.take_until('\'');
                }
                '"' => self.skip_double(),
                c if c == open => depth += 1,
                c if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        return self.text.get(start..self.at - 1).unwrap_or_default();
                    }
                }
                _ => {}
            }
        }
        self.text.get(start..).unwrap_or_default()
    }

    fn skip_double(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    self.next();
                }
                '"' => return,
                _ => {}
            }
        }
    }

    /// The text between backquotes, without the backslashes that escape inner ones.
    pub(super) fn take_back_quoted(&mut self) -> String {
        let mut inner = String::new();
        while let Some(c) = self.next() {
            match c {
                '`' => break,
                '\\' => match self.next() {
                    Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                    Some(c) => inner.extend(['\\', c]),
                    None => {}
                },
                c => inner.push(c),
            }
        }
        inner
    }

    /// The text of `$'…'`, after its opening quote. The second value is `None` if an escape was not
    /// understood.
    pub(super) fn take_ansi_quoted(&mut self) -> (String, Option<()>) {
        let mut inner = String::new();
        let mut understood = Some(());
        while let Some(c) = self.next() {
            match c {
                '\'' => break,
                '\\' => match self.take_escape() {
                    Some(c) => inner.push(c),
                    None => understood = None,
                },
                c => inner.push(c),
            }
        }
        (inner, understood)
    }

    fn take_escape(&mut self) -> Option<char> {
        match self.next()? {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'x' => self.take_char_code(16, 2),
            'u' => self.take_char_code(16, 4),
            'U' => self.take_char_code(16, 8),
            c @ ('\\' | '\'' | '"' | '?') => Some(c),
            c if c.is_digit(8) => {
                self.at -= 1;
                self.take_char_code(8, 3)
            }
            _ => None,
        }
    }

    fn take_char_code(&mut self, radix: u32, digits_max: usize) -> Option<char> {
        let digits: String =
            self.rest().chars().take(digits_max).take_while(|c| c.is_digit(radix)).collect();
        self.at += digits.len();
        char::from_u32(u32::from_str_radix(&digits, radix).ok()?)
    }
}
