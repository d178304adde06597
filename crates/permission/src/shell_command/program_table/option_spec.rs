//! Divides the arguments of a program into options, values and operands, by the rules of getopt.
//!
//! An unlisted option makes the result `None`. So an unchecked option, an abbreviated long one, and
//! a word known only at run time are never treated as harmless.

use std::borrow::Cow;

use crate::shell_command::shell_word::ShellWord;

/// The options of a program that are known to only read. The long ones are lists of names with blanks
/// between them.
///
/// A letter or name may be followed by a mark: `:` takes a value, attached or as the next word; `?`
/// may have an attached one; `<` takes the name of a file that is read. A `#` among the letters
/// stands for a number after the dash, as in `head -5`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionSpec {
    pub(crate) short: &'static str,
    pub(crate) long: &'static [&'static str],
}

pub(crate) const NO_OPTION: OptionSpec = OptionSpec { short: "", long: &[] };

/// The kind of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionValue {
    None,
    Text,
    AttachedText,
    File,
}

/// The divided arguments of a command.
#[derive(Debug, Default)]
pub(crate) struct DividedWords<'w> {
    /// Option values that name files to read.
    pub(crate) file_values: Vec<Cow<'w, ShellWord>>,
    pub(crate) operands: Vec<&'w ShellWord>,
    /// Short options, and long options without dashes.
    pub(crate) options: Vec<String>,
    /// Option values that are text.
    pub(crate) texts: Vec<String>,
    /// An option comes after an operand.
    pub(crate) is_permuted: bool,
    /// A word may turn out to be any option.
    pub(crate) has_unknown_option: bool,
}

impl DividedWords<'_> {
    pub(crate) fn has_option(&self, name: &str) -> bool {
        self.options.iter().any(|own| own == name)
    }
}

impl OptionSpec {
    fn find_letter(&self, letter: char) -> Option<OptionValue> {
        let mut letters = self.short.chars().peekable();
        while let Some(own) = letters.next() {
            let mark = letters.next_if(|mark| ":?<".contains(*mark));
            if own == letter && own != '#' {
                return Some(match mark {
                    Some(':') => OptionValue::Text,
                    Some('?') => OptionValue::AttachedText,
                    Some(_) => OptionValue::File,
                    None => OptionValue::None,
                });
            }
        }
        None
    }

    fn find_name(&self, name: &str) -> Option<OptionValue> {
        if matches!(name, "help" | "version") {
            return Some(OptionValue::None);
        }
        self.long.iter().flat_map(|names| names.split_whitespace()).find_map(|own| {
            let rest = own.strip_prefix(name)?;
            match rest {
                "" => Some(OptionValue::None),
                ":" => Some(OptionValue::Text),
                "?" => Some(OptionValue::AttachedText),
                "<" => Some(OptionValue::File),
                _ => None,
            }
        })
    }

    /// Divides the arguments; `None` if one may be an unlisted option. `ends_at_operand` is for
    /// programs that accept no options after their first operand.
    pub(crate) fn divide<'w>(
        &self,
        words: &'w [ShellWord],
        ends_at_operand: bool,
    ) -> Option<DividedWords<'w>> {
        let mut divided = DividedWords::default();
        let mut waiting = None;
        let mut is_ended = false;
        for word in words {
            if let Some(value) = waiting.take() {
                divided.push_value(value, word)?;
                continue;
            }
            if is_ended || !word.may_be_option() || word.as_certain() == Some("-") {
                // A word that is split may become an option.
                divided.has_unknown_option |= !is_ended && word.known.is_none() && word.is_split;
                is_ended |= ends_at_operand;
                divided.operands.push(word);
                continue;
            }
            let Some(text) = word.as_known() else {
                // It may be an option or an operand; the caller decides whether that matters.
                divided.has_unknown_option = true;
                divided.operands.push(word);
                continue;
            };
            if word.is_choice {
                return None;
            }
            divided.is_permuted |= !divided.operands.is_empty();
            if text == "--" {
                is_ended = true;
            } else if let Some(name) = text.strip_prefix("--") {
                waiting = divided.read_long(self, name)?;
            } else {
                waiting = divided.read_cluster(self, text.get(1..).unwrap_or_default())?;
            }
        }
        waiting.is_none().then_some(divided)
    }
}

