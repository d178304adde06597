//! Cassettes: recorded traffic, played back without the real server.
//!
//! A [`Recorder`] is a proxy between a client and a real server that records the scrubbed traffic.
//! A [`Replay`] answers from a [`Cassette`] byte for byte, but only requests that equal the
//! recorded ones: another request is rejected with the first difference. So a bug that appeared
//! with a real model becomes a test that needs none.
//!
//! Independent of the wire. `cassettes/README.md` at the root of the repository describes the
//! format, and what is and is not scrubbed.
//!
//! ```no_run
//! use windlass_rehearsal::cassette::{Cassette, RecordOptions, Recorder, Replay, ReplayOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = RecordOptions::new("https://models.example.org", "a-bug");
//! let recorder = Recorder::start_blocking(options)?;
//! // … let the client speak to `recorder.url()` …
//! println!("{} exchanges recorded", recorder.finish_blocking().exchanges);
//!
//! let replay = Replay::start_blocking(Cassette::load("a-bug")?, ReplayOptions::default())?;
//! // … let the client speak to `replay.url()` …
//! assert!(replay.finish_blocking().is_exact());
//! # Ok(())
//! # }
//! ```

mod cassette_file;
mod exchange;
mod format;
mod record;
mod replay;
mod scrub;

pub use cassette_file::{Cassette, CassetteError};
pub use exchange::{
    ExchangeEnd, RecordedChunk, RecordedExchange, RecordedRequest, RecordedResponseHead,
};
pub use record::{
    RecordError, RecordOptions, RecordSummary, Recorder, UnrecordedExchange, UnrecordedReason,
};
pub use replay::{Replay, ReplayOptions, ReplayPace, ReplaySummary};
pub use scrub::ScrubOptions;
