//! Replaces the placeholders of a custom command by its arguments. Pure. The result is not parsed
//! again, so arguments cannot add placeholders, snippets or mentions.

use std::collections::BTreeMap;

use windlass_vocabulary::ModelName;

/// Variables of custom commands, other than their arguments.
#[derive(Clone, Debug, Default)]
pub struct ExpansionVariables {
    pub session_id: String,
    pub project_directory: String,
    pub model_aliases: BTreeMap<String, String>,
}

impl ExpansionVariables {
    /// The provider's name of a model.
    pub fn resolve_model(&self, name: &str) -> ModelName {
        let full = self.model_aliases.get(name).map_or(name, String::as_str);
        ModelName::from(full.split_once('/').map_or(full, |(_, rest)| rest))
    }
}

#[derive(Debug)]
pub struct ArgumentSubstitution<'a> {
    arguments_text: &'a str,
    arguments: Vec<String>,
    /// Names of the arguments, in order.
    argument_names: &'a [String],
    variables: &'a ExpansionVariables,
    folder: &'a str,
}

struct Placeholder {
    value: String,
    /// The length of its name, with the dollar sign.
    length: usize,
    is_argument: bool,
}

impl<'a> ArgumentSubstitution<'a> {
    pub fn new(
        arguments_text: &'a str,
        argument_names: &'a [String],
        variables: &'a ExpansionVariables,
        folder: &'a str,
    ) -> Self {
        Self {
            arguments_text,
            arguments: split_arguments(arguments_text),
            argument_names,
            variables,
            folder,
        }
    }

    /// The text with replaced placeholders, and whether one of them was for arguments.
    pub fn substitute(&self, text: &str) -> (String, bool) {
        let mut filled = String::with_capacity(text.len());
        let mut used = false;
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            if let Some(before) = before.strip_suffix('\\') {
                filled.push_str(before);
                filled.push('$');
                rest = from.get(1..).unwrap_or_default();
                continue;
            }
            filled.push_str(before);
            match self.resolve_placeholder(from) {
                Some(placeholder) => {
                    filled.push_str(&placeholder.value);
                    used |= placeholder.is_argument;
                    rest = from.get(placeholder.length..).unwrap_or_default();
                }
                None => {
                    filled.push('$');
                    rest = from.get(1..).unwrap_or_default();
                }
            }
        }
        filled.push_str(rest);
        (filled, used)
    }

    fn resolve_placeholder(&self, from: &str) -> Option<Placeholder> {
        let argument = |value, length| Placeholder { value, length, is_argument: true };
        if let Some(rest) = from.strip_prefix("$ARGUMENTS") {
            let index = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            let index = index.and_then(|(digits, _)| Some((digits, digits.parse().ok()?)));
            return Some(match index {
                Some((digits, index)) => {
                    argument(self.argument(index), "$ARGUMENTS[]".len() + digits.len())
                }
                None => argument(self.arguments_text.to_owned(), "$ARGUMENTS".len()),
            });
        }
        if let Some(rest) = from.strip_prefix("${") {
            let (name, _) = rest.split_once('}')?;
            let value = match name {
                "CLAUDE_SESSION_ID" => &self.variables.session_id,
                "CLAUDE_PROJECT_DIR" => &self.variables.project_directory,
                "CLAUDE_SKILL_DIR" => self.folder,
                _ => return None,
            };
            let length = "${}".len() + name.len();
            return Some(Placeholder { value: value.to_owned(), length, is_argument: false });
        }
        let rest = from.get(1..)?;
        let end = rest.find(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'));
        let name = rest.get(..end.unwrap_or(rest.len()))?;
        if let Ok(index) = name.parse::<usize>() {
            return Some(argument(self.argument(index), 1 + name.len()));
        }
        let index = self.argument_names.iter().position(|known| known == name)?;
        Some(argument(self.argument(index), 1 + name.len()))
    }

    fn argument(&self, index: usize) -> String {
        self.arguments.get(index).cloned().unwrap_or_default()
    }
}

/// Splits words like a shell: at blanks outside of quotes.
pub fn split_arguments(words: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = None::<String>;
    let mut quote = None;
    let mut letters = words.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(sign), _) if letter == sign => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                part.get_or_insert_default();
            }
            (None | Some('"'), '\\') => part.get_or_insert_default().extend(letters.next()),
            (None, _) if letter.is_whitespace() => parts.extend(part.take()),
            _ => part.get_or_insert_default().push(letter),
        }
    }
    parts.extend(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_to_their_places() {
        let names = ExpansionVariables {
            session_id: "s".to_owned(),
            project_directory: "/p".to_owned(),
            ..ExpansionVariables::default()
        };
        let named = ["issue".to_owned(), "kind".to_owned()];
        for (text, filled, used) in [
            ("fix $ARGUMENTS now", "fix 12 \"a b\" $0 now", true),
            ("$ARGUMENTS[1]|$0|$9|", "a b|12||", true),
            ("$issue/$kind/$issues", "12/a b/$issues", true),
            ("\\$ARGUMENTS and \\\\$0", "$ARGUMENTS and \\$0", false),
            ("${CLAUDE_PROJECT_DIR} ${CLAUDE_SESSION_ID} ${CLAUDE_SKILL_DIR}", "/p s /f", false),
            ("${HOME} $HOME $ costs 5$", "${HOME} $HOME $ costs 5$", false),
            ("$ARGUMENTS[x]", "12 \"a b\" $0[x]", true),
        ] {
            let filling = ArgumentSubstitution::new("12 \"a b\" $0", &named, &names, "/f");
            assert_eq!(filling.substitute(text), (filled.to_owned(), used), "{text}");
        }
        assert_eq!(
            split_arguments("  a 'b c'd \"e\\\"f\" '' \\ g"),
            ["a", "b cd", "e\"f", "", " g"]
        );
    }
}
