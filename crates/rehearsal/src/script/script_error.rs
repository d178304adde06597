//! A mistake in a script: where it is, what is wrong, what would be right.

/// The first mistake in a script. One line: `line 3, column 1: what is wrong; what would be right`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}; {remedy}")]
pub struct ScriptError {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    pub problem: String,
    pub remedy: String,
}

/// A mistake at a byte of the script, before anyone has counted lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScriptMistake {
    pub(super) at: usize,
    pub(super) problem: String,
    pub(super) remedy: String,
}

impl ScriptMistake {
    pub(super) fn new(at: usize, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { at, problem: problem.into(), remedy: remedy.into() }
    }

    pub(super) fn unknown_key(at: usize, label: &str, key: &str, known: &[&str]) -> Self {
        let remedy = match find_nearest(key, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known keys are {}", join_words(known)),
        };
        Self::new(at, format!("unknown key `{key}` in {label}"), remedy)
    }

    pub(super) fn unknown_word(at: usize, key: &str, word: &str, known: &[&str]) -> Self {
        let remedy = match find_nearest(word, known) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("known words are {}", join_words(known)),
        };
        Self::new(at, format!("`{key}` does not know \"{}\"", word.escape_debug()), remedy)
    }

    pub(super) fn locate_in(self, text: &str) -> ScriptError {
        let before = text.get(..self.at.min(text.len())).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ScriptError {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            problem: to_one_line(&self.problem),
            remedy: to_one_line(&self.remedy),
        }
    }
}

/// The known word that differs least, if it differs little.
pub(super) fn find_nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('-', "_");
    let best = known.iter().map(|known| (edit_distance(&word, known), *known)).min()?;
    // One slip in three letters is a slip; more is another word.
    (best.0 <= (word.chars().count().max(best.1.len()) / 3).max(1)).then_some(best.1)
}

/// Letters to add, drop, change or swap with a neighbour to get from one word to the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().take(WORD_MAX).collect();
    let to: Vec<char> = to.chars().take(WORD_MAX).collect();
    let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let mut best =
                (at(&last, j) + usize::from(a != b)).min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && from.get(i - 1) == Some(b) && to.get(j - 1) == Some(a);
            if swapped {
                best = best.min(at(&before_last, j - 1) + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    at(&last, to.len())
}

fn join_words(words: &[&str]) -> String {
    words.join(", ")
}

fn to_one_line(text: &str) -> String {
    text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ")
}

const WORD_MAX: usize = 64;
