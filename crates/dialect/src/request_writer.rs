//! How a wire writes a request down: a head, then turns, then two brackets. Turns are written one
//! by one, always to the same bytes, so that they need to be written only once.

use alloc::vec::Vec;

use windlass_vocabulary::{Effort, ModelRequest, ThinkingMode};

use crate::accepted_tools::AcceptedTool;
use crate::normalized_conversation::WireTurn;
use crate::provider_rules::ProviderRules;
use crate::request_origins::{BlockLocation, RequestOrigins};

/// How a wire writes a request down.
pub(crate) trait RequestWriter: Sync {
    /// All before the first turn.
    fn write_head(
        &self,
        request: &ModelRequest,
        rules: &ProviderRules,
        tools: &[AcceptedTool<'_>],
    ) -> RequestHead;

    /// One turn: one message of the wire, or several apart by commas.
    fn write_turn(
        &self,
        turn: &WireTurn<'_, '_>,
        request: &ModelRequest,
        rules: &ProviderRules,
        out: &mut Vec<u8>,
    );

    /// Where the same turn's messages and their blocks come from. The places are those of the
    /// answer's parts, or of the parts that follow the results.
    fn record_origins(
        &self,
        turn: &WireTurn<'_, '_>,
        locations: &[Option<BlockLocation>],
        origins: &mut RequestOrigins,
    );
}

/// What comes before the turns.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestHead {
    pub(crate) bytes: Vec<u8>,
    /// Messages of the wire that are already in it.
    pub(crate) messages: usize,
    /// How many of the last user turns are marked as the end of a cached prefix.
    pub(crate) cache_marks: usize,
    /// The mark, and the end of a turn before which it is inserted.
    pub(crate) cache_mark: (&'static [u8], &'static [u8]),
}

/// Closes the list of turns and the request.
pub(crate) const REQUEST_FOOT: &[u8] = b"]}";

/// The answer, or what follows the results: media that had to leave them, then the rest.
pub(crate) fn record_remaining_origins(
    turn: &WireTurn<'_, '_>,
    locations: &[Option<BlockLocation>],
    origins: &mut RequestOrigins,
) {
    let mut blocks = turn.media_locations().chain(locations.iter().copied()).peekable();
    if blocks.peek().is_some() {
        origins.add_message(blocks);
    }
}

/// The effort level on the wires of `OpenAI`; `None` leaves it to the provider. Disabled thinking is
/// the least effort there; a server that does not know the word refuses it once, and then
/// `without_reasoning` is set.
pub(crate) fn effort_name(request: &ModelRequest) -> Option<&'static str> {
    match request.effort {
        _ if request.without_reasoning => None,
        _ if request.thinking == ThinkingMode::Disabled => Some("none"),
        effort => effort.map(Effort::name),
    }
}
