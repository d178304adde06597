//! The colours of styles. Only the terminal's own sixteen are used, so that the user's palette decides;
//! except for the faint ground of changed words, which the sixteen do not have.

use crate::styled_line::TextStyle;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    #[default]
    Dark,
    Light,
    /// No colours: bold, dim, italic and underline only.
    Plain,
}

impl Theme {
    /// Empty if the style looks like plain text.
    pub fn start_sequence(self, style: TextStyle) -> &'static str {
        if self == Self::Plain {
            return match style {
                TextStyle::Bold | TextStyle::Heading | TextStyle::Warning | TextStyle::Failure => {
                    "\x1b[1m"
                }
                TextStyle::NeedsPermission => "\x1b[1;4m",
                TextStyle::Selected => "\x1b[7m",
                TextStyle::AddedWord => "\x1b[1;4m",
                TextStyle::RemovedWord => "\x1b[1;9m",
                TextStyle::Dim => "\x1b[2m",
                TextStyle::Italic => "\x1b[3m",
                TextStyle::Link => "\x1b[4m",
                TextStyle::Plain
                | TextStyle::Code
                | TextStyle::User
                | TextStyle::Busy
                | TextStyle::Success => "",
            };
        }
        let is_light = self == Self::Light;
        match style {
            TextStyle::Plain => "",
            TextStyle::Dim => "\x1b[2m",
            TextStyle::Bold => "\x1b[1m",
            TextStyle::Italic => "\x1b[3m",
            TextStyle::Heading if is_light => "\x1b[1;34m",
            TextStyle::Heading => "\x1b[1;36m",
            TextStyle::Code if is_light => "\x1b[35m",
            TextStyle::Code => "\x1b[33m",
            TextStyle::Link => "\x1b[4;34m",
            TextStyle::User if is_light => "\x1b[1;34m",
            TextStyle::User => "\x1b[1;36m",
            TextStyle::Busy => "\x1b[36m",
            TextStyle::Success => "\x1b[32m",
            TextStyle::Failure => "\x1b[31m",
            TextStyle::AddedWord if is_light => "\x1b[30;48;5;157m",
            TextStyle::AddedWord => "\x1b[97;48;5;22m",
            TextStyle::RemovedWord if is_light => "\x1b[30;48;5;224m",
            TextStyle::RemovedWord => "\x1b[97;48;5;52m",
            TextStyle::Warning if is_light => "\x1b[35m",
            TextStyle::Warning => "\x1b[33m",
            TextStyle::NeedsPermission if is_light => "\x1b[1;4;35m",
            TextStyle::NeedsPermission => "\x1b[1;4;33m",
            TextStyle::Selected => "\x1b[7m",
        }
    }
}
