//! What may go wrong with an answer.
//!
//! A fault belongs to one answer and is used up with it. Events are counted as they are on the
//! wire, the first is number 1; bytes are those of the event stream, without HTTP's own.

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
    /// Cuts the connection after this many whole events; 0 is after the HTTP head. More than
    /// there are: after the last event, but before HTTP says that the answer is complete.
    CutAfterEvent {
        events: usize,
        /// With a TCP reset, which may destroy what the client has not read yet.
        reset: bool,
    },
    /// Cuts the connection after this many bytes of the event stream.
    CutAfterByte {
        /// Bytes sent.
        bytes: usize,
        /// With a TCP reset, which may destroy what the client has not read yet.
        reset: bool,
    },
    /// Falls silent after this many events, with the connection open, for ten minutes at most.
    StallAfterEvent {
        events: usize,
        /// Not quite silent: a sign of life this often, and nothing else.
        ping: Option<Duration>,
    },
    /// This event's JSON breaks off in the middle; the events after it are sound.
    MalformedAtEvent {
        /// Which event; 1 is the first.
        event: usize,
    },
    /// An error inside the stream, after HTTP status 200.
    ErrorEvent {
        /// The provider's name for the error, for example `overloaded_error`.
        kind: String,
        message: String,
        /// Whole events sent before it.
        after_event: usize,
        /// Leave the connection open and silent afterwards, instead of ending the answer.
        hold_open: bool,
    },
    /// Closes the connection without a single byte of answer.
    DropConnection { reset: bool },
    /// Every byte of the event stream comes alone, with this pause before it.
    Slow { per_byte: Duration },
    /// A web page where a model's answer should be.
    Html {
        /// HTTP status, usually 200.
        status: u16,
    },
    /// An answer that says it is compressed and is not.
    BrokenGzip,
}

impl ScriptedFault {
    /// Refuses with a status and the provider's usual error object.
    #[must_use]
    pub fn refuse(status: u16) -> Self {
        Self::Refuse { status, headers: Vec::new(), body: None }
    }

    /// Refuses, and asks to be left alone for some seconds.
    #[must_use]
    pub fn refuse_for(status: u16, retry_after_seconds: u64) -> Self {
        let header = ("retry-after".to_owned(), retry_after_seconds.to_string());
        Self::Refuse { status, headers: vec![header], body: None }
    }

    /// Refuses with a body of one's own.
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

    /// Falls silent after this many events.
    #[must_use]
    pub fn stall_after_event(events: usize) -> Self {
        Self::StallAfterEvent { events, ping: None }
    }

    /// An error event after this many events, and then the end of the answer.
    #[must_use]
    pub fn error_event(kind: impl Into<String>, after_event: usize) -> Self {
        let kind = kind.into();
        let message = format!("rehearsed {kind}");
        Self::ErrorEvent { kind, message, after_event, hold_open: false }
    }

    /// Is this a fault that leaves no room for anything the answer says?
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
