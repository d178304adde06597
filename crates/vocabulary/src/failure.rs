//! Why a model call failed, sorted by what the failure demands of the loop.
//!
//! The loop branches on [`FailureKind`] and [`RecoveryAction`], never on a provider's words.

use alloc::string::String;
use serde::{Deserialize, Serialize};

use crate::id::MessageId;
use crate::time::Millis;

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailure {
    /// What went wrong.
    pub kind: FailureKind,
    /// The provider's or the network's own words, for people.
    pub message: String,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// How long the server asked us to wait.
    pub retry_after: Option<Millis>,
    /// The provider's name for the request.
    pub request_id: Option<String>,
    /// The message the provider objects to, where its words name one.
    pub offender: Option<MessageId>,
}

/// The few categories the loop can act on.
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
    /// The server failed (5xx other than overload) or answered nonsense.
    ServerFault,
    /// The network failed, the stream was cut, or it fell silent.
    Transport,
    /// There is no such model.
    ModelGone,
    /// The provider calls the request invalid: something in the history breaks its rules.
    InvalidRequest,
    /// Reasoning signed by someone else.
    ForeignSignature,
    /// Wrong or missing key.
    Unauthorised,
    /// Out of money or daily quota.
    Quota,
    /// Refused as a matter of policy.
    Refused,
    /// The answer was cut at the output limit and every resume is spent.
    OutputLimit,
    /// The client itself cannot make this request (bad address, TLS, redirect to another host).
    Misconfigured,
}

/// What a failure demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RecoveryAction {
    /// Wait and try again.
    Wait,
    /// Send less.
    Shrink,
    /// Ask another model.
    Switch,
    /// Take something out of the request and try again, once.
    Repair,
    /// Give up: a person must act.
    Stop,
}

impl FailureKind {
    /// What this failure demands. (An overloaded model demands a wait first; the third in a row
    /// is a switch, which the engine counts.)
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
    /// A failure with nothing known but its kind and some words.
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
