//! Runs a scenario with the real engine and compares the result line by line.
//!
//! Also rewrites expectations in place (`WINDLASS_BLESS=1`), for people who then read the
//! difference; nothing is ever rewritten otherwise.

use std::fmt::Write as _;

use super::render::RenderedEffect;
use super::scenario_script::{ExpectedEffect, ScenarioScript, ScenarioStep};
use super::scenario_session::ScenarioSession;
use super::{ScenarioProblem, scenario_history};

#[derive(Debug, Default)]
pub struct ScenarioOutcome {
    /// Differences, each with its line and both sides; empty when all went as expected.
    pub differences: Vec<ScenarioProblem>,
    /// Something that cannot happen there; nothing after it was played.
    pub broken: Option<ScenarioProblem>,
    /// The file with its expectations as they should be now.
    pub blessed: String,
}

#[must_use]
pub fn run_scenario(script: &ScenarioScript) -> ScenarioOutcome {
    let mut outcome = ScenarioOutcome::default();
    let mut replaced: Vec<(std::ops::Range<usize>, Vec<String>)> = Vec::new();
    let mut play = ScenarioSession::new(&script.setup);
    let mut history = scenario_history::ScenarioHistory::new(&script.setup);
    for beat in &script.steps {
        let shown = match history.apply(&beat.event) {
            Some(shown) => Ok(shown),
            None => play.apply(&beat.event),
        };
        let shown = match shown {
            Ok(shown) => shown,
            Err(words) => {
                outcome.broken = Some(ScenarioProblem { line: beat.line, message: words });
                break;
            }
        };
        if let Some(problem) = describe_difference(beat, &shown) {
            outcome.differences.push(problem);
            replaced.push((beat.expected_lines.clone(), render_blessed_lines(beat, &shown)));
        }
    }
    outcome.blessed = rewrite_script(script, &replaced);
    outcome
}

/// The difference from the expectation, with both sides, or `None`.
fn describe_difference(beat: &ScenarioStep, shown: &[RenderedEffect]) -> Option<ScenarioProblem> {
    let pairs = align(&beat.expected, shown);
    let first = pairs.iter().position(|(expected, shown)| expected.is_none() || shown.is_none())?;
    let line = pairs.iter().skip(first).find_map(|(expected, _)| expected.map(|e| e.line));
    let mut words = String::from("not as expected (- expected, + what came)\n");
    for (expected, shown) in pairs {
        let (mark, head, body) = match (expected, shown) {
            (Some(expected), Some(_)) => (' ', &expected.head, &[][..]),
            (Some(expected), None) => ('-', &expected.head, expected.body.as_slice()),
            (None, Some(shown)) => ('+', &shown.head, shown.body.as_slice()),
            (None, None) => continue,
        };
        // Writing into a string cannot fail.
        let _ = writeln!(words, "  {mark} > {head}");
        for line in body {
            let _ = writeln!(words, "  {mark}     {line}");
        }
    }
    Some(ScenarioProblem { line: line.unwrap_or(beat.line), message: words })
}

type AlignedPair<'a> = (Option<&'a ExpectedEffect>, Option<&'a RenderedEffect>);

/// Both sides in order, those that match side by side: the longest common subsequence.
fn align<'a>(expected: &'a [ExpectedEffect], shown: &'a [RenderedEffect]) -> Vec<AlignedPair<'a>> {
    let width = shown.len() + 1;
    // lengths[i * width + j]: matches that can still come from expected[i..] and shown[j..].
    let mut lengths = vec![0usize; (expected.len() + 1) * width];
    let at = |lengths: &[usize], i: usize, j: usize| lengths.get(i * width + j).copied();
    for i in (0..expected.len()).rev() {
        for j in (0..shown.len()).rev() {
            let is_same = expected.get(i).zip(shown.get(j)).is_some_and(|(e, s)| is_match(e, s));
            let best = match is_same {
                true => at(&lengths, i + 1, j + 1).map(|length| length + 1),
                false => at(&lengths, i + 1, j).max(at(&lengths, i, j + 1)),
            };
            if let Some(cell) = lengths.get_mut(i * width + j) {
                *cell = best.unwrap_or(0);
            }
        }
    }
    let mut i = 0;
    let mut j = 0;
    let mut pairs = Vec::new();
    loop {
        match (expected.get(i), shown.get(j)) {
            (None, None) => return pairs,
            (Some(e), Some(s)) if is_match(e, s) => {
                pairs.push((Some(e), Some(s)));
                i += 1;
                j += 1;
            }
            (Some(e), s) if s.is_none() || at(&lengths, i + 1, j) >= at(&lengths, i, j + 1) => {
                pairs.push((Some(e), None));
                i += 1;
            }
            (_, s) => {
                pairs.push((None, s));
                j += 1;
            }
        }
    }
}

fn is_match(expected: &ExpectedEffect, shown: &RenderedEffect) -> bool {
    let is_body_left_out =
        expected.body.is_empty() && (shown.is_body_optional || expected.head.ends_with("..."));
    let is_same_body = || match shown.is_body_optional {
        // Any of the lines may be asserted.
        true => expected.body.iter().all(|line| shown.body.iter().any(|b| is_alike(line, b))),
        false => {
            expected.body.len() == shown.body.len()
                && expected.body.iter().zip(&shown.body).all(|(e, s)| is_alike(e, s))
        }
    };
    is_alike(&expected.head, &shown.head) && (is_body_left_out || is_same_body())
}

/// `...` matches any text, even an empty one.
fn is_alike(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split("...");
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first.trim_end()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return pattern == text;
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The lines to write when blessing: lines that match stay as they were written.
fn render_blessed_lines(beat: &ScenarioStep, shown: &[RenderedEffect]) -> Vec<String> {
    let mut lines = Vec::new();
    for (expected, shown) in align(&beat.expected, shown) {
        let (head, body) = match (expected, shown) {
            (_, None) => continue,
            (Some(kept), Some(_)) => (&kept.head, kept.body.as_slice()),
            (None, Some(shown)) if shown.is_body_optional => (&shown.head, [].as_slice()),
            (None, Some(shown)) => (&shown.head, shown.body.as_slice()),
        };
        lines.push(format!("> {head}"));
        lines.extend(body.iter().map(|line| format!("    {line}")));
    }
    lines
}

fn rewrite_script(
    script: &ScenarioScript,
    replaced: &[(std::ops::Range<usize>, Vec<String>)],
) -> String {
    let mut text = String::new();
    let mut next = 0;
    let mut copy = |text: &mut String, to: usize| {
        for line in script.lines.iter().take(to).skip(next) {
            text.push_str(line);
            text.push('\n');
        }
        next = to;
    };
    for (place, lines) in replaced {
        copy(&mut text, place.start);
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        copy(&mut String::new(), place.end);
    }
    copy(&mut text, script.lines.len());
    text
}
