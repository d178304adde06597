//! The content of a `Bash(…)` rule, compared word by word.

use super::parsed_script::SimpleCommand;
use super::plain_words::parse_plain_words;
use super::rule_reach::{RuleGap, find_rule_gap};
use super::shell_variable::is_assignment;
use super::shell_word::ShellWord;
use super::strip_wrappers::strip_wrappers;
use super::wrapper::{base_name, is_runner};
use crate::glob::matches_text;

/// The content of a `Bash` rule.
#[derive(Debug)]
pub(crate) struct CommandPattern<'a> {
    text: &'a str,
    words: Vec<String>,
    /// More words may follow.
    is_prefix: bool,
}

/// Limit on the skipped options before a sub-command.
const OPTIONS_MAX: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchCertainty {
    No,
    /// Known only at run time.
    Maybe,
    Yes,
}

/// How an allow rule applies to a command.
#[derive(Debug)]
pub(crate) enum RuleCoverage {
    /// It does not match the command.
    Apart,
    /// It matches, but the command does more than the rule says.
    FallsShort(RuleGap),
    /// It covers the command; this many words are named by it.
    Covers { named: usize },
}

const SETS_VARIABLES: &str = "it sets variables that may change what the program does";

impl<'a> CommandPattern<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let (body, is_prefix) = match text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")) {
            Some(body) => (body, true),
            None => (text, false),
        };
        let words = parse_plain_words(body)
            .unwrap_or_else(|| body.split_whitespace().map(str::to_owned).collect());
        Self { text, words, is_prefix }
    }

    /// Could a rule with this text match a command with one of these names? Cheap, and may be wrong
    /// only by returning `true`.
    pub(crate) fn may_match_names(text: &str, names: &[&str]) -> bool {
        let end = text.find([' ', ':', '*', '\'', '"', '\\', '=']).unwrap_or(text.len());
        let (name, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        let is_plain = rest.is_empty() || rest.starts_with(' ') || rest.starts_with(":*");
        !is_plain || names.iter().any(|other| other.eq_ignore_ascii_case(name))
    }

    /// Does the rule cover this command? The command must start with the rule's words, and the rest
    /// must not run another program that the rule does not name. A rule that names a wrapper covers
    /// whatever it runs.
    pub(crate) fn cover(
        &self,
        part: &SimpleCommand,
        leads_out: &dyn Fn(&ShellWord) -> bool,
    ) -> RuleCoverage {
        let names_variables = self.words.first().is_some_and(|word| is_assignment(word));
        let is_harmless = super::command_effect::sets_only_harmless_variables(part);
        if self.names_runner(part) && self.matches_words(&part.words) {
            return match is_harmless {
                true => RuleCoverage::Covers { named: part.words.len() },
                false => RuleCoverage::FallsShort(RuleGap::without_word(SETS_VARIABLES)),
            };
        }
        let assigned: Vec<ShellWord> =
            part.assigns.iter().map(|assign| ShellWord::literal(&assign.text)).collect();
        let words = if names_variables {
            [assigned, part.words.clone()].concat()
        } else {
            match strip_wrappers(&part.words) {
                Some(words) => words.to_vec(),
                None => return RuleCoverage::Apart,
            }
        };
        if words.first().and_then(ShellWord::as_certain).is_none() || !self.matches_words(&words) {
            return RuleCoverage::Apart;
        }
        if !names_variables && !is_harmless {
            return RuleCoverage::FallsShort(RuleGap::without_word(SETS_VARIABLES));
        }
        let names_all = !self.is_prefix && !self.text.contains('*');
        if names_all {
            return RuleCoverage::Covers { named: words.len() };
        }
        let named = self.words.iter().take_while(|word| !word.contains('*')).count();
        let skipped = match names_variables {
            true => words.iter().take_while(|word| is_assignment(&word.text)).count(),
            false => 0,
        };
        let rest = words.get(skipped..).unwrap_or_default();
        match find_rule_gap(rest, named.saturating_sub(skipped), leads_out) {
            Some(gap) => RuleCoverage::FallsShort(gap),
            None => RuleCoverage::Covers { named: named.saturating_sub(skipped) },
        }
    }

    /// Do the rule and the command both start with a program that runs others?
    fn names_runner(&self, part: &SimpleCommand) -> bool {
        let first = part.words.first().and_then(ShellWord::as_certain);
        // A debugger counts as a program of its own, whose options contain commands.
        let runs = |word: &str| is_runner(word) && !matches!(word, "gdb" | "lldb");
        self.words.first().is_some_and(|word| runs(word) && first == Some(word.as_str()))
    }

    /// Does its text name a path, so that it is meant for reading there?
    pub(crate) fn names_place(&self) -> bool {
        self.words.iter().skip(1).any(|word| word.contains('/') || word.starts_with('~'))
    }

    /// Does the command start with these words?
    pub(crate) fn matches_prefix(&self, part: &SimpleCommand) -> bool {
        let words = strip_wrappers(&part.words)
            .filter(|_| super::command_effect::sets_only_harmless_variables(part));
        words.is_some_and(|words| self.matches_words(words))
    }

    /// Does the rule match this command, by its name or by the last component of its path? If the
    /// command runs another one, that may start at any word.
    pub(crate) fn match_command(&self, part: &SimpleCommand) -> MatchCertainty {
        let reach = if part.is_wrapper { part.words.len() } else { 1 };
        if self.has_star() {
            return self.match_joined_text(part, reach);
        }
        let at = |at: usize| {
            let words = part.words.get(at..).unwrap_or_default();
            let plain =
                self.match_words(words, |word| word).max(self.match_words(words, base_name));
            if plain == MatchCertainty::Yes || self.words.len() < 2 {
                return plain;
            }
            let short =
                self.strip_options(words, false).map(|words| self.match_words(&words, base_name));
            let shorter =
                self.strip_options(words, true).map(|words| self.match_words(&words, base_name));
            plain
                .max(short.unwrap_or(MatchCertainty::No))
                .max(shorter.unwrap_or(MatchCertainty::No))
        };
        (0..reach).map(at).max().unwrap_or(MatchCertainty::No)
    }

    /// As many words as the rule has plus one, without options before a sub-command, which do not
    /// change what it does. It is unknown whether an option takes the next word as its value, so
    /// both are tried.
    fn strip_options(&self, words: &[ShellWord], take_values: bool) -> Option<Vec<ShellWord>> {
        let (program, rest) = words.split_first()?;
        let mut at = 0;
        let is_option = |word: &&ShellWord| word.text.starts_with('-');
        while let Some(word) = rest.get(at).filter(is_option).filter(|_| at < OPTIONS_MAX) {
            let has_value = take_values && !word.text.contains('=');
            at += if has_value { 2 } else { 1 };
        }
        let behind = rest.iter().skip(at).take(self.words.len());
        (at > 0).then(|| std::iter::once(program).chain(behind).cloned().collect())
    }

    /// Compares word by word; an uncertain word matches anything.
    fn match_words(&self, given: &[ShellWord], name: fn(&str) -> &str) -> MatchCertainty {
        let mut touch = MatchCertainty::Yes;
        for (at, wanted) in self.words.iter().enumerate() {
            let Some(word) = given.get(at) else { return MatchCertainty::No };
            let text = if at == 0 { name(&word.text) } else { &word.text };
            // On some systems file names ignore case.
            let is_same = if at == 0 { text.eq_ignore_ascii_case(wanted) } else { text == wanted };
            // A word that may become several words, or none, shifts all following ones.
            if word.is_split && word.known.is_none() {
                return MatchCertainty::Maybe;
            }
            match (word.as_certain().is_some(), is_same) {
                (true, false) => return MatchCertainty::No,
                (false, _) => touch = MatchCertainty::Maybe,
                (true, true) => {}
            }
        }
        let is_longer = given.len() > self.words.len();
        if is_longer && !self.is_prefix { MatchCertainty::No } else { touch }
    }

    /// A star may stand for several words, so the joined text is compared; it is built only once,
    /// however many words it could start at.
    fn match_joined_text(&self, part: &SimpleCommand, reach: usize) -> MatchCertainty {
        let words: Vec<&str> = part.words.iter().map(|word| word.text.as_str()).collect();
        let text = words.join(" ");
        let mut at = 0;
        let touches = words.iter().take(reach).any(|word| {
            let from =
                |at: usize| text.get(at..).is_some_and(|text| self.matches_joined_text(text));
            let touches = from(at) || from(at + word.len() - base_name(word).len());
            at += word.len() + 1;
            touches
        });
        let may = || {
            let literal = self.words.first().is_none_or(|word| word.contains('*'));
            let is_named = words
                .first()
                .is_some_and(|name| self.words.first().is_some_and(|own| own == base_name(name)));
            part.words.iter().any(|word| word.as_certain().is_none()) && (literal || is_named)
        };
        match touches {
            true => MatchCertainty::Yes,
            false if may() => MatchCertainty::Maybe,
            false => MatchCertainty::No,
        }
    }

    fn has_star(&self) -> bool {
        self.words.iter().any(|word| word.contains('*'))
    }

    fn matches_words(&self, words: &[ShellWord]) -> bool {
        if self.has_star() {
            let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            return self.matches_joined_text(&text.join(" "));
        }
        let begins = self.words.iter().enumerate().all(|(at, wanted)| {
            words.get(at).and_then(ShellWord::as_certain) == Some(wanted.as_str())
        });
        begins && (self.is_prefix || words.len() == self.words.len())
    }

    fn matches_joined_text(&self, text: &str) -> bool {
        let pattern = self.words.join(" ");
        let is_longer = || matches_text(&format!("{pattern} *"), text);
        matches_text(&pattern, text) || (self.is_prefix && is_longer())
    }
}
