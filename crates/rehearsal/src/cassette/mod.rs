//! Cassettes: real traffic recorded, to be played back without the real server.
//!
//! What a file looks like is told in `cassettes/README.md` at the root of the repository.

mod exchange;
mod format;
mod record;
mod scrub;
mod shelf;

pub use exchange::{Chunk, End, Exchange, Head, Request};
pub use record::{NotRecorded, RecordError, RecordOptions, Recorder, Summary, Unrecorded};
pub use scrub::ScrubOptions;
pub use shelf::{Cassette, CassetteError};
