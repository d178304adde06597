//! Append-only journal of a session: enough to resume and to replay it.
//!
//! A journal is one file. Records that are appended together form one line, written before the
//! effects of their events are performed. State is nothing but the events replayed through the
//! engine, so there is no second copy that could disagree with the file. Reading order: [`record`],
//! [`journal_writer`], [`journal_reader`], [`mod@fold`]; then what is derived from journals:
//! [`session_catalogue`], [`cost_report`], [`transcript`]; and [`snapshot_store`] for the previous
//! content of files that tools changed. [`store`] is the trait for storage other than files.
//!
//! Files are never rewritten. A last line without its end was cut off by a crash and is dropped; a
//! damaged line before it is skipped and reported, and the lines after it are used; a newer format
//! is refused and left unchanged.

pub mod conversation;
pub mod conversation_extras;
pub mod cost_report;
mod digest;
pub mod disk;
pub mod durability;
pub mod error;
pub mod explain;
pub mod flusher;
pub mod fold;
pub mod journal_lock;
pub mod journal_open_options;
pub mod journal_reader;
pub mod journal_writer;
mod line_reader;
pub mod project_key;
mod realigner;
pub mod record;
pub mod rescue;
pub mod rewind;
pub mod scrub;
mod segment;
pub mod session_catalogue;
pub mod session_facts;
pub mod session_trace;
pub mod shared_budget;
pub mod snapshot_store;
pub mod store;
pub mod transcript;
mod variant_names;
pub mod verify;

pub use cost_report::{BilledRequest, CostReport, CostTotals};
pub use durability::Durability;
pub use error::{DiskRemedy, JournalError};
pub use explain::{ExplainedStep, explain_journal};
pub use flusher::Flusher;
pub use fold::{FoldedJournal, ReplayStep, fold, has_unfinished_run, replay};
pub use journal_lock::{LockedJournal, lock_journal};
pub use journal_open_options::JournalOpenOptions;
pub use journal_reader::{JournalEntry, JournalReader, LinePlace};
pub use journal_writer::JournalWriter;
pub use record::{
    BilledRow, ClaimHolder, JournalHead, JournalNote, JournalRecord, LineDamage, NewRecordItem,
    RecordItem, RunEndedNote, ToolIntent, WriterClaim,
};
pub use rescue::{KnownConversation, RescuedSession, rescue_session};
pub use rewind::{is_rewound, rewind, rewind_locked};
pub use scrub::scrub;
pub use segment::find_journal_files;
pub use session_catalogue::{
    LastRun, ListedSession, SessionCatalogue, SessionSummary, SessionTrash, TrashedSession,
    is_being_written, read_last_run,
};
pub use session_facts::{SessionFacts, read_session_facts};
pub use session_trace::{JournalTracer, SessionTrace, trace_session};
pub use shared_budget::{BudgetClaimOutcome, BudgetShare, SharedBudgetFile};
pub use snapshot_store::{SnapshotLimits, SnapshotStore};
pub use store::{ClaimedSession, FileJournalStore, JournalStore};
pub use transcript::{Transcriber, TranscriptFile};
pub use verify::{VerifyReport, verify};
