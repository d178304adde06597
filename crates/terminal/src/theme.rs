//! Which colours a role has. Only the terminal's own sixteen, so that a person's palette decides.

use crate::line::Role;

/// How things look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// On a dark ground.
    #[default]
    Dark,
    /// On a light ground.
    Light,
    /// Without colours: weight and slant alone.
    Plain,
}

impl Theme {
    /// The sequence that begins a role; nothing for plain words.
    #[must_use]
    pub fn begin(self, role: Role) -> &'static str {
        if self == Self::Plain {
            return match role {
                Role::Strong | Role::Heading | Role::Warning | Role::Bad => "\x1b[1m",
                Role::Asked => "\x1b[1;4m",
                Role::Chosen => "\x1b[7m",
                Role::GoodWord => "\x1b[1;4m",
                Role::BadWord => "\x1b[1;9m",
                Role::Quiet => "\x1b[2m",
                Role::Slanted => "\x1b[3m",
                Role::Link => "\x1b[4m",
                _ => "",
            };
        }
        let is_light = self == Self::Light;
        match role {
            Role::Plain => "",
            Role::Quiet => "\x1b[2m",
            Role::Strong => "\x1b[1m",
            Role::Slanted => "\x1b[3m",
            Role::Heading if is_light => "\x1b[1;34m",
            Role::Heading => "\x1b[1;36m",
            Role::Code if is_light => "\x1b[35m",
            Role::Code => "\x1b[33m",
            Role::Link => "\x1b[4;34m",
            Role::User if is_light => "\x1b[1;34m",
            Role::User => "\x1b[1;36m",
            Role::Busy => "\x1b[36m",
            Role::Good => "\x1b[32m",
            Role::Bad => "\x1b[31m",
            Role::GoodWord => "\x1b[1;7;32m",
            Role::BadWord => "\x1b[1;7;31m",
            Role::Warning if is_light => "\x1b[35m",
            Role::Warning => "\x1b[33m",
            Role::Asked if is_light => "\x1b[1;4;35m",
            Role::Asked => "\x1b[1;4;33m",
            Role::Chosen => "\x1b[7m",
        }
    }
}
