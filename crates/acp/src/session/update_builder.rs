//! Notices of a session become updates for the client.

use std::collections::BTreeMap;
use std::path::PathBuf;

use windlass_host::display::human_format;
use windlass_host::display::tool_call_summary::summarize_tool_call;
use windlass_vocabulary::{
    Delta, Message, MessageOrigin, Notice, Outcome, Role, ToolCall, ToolCallId, ToolOutcome,
};

use super::compaction_updates::CompactionUpdates;
use super::tool_call_view::{describe_call, describe_outcome, parse_plan, shows_change};
use crate::schema::{
    AcpContent, ClientCapabilities, Cost, NoticeSeverity, SessionUpdate, ToolCallContent,
    ToolCallStatus, ToolCallUpdate,
};

#[derive(Debug)]
pub(super) struct UpdateBuilder {
    takes_notices: bool,
    pub compaction: CompactionUpdates,
    /// The directory of the session, as the client spells it.
    cwd: PathBuf,
    /// Tokens of the model's window.
    pub window: u64,
    /// What was sent of the answer under way.
    sent_text: String,
    message_id: Option<String>,
    calls: BTreeMap<ToolCallId, ShownCall>,
}

/// A call the client knows and that has not ended.
#[derive(Debug, Default)]
struct ShownCall {
    shows_change: bool,
    /// Output while it runs; only the end of it, if it is much.
    output: String,
    is_described: bool,
}

impl UpdateBuilder {
    pub(super) fn new(capabilities: &ClientCapabilities, cwd: PathBuf, window: u64) -> Self {
        Self {
            takes_notices: capabilities.takes_notices(),
            compaction: CompactionUpdates::new(capabilities.takes_compaction()),
            cwd,
            window,
            sent_text: String::new(),
            message_id: None,
            calls: BTreeMap::new(),
        }
    }

    pub(super) fn notice_to_updates(&mut self, notice: &Notice) -> Vec<SessionUpdate> {
        match notice {
            Notice::RequestStarted { attempt, .. } => {
                self.sent_text.clear();
                self.message_id = Some(format!("answer-{}", attempt.0));
                Vec::new()
            }
            Notice::Streamed { delta, .. } => self.delta_to_updates(delta),
            Notice::Retracted { why, .. } => {
                self.sent_text.clear();
                let mut updates = self.fail_undescribed_calls();
                updates.extend(self.tell(NoticeSeverity::Warning, format!("Asking again: {why}")));
                updates
            }
            Notice::MessageAdded(message) if message.origin == MessageOrigin::Summary => {
                self.compaction.complete(&message.text()).into_iter().collect()
            }
            Notice::MessageAdded(message) => self.rest_of_answer(message),
            Notice::ToolStarted(call) => self.show_call(call, ToolCallStatus::InProgress),
            Notice::ToolProgressed { call, text } => self.add_output(call, text),
            Notice::ToolEnded { call, outcome } => self.end_call(call, outcome),
            Notice::ToolDenied { call, why } => self.deny_call(call, why),
            Notice::PermissionAsked { question, .. } => {
                self.show_call(&question.call, ToolCallStatus::Pending)
            }
            Notice::SubagentNotice { call, notice, .. } => self.subagent_progress(call, notice),
            Notice::RetryScheduled { failure, attempt, attempts_max, wait } => {
                let (what, _) = human_format::describe_failure(failure);
                let seconds = wait.0.div_ceil(1_000);
                let text = format!(
                    "{what}; trying again in {seconds} s (attempt {attempt} of {attempts_max})"
                );
                self.tell(NoticeSeverity::Warning, text).into_iter().collect()
            }
            Notice::ModelSwitched { from, to, why } => {
                let text = format!("Switched from {from} to {to}: {why}");
                self.tell(NoticeSeverity::Warning, text).into_iter().collect()
            }
            Notice::Repaired { why } => {
                self.tell(NoticeSeverity::Warning, why.clone()).into_iter().collect()
            }
            Notice::Warning(text) => {
                self.tell(NoticeSeverity::Warning, text.clone()).into_iter().collect()
            }
            Notice::HookMessage { name, text, .. } => {
                self.tell(NoticeSeverity::Info, format!("{name}: {text}")).into_iter().collect()
            }
            Notice::ContextShrunk { level, .. } if *level == SUMMARY_LEVEL => {
                self.compaction.replace_history().into_iter().collect()
            }
            Notice::SessionTitled(title) => {
                vec![SessionUpdate::SessionInfoUpdate { title: title.clone() }]
            }
            Notice::Billed { usage, total, .. } => vec![SessionUpdate::UsageUpdate {
                used: (usage.input_total() + usage.output).0,
                size: self.window,
                cost: Some(Cost { amount: micro_to_dollars(total.0), currency: "USD" }),
            }],
            Notice::RunEnded(ending) => {
                let mut updates = self.fail_open_calls();
                updates.extend(self.compaction.end_run(ending));
                if ending.outcome == Some(Outcome::StorageFailed) {
                    updates.extend(self.tell(NoticeSeverity::Error, ending.why.clone()));
                }
                updates
            }
            Notice::RunStarted
            | Notice::AnswerStarted { .. }
            | Notice::Sealed { .. }
            | Notice::PermissionWithdrawn(_)
            | Notice::ContextShrunk { .. }
            | Notice::Continued { .. }
            | Notice::Hook(_)
            | Notice::FilesChanged { .. }
            | Notice::ToolsLabelled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::InputQueued(_)
            | Notice::MaxTurnsReached { .. } => Vec::new(),
        }
    }

