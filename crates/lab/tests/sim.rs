//! Seeded sessions full of faults: the same ones every time, and some that nobody has played yet.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_lab::sim::{self, SimReport, SimWatch};

/// Sessions played on every run of the tests, enough to reach every member of every list.
const FIXED: u64 = 10_000;
/// Sessions nobody has played yet.
const FRESH: u64 = 2_000;
/// Every so many seeds one is played twice.
const AGAIN: u64 = 8;

fn assert_whole(fleet: &SimReport, seeds: u64) {
    let broken = fleet.broken.first().map(|(seed, words)| {
        format!(
            "seed {seed}: {words}\n\
             cargo run --release -p windlass-lab -- sim --seed {seed} --trace"
        )
    });
    assert!(broken.is_none(), "{}", broken.unwrap_or_default());
    assert_eq!(fleet.seeds, seeds);
}

#[test]
fn fixed_seeds_keep_every_promise_and_reach_every_rule() {
    let fleet = sim::play_seeds(1, FIXED, AGAIN);
    assert_whole(&fleet, FIXED);
    let missing = fleet.coverage.missing();
    assert!(missing.is_empty(), "never reached: {missing:?}");
}

#[test]
fn fresh_seeds_keep_every_promise() {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is set");
    let first = u64::try_from(since.as_nanos()).expect("the year is before 2554");
    println!("fresh seeds from {first}");
    assert_whole(&sim::play_seeds(first, FRESH, AGAIN), FRESH);
}

/// Byte for byte: the effects of a session are the same when it is played again.
#[test]
fn the_same_seed_plays_the_same_session() {
    let watch = SimWatch { fingerprint: true, ..SimWatch::default() };
    for seed in 1..=50 {
        let first =
            sim::play_seed(seed, watch).unwrap_or_else(|words| panic!("seed {seed}: {words}"));
        assert_eq!(Ok(first), sim::play_seed(seed, watch), "seed {seed}");
    }
}

/// Another seed plays another session, or the test above would prove nothing.
#[test]
fn other_seeds_play_other_sessions() {
    let watch = SimWatch { fingerprint: true, ..SimWatch::default() };
    let prints: std::collections::BTreeSet<String> = (1..=50)
        .filter_map(|seed| sim::play_seed(seed, watch).ok())
        .map(|played| format!("{:?}", played.fingerprint))
        .collect();
    assert!(prints.len() >= 45, "only {} of 50 sessions differ", prints.len());
}
