//! One word of a command, and what is certain about it before the shell runs.
//!
//! A word is a list of characters, each marked as quoted or not, with placeholders for expansions.
//! That determines whether its text is known, and whether it may become an option or several words.
//! Braces are expanded here, because they depend only on the text.

/// Limit on the words that braces in one word may produce.
const BRACES_MAX: usize = 64;

/// One character of a word, or a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordUnit {
    /// A character; an unquoted one may be special.
    Letter { letter: char, is_quoted: bool },
    /// Text known only at run time; unquoted it may become any number of words.
    RuntimeText { is_quoted: bool },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShellWord {
    /// For display and the wide sense: quotes removed, placeholders shown as `…`.
    pub(crate) text: String,
    /// The exact text, if it is certain.
    pub(crate) known: Option<String>,
    /// The certain text before the first uncertain character.
    pub(crate) prefix: String,
    /// The shell replaces it by file names.
    pub(crate) is_glob: bool,
    /// It may become several words, or none.
    pub(crate) is_split: bool,
    /// It is a variable all of whose values are listed.
    pub(crate) is_choice: bool,
    /// File names that match its pattern are split again, because it is an unquoted variable.
    pub(crate) is_divided_again: bool,
    /// It starts with a home directory.
    pub(crate) is_home: bool,
}

impl ShellWord {
    pub(crate) fn literal(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            known: Some(text.to_owned()),
            prefix: text.to_owned(),
            ..Self::default()
        }
    }

    /// A word of these characters, without brace expansion.
    fn from_units(units: &[WordUnit]) -> Self {
        let mut word = Self::default();
        let mut is_certain = true;
        for unit in units {
            match *unit {
                WordUnit::Letter { letter, is_quoted } => {
                    word.text.push(letter);
                    let is_glob = !is_quoted && matches!(letter, '*' | '?' | '[');
                    word.is_glob |= is_glob;
                    is_certain &= !is_glob;
                    if is_certain {
                        word.prefix.push(letter);
                    }
                }
                WordUnit::RuntimeText { is_quoted } => {
                    word.text.push('…');
                    word.is_split |= !is_quoted;
                    is_certain = false;
                }
            }
        }
        // A lone opening bracket is the name of a program.
        if word.is_glob && word.text == "[" {
            word.is_glob = false;
            is_certain = true;
            word.prefix.push('[');
        }
        word.known = is_certain.then(|| word.text.clone());
        word
    }

    /// May it turn out to start with a dash?
    pub(crate) fn may_be_option(&self) -> bool {
        match self.prefix.chars().next() {
            Some(first) => first == '-',
            None => self.known.is_none(),
        }
    }

    /// Is it a process substitution?
    pub(crate) fn is_pipe(&self) -> bool {
        self.text == "/dev/fd/…"
    }

    pub(crate) fn is_expanded(&self) -> bool {
        self.known.is_none()
    }

    pub(crate) fn as_known(&self) -> Option<&str> {
        self.known.as_deref()
    }

    /// The text, if it is known and certain.
    pub(crate) fn as_certain(&self) -> Option<&str> {
        self.as_known().filter(|_| !self.is_choice)
    }
}

/// The words that these characters expand to. `None` if there are too many braces.
pub(crate) fn expand_words(units: &[WordUnit]) -> Option<Vec<ShellWord>> {
    let mut grown = Vec::new();
    expand_braces(units.to_vec(), &mut grown)?;
    Some(grown.iter().map(|units| ShellWord::from_units(units)).collect())
}

fn expand_braces(units: Vec<WordUnit>, grown: &mut Vec<Vec<WordUnit>>) -> Option<()> {
    if grown.len() >= BRACES_MAX || units.len() > 100 * BRACES_MAX {
        return None;
    }
    let Some(BraceExpansion { open, close, choices }) = find_first_brace(&units)? else {
        grown.push(units);
        return Some(());
    };
    for choice in choices {
        let before = units.get(..open)?;
        let after = units.get(close + 1..)?;
        expand_braces([before, &choice, after].concat(), grown)?;
    }
    Some(())
}

struct BraceExpansion {
    open: usize,
    close: usize,
    choices: Vec<Vec<WordUnit>>,
}

/// The first brace expression with its expansion. The outer `None` means not understood.
fn find_first_brace(units: &[WordUnit]) -> Option<Option<BraceExpansion>> {
    let plain = |unit: &WordUnit| match *unit {
        WordUnit::Letter { letter, is_quoted: false } => Some(letter),
        WordUnit::Letter { is_quoted: true, .. } | WordUnit::RuntimeText { .. } => None,
    };
    for (open, _) in units.iter().enumerate().filter(|(_, unit)| plain(unit) == Some('{')) {
        let mut depth = 0_usize;
        let mut cuts = vec![open];
        for (at, unit) in units.iter().enumerate().skip(open) {
            match plain(unit) {
                Some('{') => depth += 1,
                Some(',') if depth == 1 => cuts.push(at),
                Some('}') => depth -= 1,
                _ => {}
            }
            if depth > 0 {
                continue;
            }
            cuts.push(at);
            if cuts.len() > 2 {
                let between = |pair: &[usize]| match pair {
                    [from, to] => units.get(from + 1..*to).map(<[WordUnit]>::to_vec),
                    _ => None,
                };
                let choices: Option<Vec<_>> = cuts.windows(2).map(between).collect();
                return Some(Some(BraceExpansion { open, close: at, choices: choices? }));
            }
            // Ranges are not expanded here, so nothing about them is certain.
            let inner = units.get(open + 1..at)?;
            let dots = inner.windows(2).any(|two| two.iter().all(|u| plain(u) == Some('.')));
            if dots {
                let choices = vec![vec![WordUnit::RuntimeText { is_quoted: false }]];
                return Some(Some(BraceExpansion { open, close: at, choices }));
            }
            break;
        }
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::{WordUnit, expand_words};

    #[test]
    fn braces_grow_and_holes_stay() {
        let units = |text: &str| -> Vec<WordUnit> {
            let unit = |letter| match letter {
                '$' => WordUnit::RuntimeText { is_quoted: false },
                letter => WordUnit::Letter { letter, is_quoted: false },
            };
            text.chars().map(unit).collect()
        };
        let cases: &[(&str, &[&str])] = &[
            ("abc", &["abc"]),
            ("{a,b}c", &["ac", "bc"]),
            ("x{a,{b,c}}", &["xa", "xb", "xc"]),
            ("{a}", &["{a}"]),
            ("{a", &["{a"]),
            ("{}", &["{}"]),
            ("{a,b", &["{a,b"]),
            ("{,x}", &["", "x"]),
            ("{1..3}", &["…"]),
            ("a${b,c}", &["a…b", "a…c"]),
        ];
        for (text, expected) in cases {
            let grown: Vec<_> = expand_words(&units(text)).unwrap();
            let texts: Vec<_> = grown.iter().map(|word| word.text.as_str()).collect();
            assert_eq!(&texts, expected, "{text}");
        }
        assert!(expand_words(&units(&"{a,b}".repeat(9))).is_none());
        let word = &expand_words(&units("src/*.rs")).unwrap()[0];
        assert!(word.is_glob && !word.may_be_option() && word.prefix == "src/");
        assert!(expand_words(&units("*")).unwrap()[0].may_be_option());
    }
}
