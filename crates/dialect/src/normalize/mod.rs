//! Converts a transcript to a request that the provider accepts: four steps, in this order, each
//! controlled by the provider's [`ProviderRules`]. Levels (in the engine) make a request small,
//! steps make it valid.
//!
//! Every step is a function of the transcript's prefix: what is sent for the first messages does
//! not depend on the later ones, except where a limit on the whole request forces it. So request
//! N + 1 begins with the bytes of request N, and the provider's cache holds.
//!
//! For the same reason a request that continues another is not normalised from the beginning: what
//! later messages depend on is kept, and where an earlier message would change nevertheless, the
//! steps return how far to go back.

mod history;
mod notes;
pub mod step_1_shape;
pub mod step_2_pair_tool_results;
pub mod step_3_strip_provider_blocks;
pub mod step_4_cap_media;

use windlass_vocabulary::ModelRequest;

use crate::normalized_conversation::NormalizedConversation;
use crate::provider_rules::ProviderRules;
use step_1_shape::MessageSide;

pub(crate) use history::{MediaDecision, MediaItemRecord, NormalizedHistory, ProviderBlockLink};
pub use notes::NormalizationNotes;
pub(crate) use notes::NormalizationStep;

/// Runs the four steps. Returns the conversation and what had to be changed.
#[must_use]
pub fn normalize<'a>(
    request: &'a ModelRequest,
    rules: &ProviderRules,
) -> (NormalizedConversation<'a>, NormalizationNotes) {
    let mut history = NormalizedHistory::default();
    let projection = normalize_from(request, rules, None, &mut history);
    // From the beginning there is nothing to go back to.
    (projection.unwrap_or_default(), history.notes)
}

/// Go back so far that this message is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RestartFrom(pub(crate) usize);

/// Runs the four steps for the messages from one on, or for all. The past is that of the messages
/// before it, and takes in what is new.
///
/// # Errors
///
/// The messages do not begin with an answer of their own, or change what an earlier message came
/// out as. The past then holds things to be truncated.
pub(crate) fn normalize_from<'a>(
    request: &'a ModelRequest,
    rules: &ProviderRules,
    from: Option<usize>,
    history: &mut NormalizedHistory,
) -> Result<NormalizedConversation<'a>, RestartFrom> {
    let start = from.unwrap_or(0);
    let before = RestartFrom(start.saturating_sub(1));
    let shaped = step_1_shape::shape_messages(request, start, &mut history.notes);
    if from.is_some() && !matches!(shaped.first(), Some(MessageSide::Answer { .. })) {
        return Err(before);
    }
    let ends_with_user = matches!(shaped.last(), Some(MessageSide::User { .. }));
    let mut projection = step_2_pair_tool_results::pair_tool_results(shaped, rules, history);
    step_3_strip_provider_blocks::strip_provider_blocks(&mut projection, request, rules, history)?;
    projection.is_continuation = from.is_some();
    if from.is_some() && projection.has_empty_first_answer() {
        return Err(before);
    }
    let is_whole = projection.restore_alternation(rules);
    projection.is_resumable = is_whole && ends_with_user;
    step_4_cap_media::cap_media(&mut projection, rules, history)?;
    Ok(projection)
}
