//! Options for scrubbing.

use std::fmt;

/// What to scrub, in addition to the defaults.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ScrubOptions {
    /// Known secrets, for example from the environment. Those shorter than eight bytes are ignored.
    pub secrets: Vec<String>,
    /// Values that differ between machines or runs, with names for them: with `("home",
    /// "/home/me")`, `/home/me` is recorded as `<home>`. A name consists of letters, digits, `-`
    /// and `_`. Values shorter than four bytes are ignored.
    pub stand_ins: Vec<(String, String)>,
    /// Also replace e-mail addresses. A replay always compares without them.
    pub emails: bool,
}

impl ScrubOptions {
    #[must_use]
    pub fn with_secret(mut self, value: impl Into<String>) -> Self {
        self.secrets.push(value.into());
        self
    }

    /// Adds a stand-in.
    #[must_use]
    pub fn with_stand_in(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.stand_ins.push((name.into(), value.into()));
        self
    }

    /// Adds the stand-in `<home>` for this directory.
    #[must_use]
    pub fn with_home(self, path: impl Into<String>) -> Self {
        self.with_stand_in("home", path)
    }
}

/// Secrets stay out of test output and logs.
impl fmt::Debug for ScrubOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScrubOptions")
            .field("secrets", &format_args!("({} hidden)", self.secrets.len()))
            .field("stand_ins", &self.stand_ins)
            .field("emails", &self.emails)
            .finish()
    }
}
