//! From a transcript to what may be sent: four steps, in this order, each driven by the provider's
//! [`Law`]. Levels (in the engine) make a request small, steps make it legal.
//!
//! Every step is a function of the transcript's prefix: what is sent for the first messages does
//! not depend on the later ones, except where a limit on the whole request forces it. So request
//! N + 1 begins with the bytes of request N, and the provider's cache holds.

pub mod step_1_shape;
pub mod step_2_pair_tool_results;
pub mod step_3_strip_provider_blocks;
pub mod step_4_cap_media;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::ModelRequest;

use crate::law::Law;
use crate::projection::Projection;

/// Runs the four steps.
#[must_use]
pub fn normalize<'a>(request: &'a ModelRequest, law: &Law) -> (Projection<'a>, Notes) {
    let mut notes = Notes::default();
    let shaped = step_1_shape::shape(request, &mut notes);
    let mut projection = step_2_pair_tool_results::pair(shaped, law, &mut notes);
    step_3_strip_provider_blocks::strip(&mut projection, request, law, &mut notes);
    projection.settle(law);
    step_4_cap_media::cap(&mut projection, law, &mut notes);
    (projection, notes)
}

/// What was left out or made up, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    lines: Vec<String>,
    unwritten: usize,
}

impl Notes {
    /// Adds a line, or counts it when there are many already.
    pub(crate) fn add(&mut self, line: impl Into<String>) {
        if self.lines.len() < LINES_MAX {
            self.lines.push(line.into());
        } else {
            self.unwritten += 1;
        }
    }

    /// The lines, the last one saying how many more there were.
    #[must_use]
    pub fn into_lines(mut self) -> Vec<String> {
        if self.unwritten > 0 {
            self.lines.push(format!("and {} more", self.unwritten));
        }
        self.lines
    }
}

const LINES_MAX: usize = 50;
