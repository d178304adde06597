//! Commands that fit what is being typed.

/// A command that may be typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// Without the slash.
    pub name: String,
    /// What may be written after it.
    pub words: String,
    /// What it does.
    pub about: String,
}

/// Those that fit.
#[derive(Debug, Default)]
pub struct Menu<'a> {
    fitting: Vec<&'a Hint>,
}

impl<'a> Menu<'a> {
    /// What fits a text: nothing, unless it is a slash and the beginning of a name.
    #[must_use]
    pub fn of(text: &str, commands: &'a [Hint]) -> Self {
        let name = text.strip_prefix('/').filter(|name| !name.contains(char::is_whitespace));
        let Some(name) = name else { return Self::default() };
        let mut fitting: Vec<&Hint> =
            commands.iter().filter(|hint| hint.name.starts_with(name)).collect();
        fitting.truncate(SHOWN_MAX);
        Self { fitting }
    }

    /// The first of them.
    #[must_use]
    pub fn first(&self) -> Option<&'a str> {
        self.fitting.first().map(|hint| hint.name.as_str())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &'a Hint> {
        self.fitting.iter().copied()
    }
}

const SHOWN_MAX: usize = 8;
