//! Whether more is to come, for clients that decide by it when to close our standard input.

use super::frame::{Frame, Subtype};
use super::narrator::system;

/// Tells the state when it changes, to those who asked for it.
#[derive(Debug)]
pub(crate) struct Told {
    wish: Option<Wish>,
    last: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// For everybody.
    Open,
    /// For the SDK alone.
    Host,
}

impl Told {
    /// As the environment wishes.
    pub(crate) fn new(lookup: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let is_on = |name: &str| {
            lookup(name).is_some_and(|value| {
                let value = value.to_string_lossy().to_ascii_lowercase();
                !matches!(value.as_str(), "" | "0" | "false" | "no" | "off")
            })
        };
        let wish = if is_on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") {
            Some(Wish::Open)
        } else if is_on("CLAUDE_CODE_SDK_READS_SESSION_STATE") {
            Some(Wish::Host)
        } else {
            None
        };
        Self { wish, last: None }
    }

    /// The state is this now.
    pub(crate) fn is(&mut self, state: &'static str) -> Option<Frame> {
        let wish = self.wish?;
        if self.last == Some(state) {
            return None;
        }
        self.last = Some(state);
        let sdk_host_only = wish == Wish::Host;
        Some(system(Subtype::SessionStateChanged { state, sdk_host_only }))
    }
}
