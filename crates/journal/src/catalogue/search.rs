//! Which sessions say something, whatever the case of its letters.

use std::path::Path;

use memchr::memmem;

use super::{Card, Catalogue, Listed};
use crate::error::JournalError;
use crate::reader::Reader;
use crate::spoken::{Speech, Spoken};

/// A place where it is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The session.
    pub listed: Listed,
    /// What is said there, with a little around it.
    pub excerpt: String,
    /// The whole of it, and by whom.
    pub spoken: Spoken,
}

impl Catalogue {
    /// Sessions in which this is said, the one written last first: the first place in each, and at
    /// most so many.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read. A journal that cannot be read is left out.
    pub fn search(
        &self,
        words: &str,
        project: Option<&Path>,
        hits_max: usize,
    ) -> Result<Vec<Hit>, JournalError> {
        let needle = words.to_lowercase();
        let mut hits = Vec::new();
        for listed in self.list(project)? {
            if hits.len() >= hits_max {
                break;
            }
            if may_say(&listed.path, &listed.card, &needle)
                && let Ok(Some(spoken)) = first(&listed.path, &needle)
            {
                let excerpt = excerpt(&spoken.text, &needle);
                hits.push(Hit { listed, excerpt, spoken });
            }
        }
        Ok(hits)
    }
}

/// Looks at the bytes, which is much faster than reading records. Only plain words are spelt the
/// same in a record; for others the records are read. Long journals too: they would not fit.
fn may_say(path: &Path, card: &Card, needle: &str) -> bool {
    let is_plain =
        needle.bytes().all(|b| b.is_ascii() && !b.is_ascii_control() && !b"\"\\".contains(&b));
    if !is_plain || card.size > WHOLE_BYTES_MAX {
        return true;
    }
    let Ok(mut bytes) = std::fs::read(path) else { return false };
    bytes.make_ascii_lowercase();
    memmem::find(&bytes, needle.as_bytes()).is_some()
}

fn first(path: &Path, needle: &str) -> Result<Option<Spoken>, JournalError> {
    let mut reader = Reader::open(path)?;
    let mut speech = Speech::default();
    let mut said = Vec::new();
    while let Some(record) = reader.next_record()? {
        speech.take(&record, &mut said);
        let found = said.drain(..).find(|spoken| spoken.text.to_lowercase().contains(needle));
        if found.is_some() {
            return Ok(found);
        }
    }
    speech.finish(&mut said);
    Ok(said.into_iter().find(|spoken| spoken.text.to_lowercase().contains(needle)))
}

/// What stands around the words, on one line.
fn excerpt(text: &str, needle: &str) -> String {
    let at = text.to_lowercase().find(needle).unwrap_or(0);
    // Lower case may be longer or shorter than what was written; a rough place is enough.
    let start = text.floor_char_boundary(at.saturating_sub(AROUND_BYTES));
    let end = text.floor_char_boundary((at + needle.len() + AROUND_BYTES).min(text.len()));
    let words: Vec<&str> = text.get(start..end).unwrap_or_default().split_whitespace().collect();
    words.join(" ")
}

/// Journals up to this size are looked at as a whole.
const WHOLE_BYTES_MAX: u64 = 64 << 20;
/// Bytes shown on each side.
const AROUND_BYTES: usize = 60;
