//! Something in a layer that could not be used: where it stands, what is wrong, what comes of it.

use std::fmt;

use windlass_config_text::TextPosition;
use windlass_permission::permission_layer::SettingsSource;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemSeverity {
    /// Nothing, but the author of the entry may expect an effect.
    Idle,
    /// The entry is left out, or a tool asks.
    Entry,
    /// The whole file is left out, and everything asks.
    File,
}

impl ProblemSeverity {
    /// One word for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Entry => "entry",
            Self::File => "file",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsProblem {
    /// The layer; none for what belongs to no layer.
    pub source: Option<SettingsSource>,
    /// The file, or the flag.
    pub name: String,
    pub position: Option<TextPosition>,
    /// What is wrong, and what happens because of it.
    pub what: String,
    pub severity: ProblemSeverity,
}

impl fmt::Display for SettingsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(position) = self.position {
            write!(f, ", {position}")?;
        }
        write!(f, ": {}", self.what)
    }
}
