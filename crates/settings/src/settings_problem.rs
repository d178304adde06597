//! A problem in a layer: its position, what is wrong, and the consequence.

use std::fmt;

use windlass_config_text::TextPosition;
use windlass_permission::permission_layer::SettingsSource;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemSeverity {
    /// No consequence, but the author of the entry may expect an effect.
    Idle,
    /// The entry is ignored, or a tool asks.
    Entry,
    /// The whole file is ignored, and everything asks.
    File,
}

impl ProblemSeverity {
    /// A name for programs.
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
    /// The layer, if there is one.
    pub source: Option<SettingsSource>,
    /// The file or flag.
    pub name: String,
    pub position: Option<TextPosition>,
    /// What is wrong. For a single entry also what happens because of it.
    pub what: String,
    /// What happens until a broken file is fixed.
    pub until_fixed: Option<&'static str>,
    pub severity: ProblemSeverity,
}

impl SettingsProblem {
    /// What is wrong, and what happens because of it.
    #[must_use]
    pub fn description(&self) -> String {
        match self.until_fixed {
            Some(consequence) => format!("{}; until it is fixed, {consequence}", self.what),
            None => self.what.clone(),
        }
    }
}

impl fmt::Display for SettingsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(position) = self.position {
            write!(f, ", {position}")?;
        }
        write!(f, ": {}", self.description())
    }
}
