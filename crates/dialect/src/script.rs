//! How a wire writes a request down: a head, then turns, then two brackets. Turns are written one
//! by one, always to the same bytes, so that they need to be written only once.

use alloc::vec::Vec;

use windlass_vocabulary::ModelRequest;

use crate::law::Law;
use crate::origins::{Origins, Place};
use crate::projection::Turn;
use crate::tools::LegalTool;

/// How a wire writes a request down.
pub(crate) trait Script: Sync {
    /// All before the first turn.
    fn head(&self, request: &ModelRequest, law: &Law, tools: &[LegalTool<'_>]) -> Head;

    /// One turn: one message of the wire, or several apart by commas.
    fn write(&self, turn: &Turn<'_, '_>, request: &ModelRequest, law: &Law, out: &mut Vec<u8>);

    /// Where the same turn's messages and their blocks come from. The places are those of the
    /// answer's parts, or of the parts that follow the results.
    fn trace(&self, turn: &Turn<'_, '_>, places: &[Option<Place>], origins: &mut Origins);
}

/// What comes before the turns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub(crate) bytes: Vec<u8>,
    /// Messages of the wire that are already in it.
    pub(crate) messages: usize,
    /// How many of the last turns of the user's side are marked as the end of a cached prefix.
    pub(crate) marks: usize,
    /// The mark, and what it stands before at the end of a turn.
    pub(crate) mark: (&'static [u8], &'static [u8]),
}

/// Closes the list of turns and the request.
pub(crate) const FOOT: &[u8] = b"]}";
