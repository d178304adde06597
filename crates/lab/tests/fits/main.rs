//! Whatever happened before, and whatever a summariser says: preparation ends with a request that
//! fits, or with `blocking_limit` or `prompt_too_long` and a reason; never with more than before. No run
//! ends so as long as what must be kept would fit and a compaction can be had.
//!
//! The smallest window this is promised for is [`WINDOW_MIN`] tokens. "Fits" is by the engine's own
//! estimate; the provider in here counts as the engine does, and refuses what does not fit.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test may stop")]

mod any;
mod world;

use any::{Script, script};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use world::World;

/// The smallest window for which the promise is made, in tokens.
pub(crate) const WINDOW_MIN: u64 = 1_000;

fn play(script: &Script) -> Result<World, TestCaseError> {
    let mut world = World::new(script);
    for step in &script.steps {
        world.play(step).map_err(TestCaseError::fail)?;
    }
    world.originals_are_kept().map_err(TestCaseError::fail)?;
    Ok(world)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 384, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn preparation_ends_with_a_request_that_fits_or_says_why(script in script()) {
        play(&script)?;
    }
}

/// The property above would hold of a world in which nothing happens: every level acts, compactions
/// fail and succeed, and both ends are reached.
#[test]
fn the_property_reaches_what_it_is_about() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = world::Seen::default();
    for _ in 0..300 {
        let tree = script().new_tree(&mut runner).expect("a script can be drawn");
        let world = play(&tree.current()).unwrap_or_else(|problem| panic!("{problem}"));
        seen.add(world.seen());
    }
    println!("{seen:?}");
    assert!(seen.levels.iter().all(|times| *times > 20), "{seen:?}");
    assert!(seen.summaries > 20 && seen.cuts > 20 && seen.refused > 20, "{seen:?}");
    assert!(seen.blocked > 5 && seen.too_long > 5, "{seen:?}");
}