    pub(super) fn message(&self, text: impl Into<String>) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk {
            content: AcpContent::text(text),
            message_id: self.message_id.clone(),
        }
    }

    fn delta_to_updates(&mut self, delta: &Delta) -> Vec<SessionUpdate> {
        match delta {
            Delta::Text(text) => {
                self.sent_text.push_str(text);
                vec![self.message(text.as_str())]
            }
            Delta::Thinking(text) => {
                vec![SessionUpdate::AgentThoughtChunk { content: AcpContent::text(text.as_str()) }]
            }
            Delta::CallStarted { id, name } if name.as_str() != "TodoWrite" => {
                self.calls.insert(id.clone(), ShownCall::default());
                vec![SessionUpdate::ToolCall(ToolCallUpdate {
                    tool_call_id: id.as_str().to_owned(),
                    title: Some(name.as_str().to_owned()),
                    name: Some(name.as_str().to_owned()),
                    kind: Some(super::tool_call_view::tool_kind(name.as_str())),
                    status: Some(ToolCallStatus::Pending),
                    ..ToolCallUpdate::default()
                })]
            }
            Delta::Call { call, .. } => self.show_call(call, ToolCallStatus::Pending),
            Delta::CallStarted { .. }
            | Delta::CallInput(_)
            | Delta::Block(_)
            | Delta::Usage(_)
            | Delta::Cleared { .. }
            | Delta::Raw(_) => Vec::new(),
        }
    }

    /// Pieces may be dropped when the client reads slowly; the whole message has them all.
    fn rest_of_answer(&mut self, message: &Message) -> Vec<SessionUpdate> {
        if message.role != Role::Assistant || message.model.is_none() {
            return Vec::new();
        }
        let whole = message.text();
        let sent = std::mem::take(&mut self.sent_text);
        match whole.strip_prefix(&sent) {
            Some("") | None => Vec::new(),
            Some(rest) => vec![self.message(rest)],
        }
    }

    fn show_call(&mut self, call: &ToolCall, status: ToolCallStatus) -> Vec<SessionUpdate> {
        if let Some(entries) = parse_plan(call) {
            // The call is known twice: when it is complete, and when it starts.
            let is_start = status == ToolCallStatus::InProgress;
            return if is_start { vec![SessionUpdate::Plan { entries }] } else { Vec::new() };
        }
        let is_known = self.calls.contains_key(&call.id);
        let shown = self.calls.entry(call.id.clone()).or_default();
        shown.shows_change = shows_change(call);
        // A quick call may start before the answer that asks for it is whole.
        let is_late = status == ToolCallStatus::Pending && shown.is_described;
        if is_late {
            return Vec::new();
        }
        if shown.is_described {
            return vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                tool_call_id: call.id.as_str().to_owned(),
                status: Some(status),
                ..ToolCallUpdate::default()
            })];
        }
        shown.is_described = true;
        let described = describe_call(call, status, &self.cwd);
        match is_known {
            true => vec![SessionUpdate::ToolCallUpdate(described)],
            false => vec![SessionUpdate::ToolCall(described)],
        }
    }

    fn add_output(&mut self, call: &ToolCallId, text: &str) -> Vec<SessionUpdate> {
        let shown = self.calls.get_mut(call).filter(|shown| !shown.shows_change);
        let Some(shown) = shown.filter(|_| !text.is_empty()) else {
            return Vec::new();
        };
        // Pieces of output are whole lines.
        if !text.is_empty() && !shown.output.is_empty() && !shown.output.ends_with('\n') {
            shown.output.push('\n');
        }
        shown.output.push_str(text);
        if shown.output.len() > LIVE_OUTPUT_BYTES_MAX {
            let mut start = shown.output.len() - LIVE_OUTPUT_BYTES_MAX / 2;
            while !shown.output.is_char_boundary(start) {
                start += 1;
            }
            shown.output.drain(..start);
        }
        vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate {
            tool_call_id: call.as_str().to_owned(),
            content: Some(vec![ToolCallContent::text(shown.output.as_str())]),
            ..ToolCallUpdate::default()
        })]
    }

    fn subagent_progress(&mut self, call: &ToolCallId, notice: &Notice) -> Vec<SessionUpdate> {
        let Notice::ToolStarted(inner) = notice else { return Vec::new() };
        let line = format!("{}\n", summarize_tool_call(inner, SUBAGENT_LINE_CHARS_MAX));
        self.add_output(call, &line)
    }

    fn end_call(&mut self, call: &ToolCallId, outcome: &ToolOutcome) -> Vec<SessionUpdate> {
        let Some(shown) = self.calls.remove(call) else { return Vec::new() };
        let update = describe_outcome(call.as_str(), outcome, shown.shows_change);
        vec![SessionUpdate::ToolCallUpdate(update)]
    }

    fn deny_call(&mut self, call: &ToolCall, why: &str) -> Vec<SessionUpdate> {
        let mut updates = match self.calls.contains_key(&call.id) {
            true => Vec::new(),
            false => self.show_call(call, ToolCallStatus::Pending),
        };
        if self.calls.remove(&call.id).is_some() {
            updates.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                tool_call_id: call.id.as_str().to_owned(),
                status: Some(ToolCallStatus::Failed),
                content: Some(vec![ToolCallContent::text(why)]),
                ..ToolCallUpdate::default()
            }));
        }
        updates
    }

    fn fail_undescribed_calls(&mut self) -> Vec<SessionUpdate> {
        self.fail_calls(|shown| !shown.is_described)
    }

    fn fail_open_calls(&mut self) -> Vec<SessionUpdate> {
        self.fail_calls(|_| true)
    }

    fn fail_calls(&mut self, is_over: impl Fn(&ShownCall) -> bool) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        self.calls.retain(|id, shown| {
            let ends = is_over(shown);
            if ends {
                updates.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                    tool_call_id: id.as_str().to_owned(),
                    status: Some(ToolCallStatus::Failed),
                    ..ToolCallUpdate::default()
                }));
            }
            !ends
        });
        updates
    }

    pub(super) fn tell(&self, severity: NoticeSeverity, title: String) -> Option<SessionUpdate> {
        self.takes_notices.then_some(SessionUpdate::Notice { severity, title })
    }
}

fn micro_to_dollars(micro: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "shown to people, never added up")]
    let micro = micro as f64;
    micro / 1_000_000.0
}

/// The context level that replaces the conversation with a summary.
const SUMMARY_LEVEL: u8 = 5;
const LIVE_OUTPUT_BYTES_MAX: usize = 32 << 10;
const SUBAGENT_LINE_CHARS_MAX: usize = 120;