impl<'w> DividedWords<'w> {
    fn read_long(&mut self, spec: &OptionSpec, text: &str) -> Option<Option<OptionValue>> {
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let value = spec.find_name(name)?;
        self.options.push(name.to_owned());
        match (value, attached) {
            (OptionValue::None | OptionValue::AttachedText, None) => Some(None),
            (OptionValue::None, Some(_)) => None,
            (value, Some(text)) => {
                self.push_attached(value, text);
                Some(None)
            }
            (value, None) => Some(Some(value)),
        }
    }

    fn read_cluster(&mut self, spec: &OptionSpec, letters: &str) -> Option<Option<OptionValue>> {
        if spec.short.contains('#') && letters.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(None);
        }
        for (at, letter) in letters.char_indices() {
            let rest = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let value = spec.find_letter(letter)?;
            self.options.push(letter.to_string());
            match value {
                OptionValue::None => {}
                OptionValue::AttachedText => {
                    self.push_attached(value, rest);
                    return Some(None);
                }
                OptionValue::Text | OptionValue::File if rest.is_empty() => {
                    return Some(Some(value));
                }
                OptionValue::Text | OptionValue::File => {
                    self.push_attached(value, rest);
                    return Some(None);
                }
            }
        }
        Some(None)
    }

    fn push_attached(&mut self, value: OptionValue, text: &str) {
        match value {
            OptionValue::File => self.file_values.push(Cow::Owned(ShellWord::literal(text))),
            OptionValue::None | OptionValue::Text | OptionValue::AttachedText => {
                self.texts.push(text.to_owned());
            }
        }
    }

    /// A value in the next word. A word that may become several words, or none, would shift all
    /// following ones.
    fn push_value(&mut self, value: OptionValue, word: &'w ShellWord) -> Option<()> {
        let may_be_several = word.known.is_none() && (word.is_split || word.is_glob);
        if may_be_several {
            return None;
        }
        match value {
            OptionValue::File => self.file_values.push(Cow::Borrowed(word)),
            OptionValue::None | OptionValue::Text | OptionValue::AttachedText => {
                self.texts.push(word.text.clone());
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{OptionSpec, ShellWord};

    #[test]
    fn options_are_divided_as_getopt_does() {
        let spec = OptionSpec { short: "bnk:t:m?f<#", long: &["key: color? stable file<"] };
        let divide = |text: &str| {
            let words: Vec<ShellWord> = text.split(' ').map(ShellWord::literal).collect();
            let divided = spec.divide(&words, false)?;
            let texts = |words: Vec<&str>| words.join(" ");
            Some(format!(
                "{}|{}|{}",
                texts(divided.operands.iter().map(|word| word.text.as_str()).collect()),
                texts(divided.texts.iter().map(String::as_str).collect()),
                texts(divided.file_values.iter().map(|word| word.text.as_str()).collect()),
            ))
        };
        for (text, expected) in [
            ("a b", Some("a b||")),
            ("-bn a", Some("a||")),
            ("-tk a", Some("a|k|")),
            ("-tk -oF a", None),
            ("-bk2 a", Some("a|2|")),
            ("-bk 2 a", Some("a|2|")),
            ("-k -o a", Some("a|-o|")),
            ("-fx a", Some("a||x")),
            ("-f x a", Some("a||x")),
            ("-m a", Some("a||")),
            ("-m5 a", Some("a|5|")),
            ("-20 a", Some("a||")),
            ("--key 2 a", Some("a|2|")),
            ("--key=2 a", Some("a|2|")),
            ("--ke=2 a", None),
            ("--stable=1 a", None),
            ("--color a", Some("a||")),
            ("--color=x a", Some("a|x|")),
            ("--file=x a", Some("a||x")),
            ("a -b", Some("a||")),
            ("-- -x", Some("-x||")),
            ("- -b", Some("-||")),
            ("-k", None),
            ("-x", None),
        ] {
            assert_eq!(divide(text).as_deref(), expected, "{text}");
        }
    }
}
