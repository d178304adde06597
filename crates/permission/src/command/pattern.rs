//! What a `Bash(…)` rule says, compared word by word.

use super::parts::Part;
use super::plain::plain_words;
use super::risk::{is_runner, reaches_beyond_rule};
use super::wrapper::base_name;
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

    /// Does the rule speak of exactly this text?
    pub(crate) fn is_text(&self, command: &str) -> bool {
        !self.is_prefix && !self.text.contains('*') && self.text.trim() == command.trim()
    }

    /// May this command run under the rule? It must begin with the rule's words; and what follows
    /// must not be a program of its own that the rule does not name.
    pub(crate) fn allows(&self, words: &[String], directories: &[String]) -> bool {
        let Some(first) = words.first() else { return false };
        if !self.fits(words) {
            return false;
        }
        let names_all = !self.is_prefix && !self.text.contains('*');
        if names_all {
            return true;
        }
        let named = self.words.iter().take_while(|word| !word.contains('*')).count();
        if is_runner(first) {
            let what = words.get(1).map(String::as_str).unwrap_or_default();
            let is_named = named >= 2 && !what.starts_with('-') && !what.contains('=');
            return is_named;
        }
        !reaches_beyond_rule(words, named, directories)
    }

    /// Does the rule speak of this command, by its name or by the last part of its path? Where it
    /// runs another one, that may begin at any of its words.
    pub(crate) fn touches(&self, part: &Part) -> bool {
        let reach = if part.is_wrapper { part.words.len() } else { 1 };
        if self.has_star() {
            return self.touches_text(part, reach);
        }
        (0..reach).any(|at| {
            let words = part.words.get(at..).unwrap_or_default();
            let Some((first, rest)) = words.split_first() else { return false };
            let rest = || rest.iter().map(|word| word.text.as_str());
            let named = |name| self.begins(std::iter::once(name).chain(rest()));
            named(first.text.as_str()) || named(base_name(&first.text))
        })
    }

    /// A star may stand for several words, so the text is compared as a whole; it is put together
    /// once, however many words it could begin at.
    fn touches_text(&self, part: &Part, reach: usize) -> bool {
        let words: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
        let text = words.join(" ");
        let mut at = 0;
        words.iter().take(reach).any(|word| {
            let from = |at: usize| text.get(at..).is_some_and(|text| self.fits_text(text));
            let touches = from(at) || from(at + word.len() - base_name(word).len());
            at += word.len() + 1;
            touches
        })
    }

    fn has_star(&self) -> bool {
        self.words.iter().any(|word| word.contains('*'))
    }

    fn fits(&self, words: &[String]) -> bool {
        if self.has_star() {
            self.fits_text(&words.join(" "))
        } else {
            self.begins(words.iter().map(String::as_str))
        }
    }

    fn fits_text(&self, text: &str) -> bool {
        let pattern = self.words.join(" ");
        let is_longer = || matches_text(&format!("{pattern} *"), text);
        matches_text(&pattern, text) || (self.is_prefix && is_longer())
    }

    fn begins<'w>(&self, mut given: impl Iterator<Item = &'w str>) -> bool {
        let begins = self.words.iter().all(|word| given.next() == Some(word.as_str()));
        begins && (self.is_prefix || given.next().is_none())
    }
}
