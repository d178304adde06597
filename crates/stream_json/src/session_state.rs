//! Whether more is to come, for clients that decide by it when to close our standard input.

use super::frame::{OutgoingFrame, SystemSubtype};
use super::notice_to_frame::build_system_frame;

/// Tells the state when it changes, to those who asked for it.
#[derive(Debug)]
pub(crate) struct SessionStateReporter {
    audience: Option<StateAudience>,
    last: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StateAudience {
    /// For everybody.
    Everyone,
    /// For the SDK alone.
    SdkHost,
}

impl SessionStateReporter {
    /// As the environment wishes.
    pub(crate) fn new(lookup: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let is_on = |name: &str| {
            lookup(name).is_some_and(|value| {
                let value = value.to_string_lossy().to_ascii_lowercase();
                !matches!(value.as_str(), "" | "0" | "false" | "no" | "off")
            })
        };
        let audience = if is_on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") {
            Some(StateAudience::Everyone)
        } else if is_on("CLAUDE_CODE_SDK_READS_SESSION_STATE") {
            Some(StateAudience::SdkHost)
        } else {
            None
        };
        Self { audience, last: None }
    }

    /// The state is this now.
    pub(crate) fn update(&mut self, state: &'static str) -> Option<OutgoingFrame> {
        let wish = self.audience?;
        if self.last == Some(state) {
            return None;
        }
        self.last = Some(state);
        let sdk_host_only = wish == StateAudience::SdkHost;
        Some(build_system_frame(SystemSubtype::SessionStateChanged { state, sdk_host_only }))
    }
}
