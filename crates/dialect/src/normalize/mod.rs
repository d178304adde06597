//! From a transcript to what may be sent: four steps, in this order, each driven by the provider's
//! [`Law`]. Levels (in the engine) make a request small, steps make it legal.
//!
//! Every step is a function of the transcript's prefix: what is sent for the first messages does
//! not depend on the later ones, except where a limit on the whole request forces it. So request
//! N + 1 begins with the bytes of request N, and the provider's cache holds.
//!
//! For the same reason a request that goes on where another ended need not be looked at from the
//! beginning: the few things later messages must know of earlier ones are kept, and where
//! an earlier message would come out differently after all, the steps say how far to go back.

mod notes;
mod past;
pub mod step_1_shape;
pub mod step_2_pair_tool_results;
pub mod step_3_strip_provider_blocks;
pub mod step_4_cap_media;

use windlass_vocabulary::ModelRequest;

use crate::law::Law;
use crate::projection::Projection;
use step_1_shape::Side;

pub use notes::Notes;
pub(crate) use notes::Step;
pub(crate) use past::{Fate, LinkFact, MediaFact, Past};

/// Runs the four steps.
#[must_use]
pub fn normalize<'a>(request: &'a ModelRequest, law: &Law) -> (Projection<'a>, Notes) {
    let mut past = Past::default();
    let projection = normalize_from(request, law, None, &mut past);
    // From the beginning there is nothing to go back to.
    (projection.unwrap_or_default(), past.notes)
}

/// Go back so far that this message is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GoBack(pub(crate) usize);

/// Runs the four steps for the messages from one on, or for all. The past is that of the messages
/// before it, and takes in what is new.
///
/// # Errors
///
/// The messages do not begin with an answer of their own, or change what an earlier message came
/// out as. The past then holds things to be truncated.
pub(crate) fn normalize_from<'a>(
    request: &'a ModelRequest,
    law: &Law,
    from: Option<usize>,
    past: &mut Past,
) -> Result<Projection<'a>, GoBack> {
    let start = from.unwrap_or(0);
    let before = GoBack(start.saturating_sub(1));
    let shaped = step_1_shape::shape(request, start, &mut past.notes);
    if from.is_some() && !matches!(shaped.first(), Some(Side::Answer { .. })) {
        return Err(before);
    }
    let ends_with_user = matches!(shaped.last(), Some(Side::User { .. }));
    let mut projection = step_2_pair_tool_results::pair(shaped, law, past);
    step_3_strip_provider_blocks::strip(&mut projection, request, law, past)?;
    projection.is_continued = from.is_some();
    if from.is_some() && projection.begins_empty() {
        return Err(before);
    }
    let is_whole = projection.settle(law);
    projection.is_closed = is_whole && ends_with_user;
    step_4_cap_media::cap(&mut projection, law, past)?;
    Ok(projection)
}
