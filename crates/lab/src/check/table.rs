//! Writes down what the rules do: phase by phase, signal by signal, as the walk meets it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Write as _};

use windlass_engine::decide::{Act, Because, Why};
use windlass_engine::settings::Limits;
use windlass_vocabulary::Outcome;

use super::SMALL_LIMITS;
use super::control_graph::ControlGraph;

/// The page `docs/loop.md`.
#[must_use]
pub fn render_loop_page() -> String {
    let mut cells: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    // Everything on, then everything off: between them every rule shows.
    let bare =
        Limits { auto_compact: false, reactive_compact: false, stop_hooks: false, ..SMALL_LIMITS };
    for limits in [SMALL_LIMITS, bare] {
        for (control, edges) in ControlGraph::explore(&limits).iter() {
            for edge in edges {
                let place = (variant_name(&control.phase), variant_name(&edge.signal));
                cells.entry(place).or_default().insert(describe_act(edge.act));
            }
        }
    }
    let mut page = String::from(INTRODUCTION);
    for ((phase, signal), acts) in &cells {
        let acts: Vec<&str> = acts.iter().map(String::as_str).collect();
        let _ = writeln!(page, "| {phase} | {signal} | {} |", acts.join(", "));
    }
    page
}

const INTRODUCTION: &str = "\
# What the loop does, phase by phase

Written by a test from the exhaustive walk (`crates/lab/src/check/table.rs`); do not edit it. A
signal that is not listed for a phase changes nothing there. Names in `code` are the recorded
transitions and terminal reasons.

| phase | what happens | what may follow |
|---|---|---|
";

/// A variant's name with the inner variant that matters, without its fields.
fn variant_name(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    let mut parts = text.split(['(', ' ', '{', ')']).filter(|part| !part.is_empty());
    match (parts.next(), text.contains('(').then(|| parts.next()).flatten()) {
        (Some(outer), Some(inner)) => format!("{outer}: {inner}"),
        (Some(outer), None) => outer.to_owned(),
        (None, _) => String::new(),
    }
}

fn describe_act(act: Act) -> String {
    match act {
        Act::Prepare(Because::Continued(transition)) => format!("`{transition}`"),
        Act::Prepare(because) => format!("prepare ({})", variant_name(&because).to_lowercase()),
        Act::Finish(terminal, Why::Outcome(Outcome::ToolDeferred)) => {
            format!("end `{terminal}`, the call deferred")
        }
        Act::Finish(terminal, _) => format!("end `{terminal}`"),
        Act::Summarize(what) => format!("summarize ({})", variant_name(&what).to_lowercase()),
        Act::Settle => "look again at the deferred call".to_owned(),
        Act::AwaitTools => "wait for tools".to_owned(),
        Act::RunStopHooks => "run stop hooks".to_owned(),
        Act::Backoff => "wait before the next try".to_owned(),
        Act::Attach => "take in what arrived".to_owned(),
        Act::Nothing | Act::Call => "call the model".to_owned(),
    }
}
