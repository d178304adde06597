//! A file of `scenarios/` as settings, happenings and what is expected of each.
//!
//! Keeps every line of the file, so that expectations can be rewritten in place. What a happening
//! means is read in `happening.rs`; expectations stay text and are compared as text.

use std::ops::Range;

use super::scenario_event::ScenarioEvent;
use super::scenario_setup::ScenarioSetup;
use super::{ScenarioProblem, scenario_event};

#[derive(Debug)]
pub struct ScenarioScript {
    pub lines: Vec<String>,
    pub setup: ScenarioSetup,
    pub steps: Vec<ScenarioStep>,
}

/// One thing that happens and what must come of it.
#[derive(Debug)]
pub struct ScenarioStep {
    /// Its line, counted from 1.
    pub line: usize,
    pub event: ScenarioEvent,
    /// What must come of it, in order, and nothing else.
    pub expected: Vec<ExpectedEffect>,
    /// The lines of the file with the expectation, counted from 0.
    pub expected_lines: Range<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ExpectedEffect {
    /// Its line, counted from 1.
    pub line: usize,
    /// What follows `>`.
    pub head: String,
    /// The lines below it, one per block of a request.
    pub body: Vec<String>,
}

/// Reads a file.
///
/// # Errors
///
/// The first line that cannot be understood.
pub fn parse_scenario(text: &str) -> Result<ScenarioScript, ScenarioProblem> {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut setup = ScenarioSetup::default();
    let mut beats: Vec<ScenarioStep> = Vec::new();
    let mut is_in_settings = false;
    for (index, raw) in lines.iter().enumerate() {
        let fail = |words: String| ScenarioProblem { line: index + 1, message: words };
        let is_indented = raw.starts_with(' ');
        let line = raw.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if is_indented && is_in_settings {
            setup.parse_line(line).map_err(fail)?;
        } else if is_indented {
            let expected = beats.last_mut().and_then(|beat| beat.expected.last_mut());
            let Some(expected) = expected else {
                return Err(fail("there is no expectation above to which this belongs".into()));
            };
            expected.body.push(line.to_owned());
            extend_expected_lines(beats.last_mut(), index);
        } else if let Some(head) = line.strip_prefix('>') {
            let Some(beat) = beats.last_mut() else {
                return Err(fail("there is no event above that this could follow".into()));
            };
            let head = head.trim().to_owned();
            beat.expected.push(ExpectedEffect { line: index + 1, head, body: Vec::new() });
            extend_expected_lines(beats.last_mut(), index);
        } else if line == "settings" {
            if !beats.is_empty() {
                return Err(fail("settings come before anything happens".into()));
            }
            is_in_settings = true;
        } else {
            is_in_settings = false;
            let happening = scenario_event::parse_scenario_event(line, &setup).map_err(fail)?;
            let place = index + 1..index + 1;
            beats.push(ScenarioStep {
                line: index + 1,
                event: happening,
                expected: Vec::new(),
                expected_lines: place,
            });
        }
    }
    if beats.is_empty() {
        return Err(ScenarioProblem { line: 1, message: "this file has no event".into() });
    }
    Ok(ScenarioScript { lines, setup, steps: beats })
}

fn extend_expected_lines(beat: Option<&mut ScenarioStep>, index: usize) {
    if let Some(beat) = beat {
        beat.expected_lines.end = index + 1;
    }
}
