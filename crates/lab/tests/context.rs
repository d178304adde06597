//! A first look at what `benches/context.rs` measures: a turn late in a long session costs about what
//! an early one costs. With much slack, because a busy machine runs this; the bench has none.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test may stop")]

use std::time::Duration;

use windlass_lab::long_session::{self, LongSessionKind};

/// A wrong order of growth is far above this, noise far below.
const RATIO_MAX: u32 = 4;
/// Noise only ever adds: of so many sessions the best counts, turn by turn.
const ROUNDS: usize = 3;

/// The median of each tenth of a session.
fn tenths(kind: LongSessionKind, turns: usize) -> Vec<Duration> {
    let mut least = vec![Duration::MAX; turns];
    for _ in 0..ROUNDS {
        let mut session = kind.start_session();
        for (turn, least) in least.iter_mut().enumerate() {
            let took = long_session::play_turn(&mut session, kind, turn).expect("the run goes on");
            *least = took.min(*least);
        }
        for level in kind.expected_levels() {
            let did = session.state().compaction.losses.levels()[level - 1];
            assert!(did.times > 0, "{kind:?}: level {level} never acted");
        }
    }
    let median = |tenth: &[Duration]| {
        let mut sorted = tenth.to_vec();
        sorted.sort();
        sorted[sorted.len() / 2]
    };
    least.chunks(turns / 10).map(median).collect()
}

fn assert_flat(kind: LongSessionKind) {
    let tenths = tenths(kind, 3_000);
    // In the first tenth the engine of a test build checks what it keeps against what it would make.
    let (early, later) = tenths[1..].split_first().expect("there are ten");
    let most = *later.iter().max().expect("there are more");
    assert!(most <= *early * RATIO_MAX, "{kind:?}: the median of each tenth: {tenths:?}");
}

#[test]
fn a_late_turn_costs_what_an_early_one_costs() {
    assert_flat(LongSessionKind::Roomy);
}

/// The window fills up and is emptied again and again; every level that is on by default acts.
#[test]
fn a_late_turn_in_a_full_window_costs_what_an_early_one_costs() {
    assert_flat(LongSessionKind::Small);
}
