//! One word of a command: what of it is certain before the shell runs, and what is not.
//!
//! A word is kept letter by letter, each marked as quoted or not, with holes where an expansion
//! stands. From that follows whether its text is known, whether it may turn out to be an option, or
//! to be several words. Braces are expanded here, because they need nothing but the text.

/// Words one word may grow into by braces; more are not followed.
const BRACES_MAX: usize = 64;

/// One letter of a word, or a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordUnit {
    /// A letter; an unquoted one may mean something to the shell.
    Letter { letter: char, is_quoted: bool },
    /// Text that only exists at run time; unquoted it may become any number of words.
    RuntimeText { is_quoted: bool },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShellWord {
    /// For people and for the wide reading: quotes removed, holes shown as `…`.
    pub(crate) text: String,
    /// The exact text, when it is certain.
    pub(crate) known: Option<String>,
    /// The certain text in front of the first uncertain letter.
    pub(crate) prefix: String,
    /// File names are put in its place.
    pub(crate) is_glob: bool,
    /// It may become several words, or none.
    pub(crate) is_split: bool,
    /// It stands for a variable, and every text that variable is given is listed.
    pub(crate) is_choice: bool,
    /// What fits its pattern is divided into words once more: it stands for a variable without quotes.
    pub(crate) is_divided_again: bool,
    /// It begins with a home directory.
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

    /// A word of these letters, braces not looked at.
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
        // An opening bracket alone is the name of a program.
        if word.is_glob && word.text == "[" {
            word.is_glob = false;
            is_certain = true;
            word.prefix.push('[');
        }
        word.known = is_certain.then(|| word.text.clone());
        word
    }

    /// May it turn out to begin with a dash?
    pub(crate) fn may_be_option(&self) -> bool {
        match self.prefix.chars().next() {
            Some(first) => first == '-',
            None => self.known.is_none(),
        }
    }

    /// Is it the end of a pipe that the shell opens for a command written in its place?
    pub(crate) fn is_pipe(&self) -> bool {
        self.text == "/dev/fd/…"
    }

    pub(crate) fn is_expanded(&self) -> bool {
        self.known.is_none()
    }

    pub(crate) fn as_known(&self) -> Option<&str> {
        self.known.as_deref()
    }

    /// The text if it is known and nothing but this can stand here.
    pub(crate) fn as_certain(&self) -> Option<&str> {
        self.as_known().filter(|_| !self.is_choice)
    }
}

/// The words that these letters become. `None` when the braces are too many to follow.
pub(crate) fn expand_words(units: &[WordUnit]) -> Option<Vec<ShellWord>> {
    let mut grown = Vec::new();
    expand_braces(units.to_vec(), &mut grown)?;
    Some(grown.iter().map(|units| ShellWord::from_units(units)).collect())
}

fn expand_braces(units: Vec<WordUnit>, grown: &mut Vec<Vec<WordUnit>>) -> Option<()> {
    if grown.len() >= BRACES_MAX || units.len() > 100 * BRACES_MAX {
        return None;
    }
    let Some((open, close, choices)) = find_first_brace(&units)? else {
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

type BraceExpansion = (usize, usize, Vec<Vec<WordUnit>>);

/// The first brace that expands, with what it becomes. The outer `None` means not understood.
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
                return Some(Some((open, at, choices?)));
            }
            // A range is left alone by this reading, and so nothing about it is certain.
            let inner = units.get(open + 1..at)?;
            let dots = inner.windows(2).any(|two| two.iter().all(|u| plain(u) == Some('.')));
            if dots {
                return Some(Some((
                    open,
                    at,
                    vec![vec![WordUnit::RuntimeText { is_quoted: false }]],
                )));
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
