//! Replays of a journal for front ends, which hold no settings of the engine: a journal that does not
//! say under which settings it was decided is replayed under ours.

use std::path::Path;
use std::sync::{Arc, Mutex};

use windlass_journal::session_trace::session_moment::{self, SessionMoment};
use windlass_journal::session_trace::{JournalTracer, SessionTrace};
use windlass_journal::{ExplainedStep, JournalError, VerifyReport};
use windlass_vocabulary::ModelRequest;

use super::rewind_point::fallback_settings;

pub fn explain_journal(
    journal: &Path,
    on_step: impl FnMut(ExplainedStep),
) -> Result<(), JournalError> {
    windlass_journal::explain_journal(journal, &fallback_settings(), on_step)
}

pub fn verify_journal(journal: &Path) -> Result<VerifyReport, JournalError> {
    windlass_journal::verify(journal, &fallback_settings())
}

/// The state after this record.
pub fn read_moment(journal: &Path, seq: u64) -> Result<SessionMoment, JournalError> {
    session_moment::read_moment(journal, &fallback_settings(), seq)
}

/// The requests that went out at these records. One that is not there is left out.
pub fn read_requests(
    journal: &Path,
    wanted: &[u64],
) -> Result<Vec<(u64, ModelRequest)>, JournalError> {
    session_moment::read_requests(journal, &fallback_settings(), wanted)
}

/// Replays a journal into `trace`, which others may read meanwhile.
pub fn trace_session(
    journal: &Path,
    trace: &Arc<Mutex<SessionTrace>>,
) -> Result<JournalTracer, JournalError> {
    windlass_journal::session_trace::trace_session(journal, &fallback_settings(), trace)
}
