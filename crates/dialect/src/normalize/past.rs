//! What later messages must know of earlier ones, and what would show that an earlier message has
//! to come out differently because of a later one. Kept per message of the request, so that it can
//! be cut back to where two requests part.

use alloc::string::String;
use alloc::vec::Vec;

use super::Notes;
use super::step_2_pair_tool_results::Ids;

/// Everything the steps carry on from the messages before.
#[derive(Debug, Default)]
pub(crate) struct Past {
    pub(crate) ids: Ids,
    pub(crate) links: Vec<LinkFact>,
    pub(crate) media: Vec<MediaFact>,
    pub(crate) notes: Notes,
}

/// A provider's own block that may be half of a pair.
#[derive(Clone, Debug)]
pub(crate) struct LinkFact {
    /// Where the answer it is in begins.
    pub(crate) at: usize,
    /// Its own id.
    pub(crate) id: Option<String>,
    /// The id of the call it answers.
    pub(crate) tool_use_id: Option<String>,
    pub(crate) is_call: bool,
    pub(crate) is_out: bool,
}

/// An image or a document that is legal by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MediaFact {
    /// Where the answer it follows begins.
    pub(crate) at: usize,
    pub(crate) bytes: usize,
    pub(crate) is_image: bool,
    /// Too big for a crowd.
    pub(crate) is_big: bool,
    pub(crate) fate: Fate,
}

/// What becomes of an item that is legal by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Sent,
    /// Newer items took its place.
    MadeRoom,
    /// It is too big to be sent with so many others.
    TooBig,
}

impl Past {
    /// Forgets what stands at or after a message.
    pub(crate) fn truncate(&mut self, from: usize) {
        self.ids.truncate(from);
        self.notes.truncate(from);
        cut(&mut self.links, |fact| fact.at < from);
        cut(&mut self.media, |fact| fact.at < from);
    }
}

/// Cuts a list that rises after its last kept item.
fn cut<T>(list: &mut Vec<T>, is_kept: impl Fn(&T) -> bool) {
    let kept = list.iter().rposition(is_kept).map_or(0, |last| last + 1);
    list.truncate(kept);
}
