//! Users' hooks: what they say at the moments of the loop at which they are asked.
//!
//! No hook can be configured yet, so the only set there is has no hooks, and it has no opinion on
//! anything. Configuration, running hook programs and reading their verdicts come with the work on
//! hooks; the door they will come through is [`HookSet::report`].

use windlass_vocabulary::{HookPoint, HookReport};

/// The hooks of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookSet {}

impl HookSet {
    /// The joint verdict of every hook at this point.
    #[must_use]
    pub fn report(&self, _point: HookPoint) -> HookReport {
        HookReport::default()
    }
}
