//! Faults of an answer.
//!
//! A fault belongs to one answer and is used up with it. Events are counted on the wire, starting
//! with 1; bytes are those of the event stream, without HTTP framing.

use std::time::Duration;

/// One thing that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptedFault {
    Refuse {
        status: u16,
        /// Extra headers, for example `retry-after`.
        headers: Vec<(String, String)>,
        /// The body; without it, the provider's usual error object for this status.
        body: Option<String>,
    },
    /// Closes the connection after this many events; 0 is after the HTTP head. If there are fewer
    /// events: after the last one, but before HTTP marks the end of the answer.
    CutAfterEvent {
        events: usize,
        /// With a TCP reset, which may discard data the client has not read yet.
        reset: bool,
    },
    /// Closes the connection after this many bytes of the event stream.
    CutAfterByte {
        /// Bytes sent.
        bytes: usize,
        /// With a TCP reset, which may discard data the client has not read yet.
        reset: bool,
    },
    /// Sends nothing after this many events, with the connection open, for ten minutes at most.
    StallAfterEvent {
        events: usize,
        /// Except a keep-alive event at this interval.
        ping: Option<Duration>,
    },
    /// This event's JSON is cut off in the middle; later events are valid.
    MalformedAtEvent {
        /// The number of the event, counted from 1.
        event: usize,
    },
    /// An error inside the stream, after HTTP status 200.
    ErrorEvent {
        /// The provider's name for the error, for example `overloaded_error`.
        kind: String,
        message: String,
        /// Whole events sent before it.
        after_event: usize,
        /// Leave the connection open and silent instead of ending the answer.
        hold_open: bool,
    },
    /// Closes the connection without an answer.
    DropConnection { reset: bool },
    /// Sends each byte of the event stream separately, with this pause before it.
    Slow { per_byte: Duration },
    /// A web page instead of a model's answer.
    Html {
        /// HTTP status, usually 200.
        status: u16,
    },
    /// An answer that claims to be compressed but is not.
    BrokenGzip,
}

impl ScriptedFault {
    /// An error with a status and the provider's usual error object.
    #[must_use]
    pub fn refuse(status: u16) -> Self {
        Self::Refuse { status, headers: Vec::new(), body: None }
    }

    /// An error with a `retry-after` header.
    #[must_use]
    pub fn refuse_for(status: u16, retry_after_seconds: u64) -> Self {
        let header = ("retry-after".to_owned(), retry_after_seconds.to_string());
        Self::Refuse { status, headers: vec![header], body: None }
    }

    /// An error with a custom body.
    #[must_use]
    pub fn refuse_with(status: u16, body: impl Into<String>) -> Self {
        Self::Refuse { status, headers: Vec::new(), body: Some(body.into()) }
    }

    /// The connection is closed in order, not reset.
    #[must_use]
    pub fn cut_after_event(events: usize) -> Self {
        Self::CutAfterEvent { events, reset: false }
    }

    /// The connection is closed in order, not reset.
    #[must_use]
    pub fn cut_after_byte(bytes: usize) -> Self {
        Self::CutAfterByte { bytes, reset: false }
    }

    /// Sends nothing after this many events.
    #[must_use]
    pub fn stall_after_event(events: usize) -> Self {
        Self::StallAfterEvent { events, ping: None }
    }

    /// An error event after this many events, then the end of the answer.
    #[must_use]
    pub fn error_event(kind: impl Into<String>, after_event: usize) -> Self {
        let kind = kind.into();
        let message = format!("rehearsed {kind}");
        Self::ErrorEvent { kind, message, after_event, hold_open: false }
    }

    /// Does this fault replace the whole answer?
    #[must_use]
    pub(crate) fn replaces_answer(&self) -> bool {
        matches!(
            self,
            Self::Refuse { .. }
                | Self::DropConnection { .. }
                | Self::Html { .. }
                | Self::BrokenGzip
        )
    }
}
