//! What a `Bash(…)` rule says, compared word by word.

use super::plain::plain_words;
use super::risk::reaches_beyond_rule;
use super::script::Part;
use super::transparent::unwrapped;
use super::variable::is_assignment;
use super::word::Word;
use super::wrapper::{base_name, is_runner};
use crate::glob::matches_text;

/// The content of a `Bash` rule.
#[derive(Debug)]
pub(crate) struct Pattern<'a> {
    /// As written.
    text: &'a str,
    words: Vec<String>,
    /// More words may follow.
    is_prefix: bool,
}

/// Options in front of a sub-command that are looked behind.
const OPTIONS_MAX: usize = 32;

/// Does a rule speak of a command?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Touch {
    No,
    /// Only at run time it will be known.
    Maybe,
    Yes,
}

impl<'a> Pattern<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let (body, is_prefix) = match text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")) {
            Some(body) => (body, true),
            None => (text, false),
        };
        let words = plain_words(body)
            .unwrap_or_else(|| body.split_whitespace().map(str::to_owned).collect());
        Self { text, words, is_prefix }
    }

    /// Could a rule with this text speak of a command with one of these names? Cheap, and wrong
    /// only on the side of yes.
    pub(crate) fn may_speak_of(text: &str, names: &[&str]) -> bool {
        let end = text.find([' ', ':', '*', '\'', '"', '\\', '=']).unwrap_or(text.len());
        let (name, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        let is_plain = rest.is_empty() || rest.starts_with(' ') || rest.starts_with(":*");
        !is_plain || names.iter().any(|other| other.eq_ignore_ascii_case(name))
    }

    /// May this command run under the rule? It must begin with the rule's words; and what follows
    /// must not be a program of its own that the rule does not name.
    pub(crate) fn allows(&self, part: &Part, leads_out: &dyn Fn(&Word) -> bool) -> bool {
        let names_variables = self.words.first().is_some_and(|word| is_assignment(word));
        let assigned: Vec<Word> =
            part.assigns.iter().map(|assign| Word::literal(&assign.text)).collect();
        let words = if names_variables {
            [assigned, part.words.clone()].concat()
        } else {
            match unwrapped(&part.words) {
                Some(words) if super::effect::sets_harmless(part) => words.to_vec(),
                _ => return false,
            }
        };
        let Some(first) = words.first().and_then(Word::certain) else { return false };
        if !self.fits(&words) {
            return false;
        }
        let names_all = !self.is_prefix && !self.text.contains('*');
        if names_all {
            return true;
        }
        let named = self.words.iter().take_while(|word| !word.contains('*')).count();
        if is_runner(first) {
            let what = words.get(1).map(|word| word.text.as_str()).unwrap_or_default();
            return named >= 2 && !what.starts_with('-') && !what.contains('=');
        }
        if names_variables {
            let skipped = words.iter().take_while(|word| is_assignment(&word.text)).count();
            let rest = words.get(skipped..).unwrap_or_default();
            return !reaches_beyond_rule(rest, named.saturating_sub(skipped), leads_out);
        }
        !reaches_beyond_rule(&words, named, leads_out)
    }

    /// Does the command begin with these words, whatever follows?
    pub(crate) fn begins(&self, part: &Part) -> bool {
        let words = unwrapped(&part.words).filter(|_| super::effect::sets_harmless(part));
        words.is_some_and(|words| self.fits(words))
    }

    /// Does the rule speak of this command, by its name or by the last part of its path? Where it
    /// runs another one, that may begin at any of its words.
    pub(crate) fn touches(&self, part: &Part) -> Touch {
        let reach = if part.is_wrapper { part.words.len() } else { 1 };
        if self.has_star() {
            return self.touches_text(part, reach);
        }
        let at = |at: usize| {
            let words = part.words.get(at..).unwrap_or_default();
            let plain = self.begins_by(words, |word| word).max(self.begins_by(words, base_name));
            if plain == Touch::Yes || self.words.len() < 2 {
                return plain;
            }
            let short =
                self.without_options(words, false).map(|words| self.begins_by(&words, base_name));
            let shorter =
                self.without_options(words, true).map(|words| self.begins_by(&words, base_name));
            plain.max(short.unwrap_or(Touch::No)).max(shorter.unwrap_or(Touch::No))
        };
        (0..reach).map(at).max().unwrap_or(Touch::No)
    }

    /// As many words as the rule has, and one more, without the options in front of a sub-command,
    /// which say how and not what. Whether an option takes the next word as its value is not known,
    /// so both are tried.
    fn without_options(&self, words: &[Word], take_values: bool) -> Option<Vec<Word>> {
        let (program, rest) = words.split_first()?;
        let mut at = 0;
        let is_option = |word: &&Word| word.text.starts_with('-');
        while let Some(word) = rest.get(at).filter(is_option).filter(|_| at < OPTIONS_MAX) {
            let has_value = take_values && !word.text.contains('=');
            at += if has_value { 2 } else { 1 };
        }
        let behind = rest.iter().skip(at).take(self.words.len());
        (at > 0).then(|| std::iter::once(program).chain(behind).cloned().collect())
    }

    /// The rule's words, one by one; a word that is not certain may be any.
    fn begins_by(&self, given: &[Word], name: fn(&str) -> &str) -> Touch {
        let mut touch = Touch::Yes;
        for (at, wanted) in self.words.iter().enumerate() {
            let Some(word) = given.get(at) else { return Touch::No };
            let text = if at == 0 { name(&word.text) } else { &word.text };
            // On some systems letter case does not count in the name of a program.
            let is_same = if at == 0 { text.eq_ignore_ascii_case(wanted) } else { text == wanted };
            // A word that may be several, or none, shifts all that follow.
            if word.is_split && word.known.is_none() {
                return Touch::Maybe;
            }
            match (word.certain().is_some(), is_same) {
                (true, false) => return Touch::No,
                (false, _) => touch = Touch::Maybe,
                (true, true) => {}
            }
        }
        let is_longer = given.len() > self.words.len();
        if is_longer && !self.is_prefix { Touch::No } else { touch }
    }

    /// A star may stand for several words, so the text is compared as a whole; it is put together
    /// once, however many words it could begin at.
    fn touches_text(&self, part: &Part, reach: usize) -> Touch {
        let words: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
        let text = words.join(" ");
        let mut at = 0;
        let touches = words.iter().take(reach).any(|word| {
            let from = |at: usize| text.get(at..).is_some_and(|text| self.fits_text(text));
            let touches = from(at) || from(at + word.len() - base_name(word).len());
            at += word.len() + 1;
            touches
        });
        let may = || {
            let literal = self.words.first().is_none_or(|word| word.contains('*'));
            let is_named = words
                .first()
                .is_some_and(|name| self.words.first().is_some_and(|own| own == base_name(name)));
            part.words.iter().any(|word| word.certain().is_none()) && (literal || is_named)
        };
        match touches {
            true => Touch::Yes,
            false if may() => Touch::Maybe,
            false => Touch::No,
        }
    }

    fn has_star(&self) -> bool {
        self.words.iter().any(|word| word.contains('*'))
    }

    fn fits(&self, words: &[Word]) -> bool {
        if self.has_star() {
            let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            return self.fits_text(&text.join(" "));
        }
        let begins = self
            .words
            .iter()
            .enumerate()
            .all(|(at, wanted)| words.get(at).and_then(Word::certain) == Some(wanted.as_str()));
        begins && (self.is_prefix || words.len() == self.words.len())
    }

    fn fits_text(&self, text: &str) -> bool {
        let pattern = self.words.join(" ");
        let is_longer = || matches_text(&format!("{pattern} *"), text);
        matches_text(&pattern, text) || (self.is_prefix && is_longer())
    }
}
