//! Hook events by their public names, and what a hook may do at each.

use std::time::Duration;

use windlass_vocabulary::HookPoint;

macro_rules! events {
    ($($name:ident,)+) => {
        /// The event of a hook. The names are those of the configuration.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the names are the configuration's own")]
        pub enum HookEvent { $($name,)+ }

        impl HookEvent {
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }
        }
    };
}

events!(
    SessionStart,
    Setup,
    UserPromptSubmit,
    UserPromptExpansion,
    PreToolUse,
    PermissionRequest,
    PermissionDenied,
    PostToolUse,
    PostToolUseFailure,
    PostToolBatch,
    Notification,
    SubagentStart,
    SubagentStop,
    Stop,
    StopFailure,
    PreCompact,
    PostCompact,
    SessionEnd,
    TaskCreated,
    TaskCompleted,
    TeammateIdle,
    ConfigChange,
    CwdChanged,
    DirectoryAdded,
    FileChanged,
    InstructionsLoaded,
    WorktreeCreate,
    WorktreeRemove,
    Elicitation,
    ElicitationResult,
    MessageDisplay,
    PreModelSwitch,
    PostModelSwitch,
);

impl HookEvent {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.name() == name)
    }

    /// Does Windlass have this event? Hooks for others are parsed but never run.
    #[must_use]
    pub fn is_supported(self) -> bool {
        matches!(
            self,
            Self::SessionStart
                | Self::UserPromptSubmit
                | Self::UserPromptExpansion
                | Self::PreToolUse
                | Self::PermissionRequest
                | Self::PostToolUse
                | Self::PostToolUseFailure
                | Self::PostToolBatch
                | Self::Notification
                | Self::SubagentStart
                | Self::SubagentStop
                | Self::Stop
                | Self::StopFailure
                | Self::PreCompact
                | Self::PostCompact
                | Self::SessionEnd
                | Self::TaskCreated
                | Self::TaskCompleted
                | Self::TeammateIdle
                | Self::Elicitation
                | Self::ElicitationResult
                | Self::ConfigChange
        )
    }

    /// Is it about one call, so that `if` may contain a permission rule?
    #[must_use]
    pub fn is_about_tool_call(self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PermissionRequest
                | Self::PermissionDenied
                | Self::PostToolUse
                | Self::PostToolUseFailure
        )
    }

    pub(crate) fn has_matcher_target(self) -> bool {
        !matches!(
            self,
            Self::UserPromptSubmit
                | Self::PostToolBatch
                | Self::Stop
                | Self::TaskCreated
                | Self::TaskCompleted
                | Self::TeammateIdle
                | Self::WorktreeCreate
                | Self::WorktreeRemove
                | Self::MessageDisplay
                | Self::PreModelSwitch
                | Self::PostModelSwitch
        )
    }

    /// Can a hook block, with exit code 2 or by its decision?
    #[must_use]
    pub(crate) fn can_block(self) -> bool {
        matches!(
            self,
            Self::UserPromptSubmit
                | Self::UserPromptExpansion
                | Self::PreToolUse
                | Self::PostToolUse
                | Self::PostToolUseFailure
                | Self::PostToolBatch
                | Self::Stop
                | Self::SubagentStop
                | Self::PreCompact
                | Self::TaskCreated
                | Self::TaskCompleted
                | Self::TeammateIdle
                | Self::ConfigChange
                | Self::Elicitation
                | Self::ElicitationResult
                | Self::PreModelSwitch
        )
    }

    /// Does output that is not JSON go to the model?
    pub(crate) fn accepts_plain_text(self) -> bool {
        matches!(self, Self::SessionStart | Self::UserPromptSubmit | Self::UserPromptExpansion)
    }

    /// The timeout of a hook without a configured one.
    pub(crate) fn default_timeout(self) -> Duration {
        match self {
            Self::UserPromptSubmit => Duration::from_secs(30),
            Self::MessageDisplay => Duration::from_secs(10),
            Self::SessionEnd => Self::SESSION_END_TIMEOUT,
            Self::SessionStart
            | Self::Setup
            | Self::UserPromptExpansion
            | Self::PreToolUse
            | Self::PermissionRequest
            | Self::PermissionDenied
            | Self::PostToolUse
            | Self::PostToolUseFailure
            | Self::PostToolBatch
            | Self::Notification
            | Self::SubagentStart
            | Self::SubagentStop
            | Self::Stop
            | Self::StopFailure
            | Self::PreCompact
            | Self::PostCompact
            | Self::TaskCreated
            | Self::TaskCompleted
            | Self::TeammateIdle
            | Self::ConfigChange
            | Self::CwdChanged
            | Self::DirectoryAdded
            | Self::FileChanged
            | Self::InstructionsLoaded
            | Self::WorktreeCreate
            | Self::WorktreeRemove
            | Self::Elicitation
            | Self::ElicitationResult
            | Self::PreModelSwitch
            | Self::PostModelSwitch => Duration::from_secs(600),
        }
    }

    /// Shared by all session end hooks.
    pub const SESSION_END_TIMEOUT: Duration = Duration::from_millis(1_500);
}

impl From<HookPoint> for HookEvent {
    fn from(point: HookPoint) -> Self {
        match point {
            HookPoint::PreToolUse => Self::PreToolUse,
            HookPoint::PostToolUse => Self::PostToolUse,
            HookPoint::PostToolUseFailure => Self::PostToolUseFailure,
            HookPoint::PostToolBatch => Self::PostToolBatch,
            HookPoint::Stop => Self::Stop,
            HookPoint::SubagentStop => Self::SubagentStop,
            HookPoint::StopFailure => Self::StopFailure,
            HookPoint::PreCompact => Self::PreCompact,
            HookPoint::PostCompact => Self::PostCompact,
        }
    }
}
