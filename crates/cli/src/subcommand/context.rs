//! `windlass context`: what filled the window of a session when its last run ended. Read off the
//! journal; nothing is replayed and no model is asked.

use std::path::Path;

use windlass_journal::{Item, Note, Reader};
use windlass_vocabulary::inventory::Inventory;

use super::sessions::one;
use crate::args::OneArgs;
use crate::environment::Lookup;
use crate::front::window;
use crate::refusal::Refusal;
use crate::session::unusable;

/// What to print.
pub(crate) fn run(args: &OneArgs, lookup: &impl Lookup) -> Result<String, Refusal> {
    let listed = one(args.session.as_deref(), lookup)?;
    let id = &listed.card.id;
    let inventory = last(&listed.path)?.ok_or_else(|| {
        Refusal::failed(format!(
            "no run of the session {id} has ended yet; ask it instead: windlass -p \"/context\" -r \
             {id}"
        ))
    })?;
    Ok(match args.json {
        true => format!("{}\n", window::object(id, &inventory)),
        false => format!("Session {id}\n{}", window::drawn(&inventory)),
    })
}

fn last(journal: &Path) -> Result<Option<Box<Inventory>>, Refusal> {
    let mut reader = Reader::open(journal).map_err(|error| unusable(&error))?;
    let mut last = None;
    while let Some(record) = reader.next_record().map_err(|error| unusable(&error))? {
        if let Item::Note(Note::Context(inventory)) = record.item {
            last = Some(inventory);
        }
    }
    Ok(last)
}
