//! The calls of the answer under way, in their order, and how far each has come.

use alloc::string::String;
use alloc::vec::Vec;
use windlass_permission::{PendingPermissionQuestion, PermissionGrant};
use windlass_vocabulary::{
    Concurrency, Ticket, ToolCall, ToolInspection, ToolOutcome, ToolResult, ToolResultPart,
};

use crate::text;

/// The calls of the answer under way.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// In the order of the answer.
    pub entries: Vec<Entry>,
    /// A hook wants the run to end after this batch: its name and its reason.
    pub halt: Option<(String, String)>,
    /// Words for the model that go with the results: from hooks and from the guard against circles.
    pub remarks: Vec<String>,
    /// How far the hooks are that look at the whole batch.
    pub batch: Batch,
}

/// How far the hooks are that look at a whole batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Batch {
    /// They were not asked.
    #[default]
    Unasked,
    /// They are asked.
    Asked(Ticket),
    /// They have answered.
    Heard,
}

/// One call.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// The call as it stands in the answer.
    pub call: ToolCall,
    /// What the registry said of it.
    pub inspection: ToolInspection,
    /// How far it has come.
    pub stage: Stage,
    /// It could not be read, or was wrong, as the model wrote it.
    pub is_broken: bool,
    /// It was handed to the driver at some time, so it may have had an effect.
    pub has_started: bool,
}

/// How far a call has come.
#[derive(Debug, PartialEq, Eq)]
pub enum Stage {
    /// Complete; in batch mode it waits here for the end of the answer.
    Received,
    /// Hooks look at it before it may run.
    Hooked(Ticket),
    /// A hook deferred it; it is not worked on.
    Deferred,
    /// The user is asked.
    Asked(Ticket, PendingPermissionQuestion),
    /// It may start as soon as the schedule allows.
    Ready(PermissionGrant<ToolCall>),
    /// It runs.
    Running(Ticket),
    /// Hooks look at what came of it.
    Reviewed(Ticket, ToolOutcome),
    /// It has its result.
    Done(ToolOutcome),
}

impl Entry {
    pub(crate) fn new(call: ToolCall, inspection: ToolInspection) -> Self {
        let is_broken = inspection.problem.is_some();
        Self { call, inspection, stage: Stage::Received, is_broken, has_started: false }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done(_))
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.inspection.concurrency == Concurrency::Exclusive
    }

    /// The errand it waits for.
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        match &self.stage {
            Stage::Hooked(ticket)
            | Stage::Asked(ticket, _)
            | Stage::Running(ticket)
            | Stage::Reviewed(ticket, _) => Some(*ticket),
            Stage::Received | Stage::Deferred | Stage::Ready(_) | Stage::Done(_) => None,
        }
    }
}

impl Queue {
    /// The place of the call that waits for this errand.
    pub fn position(&self, ticket: Ticket) -> Option<usize> {
        self.entries.iter().position(|entry| entry.ticket() == Some(ticket))
    }

    /// Every call that has its result, as the model will see it.
    pub(crate) fn results(&self) -> Vec<(ToolCall, ToolResult)> {
        let done = |entry: &Entry| match &entry.stage {
            Stage::Done(outcome) => Some((entry.call.clone(), result(&entry.call, outcome))),
            Stage::Received
            | Stage::Hooked(_)
            | Stage::Deferred
            | Stage::Asked(..)
            | Stage::Ready(_)
            | Stage::Running(_)
            | Stage::Reviewed(..) => None,
        };
        self.entries.iter().filter_map(done).collect()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.entries.iter().all(Entry::is_done)
    }

    /// A tool of this answer was started, so the answer can no longer be discarded.
    pub(crate) fn has_started(&self) -> bool {
        self.entries.iter().any(|entry| entry.has_started)
    }
}

/// The result of a call as the model will see it.
pub(crate) fn result(call: &ToolCall, outcome: &ToolOutcome) -> ToolResult {
    let content = match outcome.is_error {
        false => outcome.content.clone(),
        true => outcome
            .content
            .iter()
            .map(|part| match part {
                ToolResultPart::Text(words) => ToolResultPart::Text(text::tool_error(words)),
                ToolResultPart::Media(_) => part.clone(),
            })
            .collect(),
    };
    ToolResult { call: call.id.clone(), content, is_error: outcome.is_error }
}
