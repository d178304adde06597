//! Ids, as newtypes so that one cannot be mistaken for another.
//!
//! Numbers are assigned by the engine in ascending order; strings come from outside (a provider for
//! its tool calls, a front end for its session). Nothing here is random.

use alloc::sync::Arc;
use core::fmt;
use serde::{Deserialize, Serialize};

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The id after this one.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Arc<str>);

        impl $name {
            /// The text as received.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

number_id!(
    /// Position of a message in the transcript of its session.
    MessageId, "m");
number_id!(
    /// One request to one model. Events of another attempt than the current one are ignored.
    AttemptId, "a");
number_id!(
    /// One asynchronous task other than a model call or a tool: a hook, a summary, a timer, a
    /// prefetch. The event with its result carries the same ticket.
    Ticket, "t");
text_id!(
    /// One conversation, kept in one journal.
    SessionId);
text_id!(
    /// A tool call, as the provider named it.
    ToolCallId);
text_id!(
    /// The main session or a sub-agent.
    AgentId);

pub(crate) use text_id;

/// The public ids of an answer: readers of transcripts count each pair once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerIds {
    /// The provider's id of the message.
    pub message: Arc<str>,
    /// The provider's id of the request.
    pub request: Arc<str>,
}
