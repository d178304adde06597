//! How well a few letters fit a name: they must stand in it in this order, and fit better where they
//! stand together, at the beginning of words, and in the last part of a path. Pure.

/// How well it fits, the more the better; nothing if it does not.
#[must_use]
pub fn score(wanted: &str, name: &str) -> Option<i64> {
    if wanted.is_empty() {
        return Some(0);
    }
    let last_part = name.rfind('/').map_or(0, |at| at + 1);
    // Letters that stand in the last part alone are worth more than the same spread over folders.
    let in_last = name
        .get(last_part..)
        .and_then(|last| score_letters(wanted, last))
        .map(|fit| fit + LAST_PART_BONUS);
    let anywhere = score_letters(wanted, name);
    let best = in_last.max(anywhere)?;
    let length = i64::try_from(name.len()).unwrap_or(i64::MAX);
    Some(best.saturating_mul(64).saturating_sub(length))
}

fn score_letters(wanted: &str, name: &str) -> Option<i64> {
    let is_front = name.chars().next().map(char::to_lowercase).into_iter().flatten().next()
        == wanted.chars().flat_map(char::to_lowercase).next();
    let (mut fit, mut run) = (if is_front { FRONT_BONUS } else { 0 }, 0);
    let mut before = '/';
    let mut letters = wanted.chars().flat_map(char::to_lowercase).peekable();
    for letter in name.chars() {
        let Some(next) = letters.peek() else { break };
        if letter.to_lowercase().eq(std::iter::once(*next)) {
            letters.next();
            run += 1;
            let is_start =
                !before.is_alphanumeric() || (before.is_lowercase() && letter.is_uppercase());
            fit += 1 + 3 * run + if is_start { WORD_START_BONUS } else { 0 };
        } else {
            run = 0;
        }
        before = letter;
    }
    letters.peek().is_none().then_some(fit)
}

/// The best of many, the best first.
#[must_use]
pub fn find_best_matches<'a>(
    wanted: &str,
    names: impl Iterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let fitting = names.filter_map(|name| score(wanted, name).map(|score| (score, name)));
    let mut fitting: Vec<(i64, &str)> = fitting.collect();
    let order = |one: &(i64, &str), other: &(i64, &str)| {
        other.0.cmp(&one.0).then_with(|| one.1.cmp(other.1))
    };
    if fitting.len() > count && count > 0 {
        fitting.select_nth_unstable_by(count - 1, order);
        fitting.truncate(count);
    }
    fitting.sort_unstable_by(order);
    fitting.into_iter().take(count).map(|(_, name)| name).collect()
}

/// What the beginning of a word is worth, and the last part of a path.
const WORD_START_BONUS: i64 = 6;
const LAST_PART_BONUS: i64 = 4;
/// What the very beginning is worth.
const FRONT_BONUS: i64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_comes_first() {
        let names = [
            "crates/terminal/src/app.rs",
            "crates/terminal/src/approval.rs",
            "src/main.rs",
            "docs/manual/index.md",
            "src/my_app_notes.rs",
            "MAIN.md",
        ];
        for (wanted, first) in [
            ("app", "crates/terminal/src/app.rs"),
            ("main", "MAIN.md"),
            ("main.rs", "src/main.rs"),
            ("appr", "crates/terminal/src/approval.rs"),
            ("dmi", "docs/manual/index.md"),
            ("man", "src/my_app_notes.rs"),
        ] {
            assert_eq!(
                find_best_matches(wanted, names.into_iter(), 3).first(),
                Some(&first),
                "{wanted}"
            );
        }
        assert!(find_best_matches("zzz", names.into_iter(), 3).is_empty());
        assert_eq!(find_best_matches("", names.into_iter(), 2).len(), 2);
    }
}
