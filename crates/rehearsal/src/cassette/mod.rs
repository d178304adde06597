//! Cassettes: real traffic recorded, and played back without the real server.
//!
//! A [`Recorder`] stands between a client and a real server, passes everything on and writes it
//! down, scrubbed. A [`Replay`] answers from a [`Cassette`] byte for byte, but only requests that are
//! the same as the recorded ones: a change of what is sent is refused with the first difference. So
//! a bug that showed up with a real model becomes a test that needs none.
//!
//! All wires work alike, because nothing here knows them. What a file looks like, what is taken out
//! and what is not, is told in `cassettes/README.md` at the root of the repository.
//!
//! ```no_run
//! use windlass_rehearsal::cassette::{Cassette, RecordOptions, Recorder, Replay, ReplayOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = RecordOptions::new("https://models.example.org", "a-bug");
//! let recorder = Recorder::start_blocking(options)?;
//! // … let the client speak to `recorder.url()` …
//! println!("{} exchanges recorded", recorder.finished_blocking().exchanges);
//!
//! let replay = Replay::start_blocking(Cassette::load("a-bug")?, ReplayOptions::default())?;
//! // … let the client speak to `replay.url()` …
//! assert!(replay.finished_blocking().is_exact());
//! # Ok(())
//! # }
//! ```

mod exchange;
mod format;
mod record;
mod replay;
mod scrub;
mod shelf;

pub use exchange::{Chunk, End, Exchange, Head, Request};
pub use record::{NotRecorded, RecordError, RecordOptions, Recorder, Summary, Unrecorded};
pub use replay::{Pace, Replay, ReplayOptions, ReplaySummary};
pub use scrub::ScrubOptions;
pub use shelf::{Cassette, CassetteError};
