//! The star and the question mark.

/// Does the whole text fit a pattern in which `*` stands for any text, nothing included?
#[must_use]
pub(crate) fn matches_text(pattern: &str, text: &str) -> bool {
    matches(pattern, text, None)
}

/// The same for one name of a path, where `?` stands for any one character.
#[must_use]
pub(crate) fn matches_name(pattern: &str, name: &str) -> bool {
    matches(pattern, name, Some('?'))
}

/// Goes back only to the last star, so no pattern can hang a ruling.
fn matches(pattern: &str, text: &str, any_one: Option<char>) -> bool {
    let mut pattern = pattern.chars();
    let mut text = text.chars();
    let mut retry = None;
    loop {
        let here = text.clone();
        match (pattern.next(), text.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                retry = Some((pattern.clone(), here.clone()));
                text = here;
            }
            (Some(a), Some(b)) if a == b || Some(a) == any_one => {}
            (None | Some(_), _) => {
                let Some((after, from)) = &mut retry else { return false };
                if from.next().is_none() {
                    return false;
                }
                pattern = after.clone();
                text = from.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{matches_name, matches_text};

    #[test]
    fn stars_and_question_marks() {
        let cases = [
            ("", "", true),
            ("*", "", true),
            ("*", "anything", true),
            ("a*", "b", false),
            ("a*c", "abcbc", true),
            ("a*c", "abcb", false),
            ("*.rs", "main.rs", true),
            ("*a*b*", "xxaxxbxx", true),
            ("é?", "éa", true),
            ("?", "", false),
            ("?", "ab", false),
            ("*?", "a", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches_name(pattern, text), expected, "{pattern} {text}");
        }
        assert!(!matches_text("?", "a"));
        assert!(!matches_text(&"*a".repeat(2000), &"a".repeat(1999)));
    }
}
