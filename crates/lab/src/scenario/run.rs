//! Plays a scenario against the real engine and compares what comes of it, line by line.
//!
//! Also rewrites expectations in place (`WINDLASS_BLESS=1`), for people who then read the
//! difference; nothing is ever rewritten otherwise.

use std::fmt::Write as _;

use super::parse::{Beat, Expected, Script};
use super::play::Play;
use super::render::Shown;
use super::{Problem, normalize};

/// What came of playing a scenario.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Differences, each with its line and both sides; empty when all went as expected.
    pub differences: Vec<Problem>,
    /// Something that cannot happen there; nothing after it was played.
    pub broken: Option<Problem>,
    /// The file with its expectations as they should be now.
    pub blessed: String,
}

/// Plays a scenario.
#[must_use]
pub fn run(script: &Script) -> Outcome {
    let mut outcome = Outcome::default();
    let mut replaced: Vec<(std::ops::Range<usize>, Vec<String>)> = Vec::new();
    let mut play = Play::new(&script.setup);
    let mut history = normalize::History::new(&script.setup);
    for beat in &script.beats {
        let shown = match history.take(&beat.happening) {
            Some(shown) => Ok(shown),
            None => play.take(&beat.happening),
        };
        let shown = match shown {
            Ok(shown) => shown,
            Err(words) => {
                outcome.broken = Some(Problem { line: beat.line, words });
                break;
            }
        };
        if let Some(problem) = difference(beat, &shown) {
            outcome.differences.push(problem);
            replaced.push((beat.place.clone(), lines(beat, &shown)));
        }
    }
    outcome.blessed = blessed(script, &replaced);
    outcome
}

/// What is not as expected, with both sides, or `None`.
fn difference(beat: &Beat, shown: &[Shown]) -> Option<Problem> {
    let mut words = String::new();
    let mut line = None;
    for at in 0..beat.expected.len().max(shown.len()) {
        let (expected, shown) = (beat.expected.get(at), shown.get(at));
        let is_same = match (expected, shown) {
            (Some(expected), Some(shown)) => is_match(expected, shown),
            _ => false,
        };
        let mark = if is_same { "    " } else { "  - " };
        line = match (line, expected, is_same) {
            (None, Some(expected), false) => Some(expected.line),
            (line, _, _) => line,
        };
        if is_same {
            let head = expected.map_or("", |expected| expected.head.as_str());
            let _ = writeln!(words, "{mark}> {head}");
            continue;
        }
        if let Some(expected) = expected {
            let _ = writeln!(words, "{mark}> {}", expected.head);
            expected.body.iter().for_each(|body| {
                let _ = writeln!(words, "{mark}    {body}");
            });
        }
        if let Some(shown) = shown {
            let _ = writeln!(words, "  + > {}", shown.head);
            shown.body.iter().for_each(|body| {
                let _ = writeln!(words, "  +     {body}");
            });
        }
    }
    let is_same = beat.expected.len() == shown.len()
        && beat.expected.iter().zip(shown).all(|(expected, shown)| is_match(expected, shown));
    (!is_same).then(|| Problem {
        line: line.unwrap_or(beat.line),
        words: format!("not as expected (- expected, + what came)\n{words}"),
    })
}

fn is_match(expected: &Expected, shown: &Shown) -> bool {
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

/// `...` stands for anything, also for nothing.
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

/// What stands in the file after blessing: lines that match are kept as they were written.
fn lines(beat: &Beat, shown: &[Shown]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut expected = beat.expected.iter().peekable();
    for shown in shown {
        while expected.peek().is_some_and(|e| !is_match(e, shown)) {
            let is_later = expected.clone().skip(1).any(|e| is_match(e, shown));
            if !is_later {
                break;
            }
            expected.next();
        }
        let kept = expected.next_if(|e| is_match(e, shown));
        let (head, body) = match kept {
            Some(kept) => (&kept.head, kept.body.as_slice()),
            None if shown.is_body_optional => (&shown.head, [].as_slice()),
            None => (&shown.head, shown.body.as_slice()),
        };
        lines.push(format!("> {head}"));
        lines.extend(body.iter().map(|line| format!("    {line}")));
    }
    lines
}

fn blessed(script: &Script, replaced: &[(std::ops::Range<usize>, Vec<String>)]) -> String {
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
