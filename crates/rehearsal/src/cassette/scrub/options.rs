//! What a user may ask to have taken out.

use std::fmt;

/// What to take out besides what is always taken out.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ScrubOptions {
    /// Secrets that are known beforehand, for example from the environment. Those of fewer than
    /// eight bytes are left alone.
    pub secrets: Vec<String>,
    /// Values that differ from machine to machine or from day to day, and the names that stand for
    /// them: with `("home", "/home/me")`, `/home/me` is recorded as `<home>`. A name has letters,
    /// digits, `-` and `_`. Values of fewer than four bytes are left alone.
    pub stand_ins: Vec<(String, String)>,
    /// Also take out e-mail addresses. A replay always compares without them.
    pub emails: bool,
}

impl ScrubOptions {
    #[must_use]
    pub fn with_secret(mut self, value: impl Into<String>) -> Self {
        self.secrets.push(value.into());
        self
    }

    /// With a name that stands for a value.
    #[must_use]
    pub fn with_stand_in(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.stand_ins.push((name.into(), value.into()));
        self
    }

    /// With `<home>` for this directory.
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
