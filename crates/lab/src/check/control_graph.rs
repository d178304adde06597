//! Visits every control state a run can reach, and measures the longest run.

use std::collections::HashMap;

use windlass_engine::bound::cost;
use windlass_engine::control::{Control, Phase};
use windlass_engine::decide::{Act, Decision, decide};
use windlass_engine::settings::Limits;
use windlass_engine::signal::Signal;
use windlass_vocabulary::Terminal;

/// Every state a run can reach and every edge between them.
pub struct ControlGraph {
    states: Vec<Control>,
    /// For each state, the signals that mean something there and where they lead.
    edges: Vec<Vec<ControlEdge>>,
}

#[derive(Clone, Copy, Debug)]
pub struct ControlEdge {
    pub signal: Signal,
    pub act: Act,
    pub to: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LongestRun {
    pub calls: u64,
    pub steps: u64,
}

impl ControlGraph {
    /// Visits everything that can follow a submitted message, or a wish to compact; also where a call
    /// was deferred before. A run that ends is not continued.
    #[must_use]
    pub fn explore(limits: &Limits) -> Self {
        let signals = Signal::all();
        let phase = Phase::Ended(Terminal::Completed);
        let deferred = Control { phase, calls_open: true, ..Control::IDLE };
        let starts = [
            (Control::IDLE, Signal::Submitted),
            (Control::IDLE, Signal::CompactionAsked),
            (deferred, Signal::Resumed),
            (deferred, Signal::CompactionAsked),
        ]
        .map(|(control, signal)| decide(control, signal, limits).control);
        let mut index: HashMap<Control, usize> = starts.into_iter().zip(0..).collect();
        let mut graph = Self { states: starts.to_vec(), edges: Vec::new() };
        while let Some(&control) = graph.states.get(graph.edges.len()) {
            let mut edges = Vec::new();
            for &signal in signals.iter().filter(|_| control.phase.is_running()) {
                let Decision { control: next, act } = decide(control, signal, limits);
                if act == Act::Nothing {
                    continue;
                }
                let to = *index.entry(next).or_insert_with(|| {
                    graph.states.push(next);
                    graph.states.len() - 1
                });
                edges.push(ControlEdge { signal, act, to });
            }
            graph.edges.push(edges);
        }
        graph
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Is there no state? Never, but a length wants it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.edges.iter().map(Vec::len).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Control, &[ControlEdge])> {
        self.states.iter().copied().zip(self.edges.iter().map(Vec::as_slice))
    }

    #[must_use]
    pub fn state(&self, place: usize) -> Option<Control> {
        self.states.get(place).copied()
    }

    /// The longest run, or a state that can be reached from itself: a loop without an end.
    pub fn find_longest_run(&self, limits: &Limits) -> Result<LongestRun, String> {
        let mut best: Vec<Option<LongestRun>> = vec![None; self.states.len()];
        let mut is_open = vec![false; self.states.len()];
        let mut stack = vec![(0usize, 0usize)];
        while let Some((place, next)) = stack.pop() {
            if let Some(flag) = is_open.get_mut(place) {
                *flag = true;
            }
            let edges = self.edges.get(place).map_or(&[][..], Vec::as_slice);
            let Some(edge) = edges.get(next) else {
                let walk = longest_after(edges, &best, limits);
                if let (Some(slot), Some(flag)) = (best.get_mut(place), is_open.get_mut(place)) {
                    (*slot, *flag) = (Some(walk), false);
                }
                continue;
            };
            stack.push((place, next + 1));
            match (best.get(edge.to), is_open.get(edge.to)) {
                (Some(None), Some(true)) => {
                    return Err(format!("a cycle through {:?}", self.state(edge.to)));
                }
                (Some(None), _) => stack.push((edge.to, 0)),
                _ => {}
            }
        }
        best.first().copied().flatten().ok_or_else(|| "no state at all".to_owned())
    }
}

fn longest_after(
    edges: &[ControlEdge],
    best: &[Option<LongestRun>],
    limits: &Limits,
) -> LongestRun {
    let mut longest = LongestRun::default();
    for edge in edges {
        let after = best.get(edge.to).copied().flatten().unwrap_or_default();
        longest.calls = longest.calls.max(after.calls + cost(edge.act, limits));
        longest.steps = longest.steps.max(after.steps + 1);
    }
    longest
}
