//! Licence expressions, as manifests write them: names joined by `AND`, `OR` and `WITH`, with
//! parentheses, and the old slash that means `OR`.

/// Do the allowed licences satisfy this expression? What cannot be read is not allowed.
#[must_use]
pub fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: words.into_iter().peekable(), allowed };
    reader.any().unwrap_or(false) && reader.words.peek().is_none()
}

struct Reader<'a> {
    words: std::iter::Peekable<std::vec::IntoIter<&'a str>>,
    allowed: &'a [String],
}

impl Reader<'_> {
    /// Terms joined by `OR`. Nothing when the text is malformed.
    fn any(&mut self) -> Option<bool> {
        let mut verdict = self.all()?;
        while self.words.next_if_eq(&"OR").is_some() {
            verdict |= self.all()?;
        }
        Some(verdict)
    }

    /// Terms joined by `AND`, which binds tighter.
    fn all(&mut self) -> Option<bool> {
        let mut verdict = self.one()?;
        while self.words.next_if_eq(&"AND").is_some() {
            verdict &= self.one()?;
        }
        Some(verdict)
    }

    /// A name, a name with an exception, or a group.
    fn one(&mut self) -> Option<bool> {
        let word = self.words.next()?;
        if word == "(" {
            let verdict = self.any()?;
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
