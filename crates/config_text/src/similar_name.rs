//! Guesses which known word the user meant. Returns none if no word is close: a wrong guess is worse
//! than a list.

/// The closest known word, if it is close enough.
pub fn find_similar_name<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = normalize_word(word);
    let (slips, best) = known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&word, &normalize_word(known)), known))
        .min()?;
    // One mistake in three letters is a typing mistake; more is another word.
    let letters = word.chars().count().max(best.chars().count());
    (slips <= (letters / 3).clamp(1, TYPOS_MAX)).then_some(best)
}

/// Users confuse letter case and the separators between words.
fn normalize_word(word: &str) -> String {
    word.chars().take(WORD_MAX).flat_map(char::to_lowercase).map(normalize_separator).collect()
}

fn normalize_separator(letter: char) -> char {
    if matches!(letter, '_' | '.' | ' ') { '-' } else { letter }
}

const WORD_MAX: usize = 128;
const TYPOS_MAX: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let known = ["claude-sonnet-5-5", "claude-opus-5-5", "gpt-5.4", "gpt-5.4-mini"];
        let cases = [
            ("claude-sonet-5-5", Some("claude-sonnet-5-5")),
            ("Claude-Opus-5.5", Some("claude-opus-5-5")),
            ("gpt5.4", Some("gpt-5.4")),
            ("gpt-5-4-mini", Some("gpt-5.4-mini")),
            ("llama3", None),
            ("", None),
        ];
        for (word, near) in cases {
            assert_eq!(find_similar_name(word, known), near, "{word}");
        }
    }
}
