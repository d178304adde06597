//! What later messages must know of earlier ones, and what would show that an earlier message has
//! to come out differently because of a later one. Kept per message of the request, so that it can
//! be cut back to where two requests part.

use alloc::string::String;
use alloc::vec::Vec;

use super::NormalizationNotes;
use super::step_2_pair_tool_results::WireCallIds;

/// Everything the steps carry on from the messages before.
#[derive(Debug, Default)]
pub(crate) struct NormalizedHistory {
    pub(crate) ids: WireCallIds,
    pub(crate) links: Vec<ProviderBlockLink>,
    pub(crate) media: Vec<MediaItemRecord>,
    pub(crate) notes: NormalizationNotes,
}

/// A provider's own block that may be half of a pair.
#[derive(Clone, Debug)]
pub(crate) struct ProviderBlockLink {
    /// Where the answer it is in begins.
    pub(crate) answer_start: usize,
    pub(crate) id: Option<String>,
    /// The id of the call it answers.
    pub(crate) tool_use_id: Option<String>,
    pub(crate) is_call: bool,
    pub(crate) is_stripped: bool,
}

/// An image or a document that is legal by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MediaItemRecord {
    /// Where the answer it follows begins.
    pub(crate) answer_start: usize,
    pub(crate) bytes: usize,
    pub(crate) is_image: bool,
    /// Too large to be sent with many others.
    pub(crate) is_big: bool,
    pub(crate) decision: MediaDecision,
}

/// What happens to a media item that is valid by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaDecision {
    Sent,
    /// Newer items took its place.
    Evicted,
    /// It is too large to be sent with this many others.
    TooBig,
}

impl NormalizedHistory {
    /// Forgets everything from this message on.
    pub(crate) fn truncate(&mut self, from: usize) {
        self.ids.truncate(from);
        self.notes.truncate(from);
        truncate_after_last(&mut self.links, |fact| fact.answer_start < from);
        truncate_after_last(&mut self.media, |fact| fact.answer_start < from);
    }
}

/// Cuts a list that rises after its last kept item.
fn truncate_after_last<T>(list: &mut Vec<T>, is_kept: impl Fn(&T) -> bool) {
    let kept = list.iter().rposition(is_kept).map_or(0, |last| last + 1);
    list.truncate(kept);
}
