//! Slash commands that match what is being typed.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlashCommandHint {
    /// Without the slash.
    pub name: String,
    /// As shown in the menu; optional ones begin with `[`.
    pub arguments: String,
    pub description: String,
}

#[derive(Debug, Default)]
pub(crate) struct SlashCommandMenu<'a> {
    matches: Vec<&'a SlashCommandHint>,
}

impl<'a> SlashCommandMenu<'a> {
    /// Empty, unless the text is a slash and the beginning of a name.
    pub(crate) fn find_matching(text: &str, commands: &'a [SlashCommandHint]) -> Self {
        let name = text.strip_prefix('/').filter(|name| !name.contains(char::is_whitespace));
        let Some(name) = name else { return Self::default() };
        let mut matches: Vec<&SlashCommandHint> =
            commands.iter().filter(|hint| hint.name.starts_with(name)).collect();
        matches.truncate(SHOWN_MAX);
        Self { matches }
    }

    pub(crate) fn first_name(&self) -> Option<&'a str> {
        self.matches.first().map(|hint| hint.name.as_str())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a SlashCommandHint> {
        self.matches.iter().copied()
    }
}

const SHOWN_MAX: usize = 8;
