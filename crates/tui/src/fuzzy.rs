//! Fuzzy matching of names: the letters must occur in order, and score higher where they are adjacent,
//! at the start of words, and in the last part of a path. Pure.

/// Higher is better; `None` if the name does not match.
pub(crate) fn score(query: &str, name: &str) -> Option<i64> {
    if query.is_empty() {
        return Some(0);
    }
    let last_part = name.rfind('/').map_or(0, |at| at + 1);
    // A match within the last part is better than the same letters spread over folders.
    let in_last = name
        .get(last_part..)
        .and_then(|last| score_letters(query, last))
        .map(|score| score + LAST_PART_BONUS);
    let anywhere = score_letters(query, name);
    let best = in_last.max(anywhere)?;
    let length = i64::try_from(name.len()).unwrap_or(i64::MAX);
    Some(best.saturating_mul(64).saturating_sub(length))
}

fn score_letters(query: &str, name: &str) -> Option<i64> {
    let is_front = name.chars().next().map(char::to_lowercase).into_iter().flatten().next()
        == query.chars().flat_map(char::to_lowercase).next();
    let mut score = if is_front { FRONT_BONUS } else { 0 };
    let mut run = 0;
    let mut before = '/';
    let mut letters = query.chars().flat_map(char::to_lowercase).peekable();
    for letter in name.chars() {
        let Some(next) = letters.peek() else { break };
        if letter.to_lowercase().eq(std::iter::once(*next)) {
            letters.next();
            run += 1;
            let is_start =
                !before.is_alphanumeric() || (before.is_lowercase() && letter.is_uppercase());
            score += 1 + 3 * run + if is_start { WORD_START_BONUS } else { 0 };
        } else {
            run = 0;
        }
        before = letter;
    }
    letters.peek().is_none().then_some(score)
}

/// The best first.
pub(crate) fn find_best_matches<'a>(
    query: &str,
    names: impl Iterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let scored = names.filter_map(|name| score(query, name).map(|score| (score, name)));
    let mut scored: Vec<(i64, &str)> = scored.collect();
    let order = |one: &(i64, &str), other: &(i64, &str)| {
        other.0.cmp(&one.0).then_with(|| one.1.cmp(other.1))
    };
    if scored.len() > count && count > 0 {
        scored.select_nth_unstable_by(count - 1, order);
        scored.truncate(count);
    }
    scored.sort_unstable_by(order);
    scored.into_iter().take(count).map(|(_, name)| name).collect()
}

const WORD_START_BONUS: i64 = 6;
const LAST_PART_BONUS: i64 = 4;
/// For a match of the first letter of the name.
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
