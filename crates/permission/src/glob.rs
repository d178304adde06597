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

/// Longer names are not compared letter by letter.
const OVERLAP_MAX: usize = 255;

/// Is there a name that both the shell's pattern `glob` and a rule's pattern `name` fit? Sets of
/// characters count as any character. The shell's stars do not stand for a leading dot.
#[must_use]
pub(crate) fn overlaps(name: &str, glob: &str) -> bool {
    if glob.starts_with(['*', '?', '[']) && name.starts_with('.') {
        return false;
    }
    let one: Vec<char> = name.chars().collect();
    let two: Vec<char> = glob.chars().collect();
    if one.len() > OVERLAP_MAX || two.len() > OVERLAP_MAX {
        return true;
    }
    // Which ends of the second can be reached with this much of the first.
    let close = |reached: &mut Vec<bool>| {
        for at in 0..two.len() {
            if reached.get(at) == Some(&true)
                && two.get(at) == Some(&'*')
                && let Some(next) = reached.get_mut(at + 1)
            {
                *next = true;
            }
        }
    };
    let mut reached = vec![false; two.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    close(&mut reached);
    for own in one {
        let mut next = if own == '*' { reached.clone() } else { vec![false; two.len() + 1] };
        for at in 0..two.len() {
            if reached.get(at) != Some(&true) && !(own == '*' && next.get(at) == Some(&true)) {
                continue;
            }
            let theirs = two.get(at).copied().unwrap_or_default();
            let is_any = matches!(own, '?' | '*') || matches!(theirs, '?' | '[' | ']');
            if theirs == '*' {
                if let Some(stay) = next.get_mut(at) {
                    *stay = true;
                }
            } else if (own == theirs || is_any)
                && let Some(step) = next.get_mut(at + 1)
            {
                *step = true;
            }
        }
        close(&mut next);
        reached = next;
    }
    reached.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::{matches_name, matches_text, overlaps};

    #[test]
    fn two_patterns_overlap_when_a_name_fits_both() {
        let cases = [
            (".env", ".e*", true),
            (".env", "*", false),
            (".env", ".en?", true),
            (".env", "*.rs", false),
            ("*.key", "a*", true),
            ("*.key", "*.rs", false),
            ("id_*", "*_rsa", true),
            ("secret", "s*t", true),
            ("secret", "s*x", false),
            ("secret", "secret", true),
            ("secret", "secrets", false),
            ("", "*", true),
        ];
        for (name, glob, expected) in cases {
            assert_eq!(overlaps(name, glob), expected, "{name} {glob}");
        }
    }

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
