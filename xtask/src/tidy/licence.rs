//! Licence expressions, as manifests write them: names joined by `AND`, `OR` and `WITH`, with
//! parentheses, and the old slash that means `OR`.

/// Do the allowed licences satisfy this expression? What cannot be read is not allowed.
#[must_use]
pub fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = LicenceParser { words: words.into_iter().peekable(), allowed };
    reader.parse_or().unwrap_or(false) && reader.words.peek().is_none()
}

struct LicenceParser<'a> {
    words: std::iter::Peekable<std::vec::IntoIter<&'a str>>,
    allowed: &'a [String],
}

impl LicenceParser<'_> {
    /// Terms joined by `OR`. Nothing when the text is malformed.
    fn parse_or(&mut self) -> Option<bool> {
        let mut verdict = self.parse_and()?;
        while self.words.next_if_eq(&"OR").is_some() {
            verdict |= self.parse_and()?;
        }
        Some(verdict)
    }

    /// Terms joined by `AND`, which binds tighter.
    fn parse_and(&mut self) -> Option<bool> {
        let mut verdict = self.parse_term()?;
        while self.words.next_if_eq(&"AND").is_some() {
            verdict &= self.parse_term()?;
        }
        Some(verdict)
    }

    /// A name, a name with an exception, or a group.
    fn parse_term(&mut self) -> Option<bool> {
        let word = self.words.next()?;
        if word == "(" {
            let verdict = self.parse_or()?;
            return self.words.next_if_eq(&")").map(|_| verdict);
        }
        if ["AND", "OR", "WITH", ")"].contains(&word) {
            return None;
        }
        let mut name = word.to_owned();
        if self.words.next_if_eq(&"WITH").is_some() {
            name = format!("{name} WITH {}", self.words.next()?);
        }
        Some(self.allowed.contains(&name))
    }
}
