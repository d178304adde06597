//! The exhaustive walk: every reachable control state, every signal, every edge.
//!
//! `decide` is a total function on a finite state and a finite alphabet, and the real loop changes
//! its control nowhere else, so what holds on every edge here holds in every run. What the walk
//! cannot see is whether facts are read off the transcript correctly; scenarios and the simulator
//! look at that.

pub mod control_graph;
pub mod invariant;
pub mod table;

use std::fmt::Write as _;

use windlass_engine::bound::calls_left;
use windlass_engine::control::Control;
use windlass_engine::settings::{Limits, RefillLimits};

pub use control_graph::{ControlGraph, LongestRun};

/// The limits every walk starts from: everything on, every counter small but not trivial.
pub const SMALL_LIMITS: Limits = Limits {
    turns_max: 2,
    models: 2,
    retries_max: 1,
    overloads_max: 2,
    pauses_max: 1,
    output_recoveries_max: 1,
    stop_blocks_max: 1,
    stop_same_max: 1,
    nudges_max: 1,
    summary_failures_max: 1,
    refill: RefillLimits { refills_max: 2, refill_turns: 1 },
    tools_parallel_max: 1,
    auto_compact: true,
    reactive_compact: true,
    stop_hooks: true,
};

/// Every set of limits that is walked: each counter at zero, at one and higher, and each
/// switch both ways.
#[must_use]
pub fn build_limits_grid() -> Vec<(String, Limits)> {
    let mut grid = vec![("small".to_owned(), SMALL_LIMITS)];
    let mut add = |name: &str, limits: Limits| grid.push((name.to_owned(), limits));
    add("one turn", Limits { turns_max: 1, ..SMALL_LIMITS });
    add("three turns", Limits { turns_max: 3, nudges_max: 0, stop_hooks: false, ..SMALL_LIMITS });
    add("one model", Limits { models: 1, ..SMALL_LIMITS });
    add("three models", Limits { models: 3, nudges_max: 0, ..SMALL_LIMITS });
    add("no retry", Limits { retries_max: 0, ..SMALL_LIMITS });
    add(
        "three retries",
        Limits { retries_max: 3, overloads_max: 3, nudges_max: 0, turns_max: 1, ..SMALL_LIMITS },
    );
    add("no pause", Limits { pauses_max: 0, ..SMALL_LIMITS });
    add("no recovery", Limits { output_recoveries_max: 0, ..SMALL_LIMITS });
    add("three recoveries", Limits { output_recoveries_max: 3, nudges_max: 0, ..SMALL_LIMITS });
    add("no stop hooks", Limits { stop_hooks: false, ..SMALL_LIMITS });
    add(
        "three same",
        Limits {
            stop_blocks_max: 4,
            stop_same_max: 3,
            nudges_max: 0,
            turns_max: 1,
            ..SMALL_LIMITS
        },
    );
    add("many nudges", Limits { nudges_max: 6, stop_hooks: false, turns_max: 1, ..SMALL_LIMITS });
    add("no auto-compaction", Limits { auto_compact: false, ..SMALL_LIMITS });
    add("no reactive compaction", Limits { reactive_compact: false, ..SMALL_LIMITS });
    add("no compaction", Limits { auto_compact: false, reactive_compact: false, ..SMALL_LIMITS });
    add(
        "refills over three turns",
        Limits {
            turns_max: 4,
            refill: RefillLimits { refills_max: 3, refill_turns: 2 },
            summary_failures_max: 3,
            retries_max: 0,
            nudges_max: 0,
            stop_hooks: false,
            models: 1,
            ..SMALL_LIMITS
        },
    );
    let refill = RefillLimits { refills_max: 0, ..SMALL_LIMITS.refill };
    add("nothing allowed", Limits { refill, turns_max: 0, ..SMALL_LIMITS });
    grid
}

/// Walks the whole grid. Returns the report, or the first thing that does not hold.
pub fn run_check() -> Result<String, String> {
    let mut report = String::new();
    let _ = writeln!(
        report,
        "{:<26} {:>9} {:>10} {:>12} {:>12} {:>10}",
        "limits", "states", "edges", "calls walked", "calls bound", "steps"
    );
    let mut seen = invariant::ReachedMembers::default();
    for (name, limits) in build_limits_grid() {
        let graph = ControlGraph::explore(&limits);
        let problem = |problem: String| format!("{name}: {problem}");
        invariant::check_invariants(&graph, &limits, &mut seen).map_err(problem)?;
        let walk = graph.find_longest_run(&limits).map_err(|cycle| format!("{name}: {cycle}"))?;
        let bound = calls_left(&Control::IDLE.new_run(), &limits);
        // Not only kept but tight: some run really needs as many calls as are promised.
        if walk.calls != bound {
            return Err(format!("{name}: {} calls walked, {bound} promised", walk.calls));
        }
        let _ = writeln!(
            report,
            "{name:<26} {:>9} {:>10} {:>12} {bound:>12} {:>10}",
            graph.len(),
            graph.edge_count(),
            walk.calls,
            walk.steps
        );
    }
    seen.check_complete()?;
    Ok(report)
}
