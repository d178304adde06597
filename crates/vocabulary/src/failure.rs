//! Why a model call failed, by what the loop must do about it.
//!
//! The loop branches on [`FailureKind`] and [`RecoveryAction`], never on a provider's message.

use alloc::string::String;
use serde::{Deserialize, Serialize};

use crate::id::MessageId;
use crate::time::Millis;

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailure {
    /// The kind of the failure.
    pub kind: FailureKind,
    /// The message of the provider or the network, for display.
    pub message: String,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// How long the server asked us to wait.
    pub retry_after: Option<Millis>,
    /// The provider's request id.
    pub request_id: Option<String>,
    /// The message that the provider rejects, if its error names one.
    pub offender: Option<MessageId>,
}

/// The kinds of failures that the loop distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The prompt does not fit the window, or the body the server's limit.
    PromptTooLong,
    /// Images or documents are too many or too big together.
    MediaTooLarge,
    /// One image cannot be used.
    BadImage,
    /// The model is overloaded.
    Overloaded,
    /// Too many requests or tokens per minute.
    RateLimited,
    /// The server failed (5xx other than overload) or sent an invalid answer.
    ServerFault,
    /// The network failed, the stream was cut, or it fell silent.
    Transport,
    /// There is no such model.
    ModelGone,
    /// The provider calls the request invalid: something in the history breaks its rules.
    InvalidRequest,
    /// Reasoning signed by another model.
    ForeignSignature,
    /// Wrong or missing key.
    Unauthorised,
    /// Out of money or daily quota.
    Quota,
    /// Refused by a policy.
    Refused,
    /// The answer was cut off at the output limit, and all retries are used up.
    OutputLimit,
    /// The request cannot be made (invalid address, TLS, redirect to another host).
    Misconfigured,
}

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RecoveryAction {
    /// Wait and try again.
    Wait,
    /// Send a smaller request.
    Shrink,
    /// Ask another model.
    Switch,
    /// Remove something from the request and retry, once.
    Repair,
    /// Give up: the user must act.
    Stop,
}

impl FailureKind {
    /// What to do about this failure. (An overloaded model first requires a wait; the engine
    /// switches after the third in a row.)
    #[must_use]
    pub fn recovery_action(self) -> RecoveryAction {
        match self {
            Self::PromptTooLong | Self::MediaTooLarge => RecoveryAction::Shrink,
            Self::Overloaded | Self::RateLimited | Self::ServerFault | Self::Transport => {
                RecoveryAction::Wait
            }
            Self::ModelGone => RecoveryAction::Switch,
            Self::BadImage | Self::InvalidRequest | Self::ForeignSignature => {
                RecoveryAction::Repair
            }
            Self::Unauthorised
            | Self::Quota
            | Self::Refused
            | Self::OutputLimit
            | Self::Misconfigured => RecoveryAction::Stop,
        }
    }
}

impl ModelFailure {
    /// A failure of which only the kind and a message are known.
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
            request_id: None,
            offender: None,
        }
    }
}
