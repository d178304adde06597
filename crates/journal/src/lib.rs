//! Append-only record of a session: enough to resume it and to replay it.
//!
//! One file, one record a line, written before the effects of its event are performed. State is
//! nothing but the records folded through the engine, so what is on disk is the whole truth and
//! there is no second copy to disagree with it. Reading order: [`record`], [`writer`], [`reader`],
//! [`mod@fold`].
//!
//! Files are never rewritten. A last line without its end was torn by a crash and is dropped; a
//! damaged line further up is skipped and reported; a format newer than ours is refused untouched.
//! Listing and searching sessions, segments and payloads by reference are not here yet.

pub mod error;
pub mod fold;
pub mod reader;
pub mod record;
pub mod writer;

pub use error::JournalError;
pub use fold::{Folded, fold};
pub use reader::Reader;
pub use record::{Damage, Record};
pub use writer::{Durability, Writer};
