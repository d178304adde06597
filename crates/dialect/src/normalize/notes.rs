//! What was left out or made up, for people: by step, then by place, so that the same request gives
//! the same notes whether its beginning was looked at now or before.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// What was left out or made up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NormalizationNotes {
    /// One list for each step, in the order in which they are read.
    steps: [Vec<NormalizationNote>; STEPS],
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct NormalizationNote {
    /// A message of the request, not after the one it is about.
    at: usize,
    /// Missing where too many notes come before it.
    line: Option<String>,
}

/// Where a note is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NormalizationStep {
    Shape,
    Pair,
    Strip,
    StripHalfPairs,
    FailedResult,
    MediaItem,
    MediaWindow,
    ManyImages,
    Tools,
}

const STEPS: usize = 9;

impl NormalizationNotes {
    pub(crate) fn add(&mut self, step: NormalizationStep, at: usize, line: impl Into<String>) {
        if let Some(notes) = self.steps.get_mut(step as usize) {
            let line = (notes.len() < LINES_MAX).then(|| line.into());
            notes.push(NormalizationNote { at, line });
        }
    }

    /// Forgets everything from this message on.
    pub(crate) fn truncate(&mut self, from: usize) {
        self.steps.iter_mut().for_each(|notes| notes.retain(|note| note.at < from));
    }

    /// The lines, the last one saying how many more there were.
    #[must_use]
    pub fn into_lines(self) -> Vec<String> {
        self.merge_lines(&Self::default())
    }

    /// The lines of both.
    pub(crate) fn merge_lines(&self, also: &Self) -> Vec<String> {
        let all = || self.steps.iter().chain(&also.steps).flatten();
        let mut lines: Vec<String> =
            all().take(LINES_MAX).map(|note| note.line.clone().unwrap_or_default()).collect();
        let unwritten = all().skip(LINES_MAX).count();
        if unwritten > 0 {
            lines.push(format!("and {unwritten} more"));
        }
        lines
    }
}

const LINES_MAX: usize = 50;
