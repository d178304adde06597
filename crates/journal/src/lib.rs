//! Append-only record of a session: enough to resume it and to replay it.
//!
//! One file, one line for what is appended at once, written before the effects of its events are
//! performed. State is nothing but the events folded through the engine, so what is on disk is the
//! whole truth and there is no second copy to disagree with it. Reading order: [`record`],
//! [`writer`], [`reader`], [`mod@fold`]; then what is made of journals: [`catalogue`], [`account`],
//! [`transcript`], and beside them [`kept`]. [`store`] is the door behind which another kind of
//! keeping can take the place of files.
//!
//! Files are never rewritten. A last line without its end was torn by a crash and is dropped; a
//! damaged line further up is skipped and reported, and what stands behind it is taken in; a format
//! newer than ours is refused untouched.

pub mod account;
pub mod catalogue;
pub mod clock;
mod digest;
pub mod disk;
pub mod error;
pub mod flush;
pub mod fold;
pub mod kept;
mod lines;
pub mod place;
pub mod reader;
mod realign;
pub mod record;
pub mod rewind;
pub mod scrub;
mod segment;
pub mod spoken;
pub mod store;
pub mod transcript;
pub mod verify;
pub mod walk;
pub mod writer;

pub use account::{Account, Booked, Totals};
pub use catalogue::{Card, Catalogue, LastRun, Listed, is_held, last_run};
pub use error::{JournalError, Remedy};
pub use flush::Flusher;
pub use fold::{Folded, Replayed, fold, is_unfinished, replay};
pub use kept::{Kept, KeptLimits};
pub use reader::{Entry, Reader};
pub use record::{Claim, Damage, Head, Holder, Intent, Item, NewItem, Note, Record, Row};
pub use rewind::{Held, hold, rewind, rewind_held};
pub use scrub::scrub;
pub use store::{Claimed, Files, Store};
pub use transcript::{Transcriber, TranscriptFile};
pub use verify::{Verified, verify};
pub use walk::{Walked, walk};
pub use writer::{Durability, Opening, Writer};
