//! One request and what came back, as it is kept: values only, no file and no socket.

/// One request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedExchange {
    pub request: RecordedRequest,
    /// The beginning of the answer; `None` if the connection ended before it.
    pub head: Option<RecordedResponseHead>,
    /// The body of the answer, in the pieces it came in.
    pub chunks: Vec<RecordedChunk>,
    pub end: ExchangeEnd,
    /// When it ended, counted from the request.
    pub end_millis: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedRequest {
    /// For example `POST`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// A few headers that tell requests apart; names in lower case. Never a credential.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// The beginning of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedResponseHead {
    pub status: u16,
    /// Names in lower case. Those that frame the body are not among them.
    pub headers: Vec<(String, String)>,
    /// How long the body was said to be, if it was said.
    pub length: Option<u64>,
    /// When it came, counted from the request.
    pub millis: u64,
}

/// A piece of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedChunk {
    /// When it came, counted from the request.
    pub millis: u64,
    /// Its bytes; never none.
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeEnd {
    Complete,
    /// The connection was closed before that.
    Cut,
    /// The connection was reset before that.
    Reset,
    /// It had not ended when the client left or patience ran out.
    Unfinished,
}

impl ExchangeEnd {
    pub const ALL: [Self; 4] = [Self::Complete, Self::Cut, Self::Reset, Self::Unfinished];

    /// The word for it in a file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Cut => "cut",
            Self::Reset => "reset",
            Self::Unfinished => "silent",
        }
    }
}

impl RecordedExchange {
    /// The whole body of the answer.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        self.chunks.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect()
    }

    /// Has this answer no body, whatever its headers say?
    pub(crate) fn is_bodiless(&self) -> bool {
        let status = self.head.as_ref().map_or(200, |head| head.status);
        has_no_body(&self.request.method, status)
    }
}

/// HTTP forbids a body here.
pub(crate) fn has_no_body(method: &str, status: u16) -> bool {
    method == "HEAD" || status < 200 || matches!(status, 204 | 304)
}
