//! Going back to a message of a session: which record is the last to be kept, and whether what is
//! forgotten is what was meant to be. Nothing is changed here.

use std::path::Path;

use windlass_driver::Settings;
use windlass_journal::transcript::{Traced, trace};

use super::unusable;
use crate::config::model::Model;
use crate::refusal::Refusal;

/// Every message of a session, with its place in the journal.
pub(crate) fn messages(journal: &Path, id: &str) -> Result<Vec<Traced>, Refusal> {
    trace(journal, id, &unsaid()).map_err(|error| unusable(&error))
}

/// Settings for journals that do not say under which they were decided.
pub(crate) fn unsaid() -> Settings {
    Settings::new(Model::default().facts("unknown"))
}

/// The last record to keep, if this message is to be the last.
pub(super) fn behind(
    journal: &Path,
    id: &str,
    last: &str,
    drops: Option<&str>,
) -> Result<u64, Refusal> {
    let messages = messages(journal, id)?;
    let is_meant =
        |traced: &Traced, uuid: &str| traced.uuids.iter().any(|own| own.eq_ignore_ascii_case(uuid));
    let Some(place) = messages.iter().position(|traced| is_meant(traced, last)) else {
        return Err(Refusal::usage(format!(
            "--resume-session-at: there is no message {last} in the session {id}; its transcript \
             names them"
        )));
    };
    let until = messages.get(place).map_or(0, |traced| traced.until);
    let Some(drops) = drops else { return Ok(until) };
    let dropped: Vec<&Traced> = messages.iter().filter(|traced| traced.record > until).collect();
    let rejected = |why: &str| {
        let words = "Resume rejected by --resume-drops-turn:";
        Err(Refusal::failed(format!("{words} {why}; resume without dropping anything")))
    };
    match dropped.split_first() {
        None => rejected("nothing is behind that message"),
        Some((first, _)) if !is_meant(first, drops) => {
            rejected(&format!("what is behind that message does not begin with the prompt {drops}"))
        }
        Some((_, rest)) if rest.iter().any(|traced| traced.is_prompt) => {
            rejected(&format!("there is more behind that message than the turn of {drops}"))
        }
        Some(_) => Ok(until),
    }
}
