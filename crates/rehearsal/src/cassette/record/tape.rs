//! What is heard of one exchange while it passes, within bounds.
//!
//! Holds everything in memory until the exchange is over, because a secret may be cut in two by any
//! boundary and only the whole can be scrubbed. Does not scrub or write itself.

use std::time::Instant;

use super::summary::NotRecorded;
use crate::cassette::exchange::{Chunk, End, Exchange, Head, Request};
use crate::serve;

/// One exchange as it passes.
pub(super) struct Tape {
    pub(super) number: usize,
    exchange: Exchange,
    began: Instant,
    is_ended: bool,
    /// How much more may be held.
    left: usize,
    /// Why it cannot be recorded, once that is known.
    refused: Option<NotRecorded>,
}

impl Tape {
    /// Begins with the request.
    pub(super) fn new(number: usize, request: &serve::Request, bytes_max: usize) -> Self {
        let mut tape = Self {
            number,
            exchange: Exchange {
                request: Request {
                    method: request.method.clone(),
                    path: request.target.clone(),
                    ..Request::default()
                },
                head: None,
                chunks: Vec::new(),
                end: End::Silent,
                end_millis: 0,
            },
            began: Instant::now(),
            is_ended: false,
            left: bytes_max,
            refused: None,
        };
        if is_compressed(&request.headers) {
            tape.refuse(NotRecorded::Compressed);
        }
        if tape.has_room(request.body.len()) {
            tape.exchange.request.headers = request.headers.clone();
            tape.exchange.request.body = request.body.clone();
        }
        tape
    }

    /// The head of the answer came.
    pub(super) fn head(&mut self, status: u16, headers: &[(String, String)], length: Option<u64>) {
        if is_compressed(headers) {
            self.refuse(NotRecorded::Compressed);
        }
        let millis = self.millis();
        let headers = headers.to_vec();
        self.exchange.head = Some(Head { status, headers, length, millis });
    }

    /// A piece of the answer came.
    pub(super) fn chunk(&mut self, bytes: &[u8]) {
        if self.has_room(bytes.len()) {
            let millis = self.millis();
            self.exchange.chunks.push(Chunk { millis, bytes: bytes.to_vec() });
        }
    }

    /// The answer ended.
    pub(super) fn end(&mut self, end: End) {
        self.exchange.end = end;
        self.exchange.end_millis = self.millis();
        self.is_ended = true;
    }

    /// It is not to be recorded. What was held is let go.
    pub(super) fn refuse(&mut self, why: NotRecorded) {
        self.refused.get_or_insert(why);
        self.exchange.chunks = Vec::new();
        self.exchange.request.body = Vec::new();
        self.left = 0;
    }

    pub(super) fn path(&self) -> &str {
        &self.exchange.request.path
    }

    pub(super) fn method(&self) -> &str {
        &self.exchange.request.method
    }

    /// Nothing more will be heard. An answer that has not ended is one that somebody gave up on.
    pub(super) fn stop(&mut self) {
        if !self.is_ended {
            self.end(End::Silent);
        }
    }

    /// What was heard, or why it is not to be recorded.
    pub(super) fn exchange(self) -> Result<Exchange, NotRecorded> {
        match self.refused {
            Some(why) => Err(why),
            None => Ok(self.exchange),
        }
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        if self.refused.is_some() {
            return false;
        }
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.refuse(NotRecorded::TooLarge),
        }
        self.refused.is_none()
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn is_compressed(headers: &[(String, String)]) -> bool {
    headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("content-encoding")
            && !value.trim().eq_ignore_ascii_case("identity")
    })
}
