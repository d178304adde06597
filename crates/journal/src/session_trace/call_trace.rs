//! Traces a call: question, decision, start, end.

use serde_json::Value;
use windlass_engine::State;
use windlass_permission::file_system_view::RecordedFileSystem;
use windlass_permission::policy_check::build_inspected_report;
use windlass_vocabulary::{
    MicroUsd, PermissionAnswer, ToolCall, ToolInspection, ToolOutcome, ToolResultPart,
};

use super::trace_builder::{INPUT_BYTES_MAX, RESULT_BYTES_MAX};
use super::{TracedCall, TracedMedia, TracedPermissionAnswer, TracedResult, TracedText};

impl TracedCall {
    /// A call whose input has just arrived, and what the current rules decide about it.
    pub(super) fn new(
        call: &ToolCall,
        inspection: Option<&ToolInspection>,
        state: &State,
        seq: u64,
    ) -> Self {
        let report = inspection.map(|inspection| {
            let seen = RecordedFileSystem(&inspection.seen);
            build_inspected_report(&state.tool_context.policy, call, inspection, &seen)
        });
        Self {
            id: call.id.clone(),
            tool: call.name.clone(),
            input: TracedText::new(call.input.as_str(), seq, INPUT_BYTES_MAX),
            report,
            asked: None,
            denied: None,
            started_at: None,
            result: None,
            progress: Vec::new(),
            spent: MicroUsd(0),
            agent: None,
        }
    }

    pub(super) fn take_outcome(&mut self, outcome: &ToolOutcome, seq: u64, at: u64) {
        self.spent = self.spent + outcome.spent;
        self.result = Some(TracedResult::from_outcome(outcome, seq, at));
        if let Some(structured) = &outcome.structured
            && structured.as_str().len() <= STRUCTURED_BYTES_MAX
            && let Ok(value) = serde_json::from_str::<Value>(structured.as_str())
            && let Some(agent) = value.get("agentId").and_then(Value::as_str)
        {
            self.agent = Some(agent.to_owned());
        }
    }

    pub(super) fn push_progress(&mut self, text: &str) {
        if self.progress.len() >= PROGRESS_LINES_MAX {
            self.progress.remove(0);
        }
        self.progress.push(TracedText::new(text, 0, PROGRESS_BYTES_MAX).text);
    }

    pub(super) fn take_answer(&mut self, at: u64, by: Option<String>, answer: &PermissionAnswer) {
        let Some(asked) = &mut self.asked else { return };
        asked.answer = Some(match answer {
            PermissionAnswer::Allow { remember, .. } => TracedPermissionAnswer {
                at,
                is_allowed: true,
                by,
                remember: remember.clone(),
                message: None,
            },
            PermissionAnswer::Deny { message, .. } => TracedPermissionAnswer {
                at,
                is_allowed: false,
                by,
                remember: Vec::new(),
                message: Some(message.clone()),
            },
        });
    }
}

impl TracedResult {
    fn from_outcome(outcome: &ToolOutcome, seq: u64, at: u64) -> Self {
        let (text, media) = split_parts(&outcome.content, seq);
        let took_millis = outcome.took.0;
        Self { at, text, media, is_error: outcome.is_error, took_millis }
    }
}

/// The text of a result, and its images.
pub(super) fn split_parts(parts: &[ToolResultPart], seq: u64) -> (TracedText, Vec<TracedMedia>) {
    let mut words = String::new();
    let mut bytes = 0;
    let mut media = Vec::new();
    for part in parts {
        match part {
            ToolResultPart::Text(text) => {
                bytes += text.len();
                if words.len() <= RESULT_BYTES_MAX {
                    let end = text.floor_char_boundary((RESULT_BYTES_MAX + 1).min(text.len()));
                    words.push_str(text.get(..end).unwrap_or_default());
                }
            }
            ToolResultPart::Media(one) => media.push(TracedMedia::new(one, seq, media.len())),
        }
    }
    let text = TracedText::new(&words, seq, RESULT_BYTES_MAX);
    (TracedText { bytes, ..text }, media)
}

/// The report of a nested session is longer than its answer.
const STRUCTURED_BYTES_MAX: usize = 1 << 20;
const PROGRESS_LINES_MAX: usize = 5;
const PROGRESS_BYTES_MAX: usize = 200;
