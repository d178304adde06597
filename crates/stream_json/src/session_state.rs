//! Whether more is to come, for clients that decide by it when to close our standard input.

use crate::frame::{OutgoingFrame, SystemSubtype};
use crate::notice_to_frame::build_system_frame;

/// Reports the state when it changes, if the environment asks for it.
#[derive(Debug)]
pub(crate) struct SessionStateReporter {
    audience: Option<StateAudience>,
    last: Option<SessionState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionState {
    Idle,
    Running,
    RequiresAction,
}

impl SessionState {
    fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::RequiresAction => "requires_action",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StateAudience {
    Everyone,
    /// The SDK, not its caller.
    SdkHost,
}

impl SessionStateReporter {
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

    pub(crate) fn update(&mut self, state: SessionState) -> Option<OutgoingFrame> {
        let audience = self.audience?;
        if self.last == Some(state) {
            return None;
        }
        self.last = Some(state);
        let sdk_host_only = audience == StateAudience::SdkHost;
        Some(build_system_frame(SystemSubtype::SessionStateChanged {
            state: state.name(),
            sdk_host_only,
        }))
    }
}
