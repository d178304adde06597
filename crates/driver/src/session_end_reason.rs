//! Why a session ends, in the names of the hook configuration.

/// Why a session ends, as hooks receive it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionEndReason {
    /// The conversation was cleared and another one begins.
    Clear,
    /// Another session is resumed in its place.
    Resume,
    /// The user logs out.
    Logout,
    /// The user left the prompt.
    PromptInputExit,
    /// Anything else.
    #[default]
    Other,
}

impl SessionEndReason {
    /// Every reason, in the order of the enum.
    pub const ALL: &'static [Self] =
        &[Self::Clear, Self::Resume, Self::Logout, Self::PromptInputExit, Self::Other];

    /// Its name in configuration and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Resume => "resume",
            Self::Logout => "logout",
            Self::PromptInputExit => "prompt_input_exit",
            Self::Other => "other",
        }
    }
}
