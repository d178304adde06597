//! Commands that fit what is being typed.

/// A command that may be typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlashCommandHint {
    /// Without the slash.
    pub name: String,
    /// What may be written after it.
    pub arguments: String,
    /// What it does.
    pub description: String,
}

/// Those that fit.
#[derive(Debug, Default)]
pub struct SlashCommandMenu<'a> {
    matches: Vec<&'a SlashCommandHint>,
}

impl<'a> SlashCommandMenu<'a> {
    /// What fits a text: nothing, unless it is a slash and the beginning of a name.
    #[must_use]
    pub fn find_matching(text: &str, commands: &'a [SlashCommandHint]) -> Self {
        let name = text.strip_prefix('/').filter(|name| !name.contains(char::is_whitespace));
        let Some(name) = name else { return Self::default() };
        let mut fitting: Vec<&SlashCommandHint> =
            commands.iter().filter(|hint| hint.name.starts_with(name)).collect();
        fitting.truncate(SHOWN_MAX);
        Self { matches: fitting }
    }

    /// The first of them.
    #[must_use]
    pub fn first_name(&self) -> Option<&'a str> {
        self.matches.first().map(|hint| hint.name.as_str())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &'a SlashCommandHint> {
        self.matches.iter().copied()
    }
}

const SHOWN_MAX: usize = 8;
