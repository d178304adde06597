//! Words, quoted texts and JSON in a line of a scenario.
//!
//! Cuts a line up and says what is wrong with it; what the words mean is not known here.

use windlass_vocabulary::Json;

#[derive(Clone, Debug, PartialEq, Eq)]
enum ScenarioToken {
    Word(String),
    /// In quotation marks, with JSON's escapes; repeated if a number followed.
    Text(String),
    Object(String),
    Semicolon,
}

/// The words of a line, read from left to right.
#[derive(Clone, Debug)]
pub(crate) struct TokenReader {
    tokens: Vec<ScenarioToken>,
    next: usize,
}

impl TokenReader {
    pub(crate) fn new(line: &str) -> Result<Self, String> {
        let mut tokens = Vec::new();
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let (token, after) = lex_token(rest)?;
            rest = after.trim_start();
            let token = match token {
                ScenarioToken::Text(text) => {
                    let (times, after) = parse_repetition(rest)?;
                    rest = after.trim_start();
                    ScenarioToken::Text(text.repeat(times))
                }
                ScenarioToken::Word(_) | ScenarioToken::Object(_) | ScenarioToken::Semicolon => {
                    token
                }
            };
            tokens.push(token);
        }
        Ok(Self { tokens, next: 0 })
    }

    fn peek(&self) -> Option<&ScenarioToken> {
        self.tokens.get(self.next)
    }

    fn next_token(&mut self) -> Option<ScenarioToken> {
        let token = self.peek().cloned();
        self.next += usize::from(token.is_some());
        token
    }

    pub(crate) fn expect_word(&mut self, what: &str) -> Result<String, String> {
        match self.next_token() {
            Some(ScenarioToken::Word(word)) => Ok(word),
            Some(other) => Err(format!("expected {what}, found {other:?}")),
            None => Err(format!("expected {what}, found the end of the line")),
        }
    }

    pub(crate) fn next_word(&mut self) -> Option<String> {
        match self.peek() {
            Some(ScenarioToken::Word(word)) => {
                let word = word.clone();
                self.next += 1;
                Some(word)
            }
            _ => None,
        }
    }

    pub(crate) fn accept(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), Some(ScenarioToken::Word(next)) if next == word);
        self.next += usize::from(is_next);
        is_next
    }

    /// The next token must be a quoted text; neighbouring texts are one.
    pub(crate) fn expect_text(&mut self, what: &str) -> Result<String, String> {
        let mut joined = match self.next_token() {
            Some(ScenarioToken::Text(text)) => text,
            Some(other) => return Err(format!("expected {what} in quotes, found {other:?}")),
            None => return Err(format!("expected {what} in quotes, found the end of the line")),
        };
        while let Some(more) = self.next_text() {
            joined.push_str(&more);
        }
        Ok(joined)
    }

    pub(crate) fn next_text(&mut self) -> Option<String> {
        match self.peek() {
            Some(ScenarioToken::Text(text)) => {
                let text = text.clone();
                self.next += 1;
                Some(text)
            }
            _ => None,
        }
    }

    pub(crate) fn next_object(&mut self) -> Option<Json> {
        match self.peek() {
            Some(ScenarioToken::Object(text)) => {
                let json = Json::from_checked(text);
                self.next += 1;
                Some(json)
            }
            _ => None,
        }
    }

    pub(crate) fn expect_number(&mut self, what: &str) -> Result<u64, String> {
        let word = self.expect_word(what)?;
        parse_number(&word).ok_or_else(|| format!("expected {what}, found `{word}`"))
    }

    pub(crate) fn next_number(&mut self) -> Option<u64> {
        let number = match self.peek() {
            Some(ScenarioToken::Word(word)) => parse_number(word),
            _ => None,
        };
        self.next += usize::from(number.is_some());
        number
    }

    pub(crate) fn split_at_semicolons(&self) -> Vec<Self> {
        let left = self.tokens.get(self.next..).unwrap_or(&[]);
        left.split(|token| *token == ScenarioToken::Semicolon)
            .filter(|tokens| !tokens.is_empty())
            .map(|tokens| Self { tokens: tokens.to_vec(), next: 0 })
            .collect()
    }

    pub(crate) fn expect_end(&self) -> Result<(), String> {
        match self.peek() {
            None => Ok(()),
            Some(token) => Err(format!("did not expect {token:?} here")),
        }
    }
}

/// Splits a line at its first colon outside quotes and braces that is followed by a space or ends
/// the line.
pub(crate) fn split_head(line: &str) -> (&str, Option<&str>) {
    let mut is_quoted = false;
    let mut is_escaped = false;
    let mut depth = 0usize;
    for (at, c) in line.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '{' if !is_quoted => depth += 1,
            '}' if !is_quoted => depth = depth.saturating_sub(1),
            ':' if !is_quoted && depth == 0 => {
                let (head, rest) = line.split_at(at);
                let rest = rest.strip_prefix(':').unwrap_or(rest);
                if rest.is_empty() || rest.starts_with(' ') {
                    return (head.trim(), Some(rest.trim()));
                }
            }
            _ => {}
        }
    }
    (line.trim(), None)
}

/// A text that is in quotes, or is simply the rest of the line.
pub(crate) fn parse_loose_text(rest: &str) -> Result<String, String> {
    if !rest.starts_with('"') {
        return Ok(rest.to_owned());
    }
    let mut words = TokenReader::new(rest)?;
    let text = words.expect_text("a text")?;
    words.expect_end()?;
    Ok(text)
}

fn parse_number(word: &str) -> Option<u64> {
    word.replace('_', "").parse().ok()
}

fn lex_token(rest: &str) -> Result<(ScenarioToken, &str), String> {
    match rest.chars().next() {
        Some('"') => {
            let end = find_quote_end(rest).ok_or("a quotation mark is not closed")?;
            let (text, after) = rest.split_at(end);
            let text = serde_json::from_str(text).map_err(|e| format!("{text}: {e}"))?;
            Ok((ScenarioToken::Text(text), after))
        }
        Some('{') => {
            let end = find_brace_end(rest).ok_or("a brace is not closed")?;
            let (text, after) = rest.split_at(end);
            let checked: Result<serde_json::Value, _> = serde_json::from_str(text);
            checked.map_err(|e| format!("{text}: {e}"))?;
            Ok((ScenarioToken::Object(text.to_owned()), after))
        }
        Some(';') => Ok((ScenarioToken::Semicolon, rest.trim_start_matches(';'))),
        _ => {
            let end = rest.find([' ', ';']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            Ok((ScenarioToken::Word(word.to_owned()), after))
        }
    }
}

/// `* 500` after a text repeats it.
fn parse_repetition(rest: &str) -> Result<(usize, &str), String> {
    let Some(after) = rest.strip_prefix("* ") else {
        return Ok((1, rest));
    };
    let after = after.trim_start();
    let end = after.find([' ', ';']).unwrap_or(after.len());
    let (number, after) = after.split_at(end);
    let times = number.parse().map_err(|_| format!("`{number}` is not a number of times"))?;
    Ok((times, after))
}

fn find_quote_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn find_brace_end(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '{' if !is_quoted => depth += 1,
            '}' if !is_quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
