//! Wildcards: star, question mark and sets.

use std::borrow::Cow;

/// Does the whole text match a pattern in which `*` stands for any text, even an empty one?
#[must_use]
pub(crate) fn matches_text(pattern: &str, text: &str) -> bool {
    matches(pattern, text, None)
}

/// The same for one name of a path, where `?` stands for any single character.
#[must_use]
pub(crate) fn matches_name(pattern: &str, name: &str) -> bool {
    matches(pattern, name, Some('?'))
}

/// Backtracks only to the last star, so that no pattern takes exponential time.
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

/// Longer names are not compared character by character.
const OVERLAP_MAX: usize = 255;

/// Is there a name that matches both the shell's pattern `glob` and a rule's pattern `name`? Both
/// are widened. The shell's stars do not match a leading dot.
#[must_use]
pub(crate) fn overlaps(name: &str, glob: &str) -> bool {
    let hides_dot = glob.starts_with(['*', '?']) && name.starts_with('.');
    !hides_dot && overlaps_with_dots(name, glob)
}

/// The same for a shell with `dotglob`, whose stars match a leading dot.
#[must_use]
pub(crate) fn overlaps_with_dots(name: &str, glob: &str) -> bool {
    if !name.contains(WILD) {
        return matches_name(glob, name);
    }
    if !glob.contains(WILD) {
        return matches_name(name, glob);
    }
    let one: Vec<char> = name.chars().collect();
    let two: Vec<char> = glob.chars().collect();
    if one.len() > OVERLAP_MAX || two.len() > OVERLAP_MAX {
        return true;
    }
    // Which ends of the second pattern can be reached with this much of the first.
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
            let is_any = matches!(own, '?' | '*') || theirs == '?';
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

/// Wildcards in a widened pattern.
const WILD: [char; 2] = ['*', '?'];

/// Widens the pattern of a name: ignores case, and treats a set as any character.
pub(crate) fn widen_pattern(part: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase() && byte != b'[';
    if part.bytes().all(is_plain) {
        return Cow::Borrowed(part);
    }
    let mut wide = String::new();
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('[') {
        wide.push_str(before);
        let (stands_for, behind) = match parse_bracket_set(after) {
            BracketSet::Ends(behind) => ('?', behind),
            BracketSet::Unclear => ('*', ""),
            BracketSet::None => ('[', after),
        };
        wide.push(stands_for);
        rest = behind;
    }
    wide.push_str(rest);
    Cow::Owned(wide.to_lowercase())
}

/// What an opening bracket starts.
enum BracketSet<'t> {
    /// A set; this is the text after it.
    Ends(&'t str),
    /// A set whose end is ambiguous between shells.
    Unclear,
    /// A literal bracket.
    None,
}

/// Parses the text after an opening bracket. A closing bracket is literal if it comes first, and
/// classes such as `[:lower:]` contain brackets. Bash is inconsistent about the end of sets with
/// `[=e=]` or `[.e.]`.
fn parse_bracket_set(text: &str) -> BracketSet<'_> {
    let text = text.strip_prefix(['!', '^']).unwrap_or(text);
    let mut rest = text.strip_prefix(']').unwrap_or(text);
    let mut is_unclear = false;
    while let Some((before, after)) = rest.split_once([']', '[']) {
        if rest.as_bytes().get(before.len()) == Some(&b']') {
            return if is_unclear { BracketSet::Unclear } else { BracketSet::Ends(after) };
        }
        is_unclear |= after.starts_with(['=', '.']);
        let class = after.strip_prefix(':').and_then(|inner| inner.split_once(":]"));
        rest = class.map_or(after, |(_, behind)| behind);
    }
    BracketSet::None
}

#[cfg(test)]
mod tests {
    use super::{matches_name, matches_text, overlaps, overlaps_with_dots, widen_pattern};

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
            ("?ey", "k*", true),
            ("?ey", "*x", false),
        ];
        for (name, glob, expected) in cases {
            assert_eq!(overlaps(name, glob), expected, "{name} {glob}");
        }
        assert!(overlaps_with_dots(".env", "*") && !overlaps_with_dots(".env", "*.rs"));
    }

    #[test]
    fn a_set_is_any_character() {
        let cases = [
            ("plain", "plain"),
            ("Big", "big"),
            (".[e]nv", ".?nv"),
            ("[a-z]x[!0-9]", "?x?"),
            ("[]a]b", "?b"),
            ("[!]a]b", "?b"),
            ("[^]a]b", "?b"),
            ("[[:lower:]]nv", "?nv"),
            ("a[x[.-.]y]z", "a*"),
            ("a[x[=a=]]z", "a*"),
            ("[[]a", "?a"),
            ("open[", "open["),
            ("open[a", "open[a"),
            ("[É]É", "?é"),
        ];
        for (pattern, wide) in cases {
            assert_eq!(widen_pattern(pattern), wide, "{pattern}");
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
