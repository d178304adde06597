//! Tool calls: their permission decisions, results and changes.

use std::collections::HashMap;

use serde_json::{Value, json};
use windlass_vocabulary::{
    HookVerdict, PermissionAnswer, Ticket, ToolCall, ToolOutcome, ToolResultPart,
};

use super::agent_track::AgentTrack;
use super::edit_counts::{self, ChangedLines};
use super::emission::{Emission, EndedSpan, OpenSpan, millis_between};
use crate::names;
use crate::record::{Attributes, SpanContext, SpanEvent, SpanKind};

#[derive(Debug, Default)]
pub(super) struct CallTrack {
    open: HashMap<String, OpenToolCall>,
    /// Calls by the ticket of an open question to hooks or the user.
    questions: HashMap<Ticket, String>,
    running: HashMap<Ticket, String>,
}

#[derive(Debug)]
struct OpenToolCall {
    span: OpenSpan,
    call: ToolCall,
    execution: Option<OpenSpan>,
    /// When the user was asked.
    asked: Option<u64>,
    decision: Option<CallDecision>,
}

struct CallEnd<'a> {
    /// `None` if it never ran to its end.
    text: Option<&'a str>,
    is_error: bool,
    events: Vec<SpanEvent>,
}

impl CallEnd<'_> {
    fn without_result() -> Self {
        Self { text: None, is_error: false, events: Vec::new() }
    }
}

/// Who decided about a call, in the words of the reference CLI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CallDecision {
    is_accepted: bool,
    source: &'static str,
}

impl CallDecision {
    fn word(self) -> &'static str {
        if self.is_accepted { "accept" } else { "reject" }
    }
}

impl CallTrack {
    pub(super) fn open(
        &mut self,
        call: &ToolCall,
        parent: Option<SpanContext>,
        emission: &Emission<'_>,
    ) {
        let open = self.open.entry(call.id.as_str().to_owned()).or_insert_with(|| OpenToolCall {
            span: emission.begin_span(parent),
            call: call.clone(),
            execution: None,
            asked: None,
            decision: None,
        });
        // A hook or an answer may have changed the input.
        open.call.input.clone_from(&call.input);
    }

    /// The span for what a call starts: its execution, or the call itself before that.
    pub(super) fn find_context(&self, call: &str) -> Option<SpanContext> {
        let open = self.open.get(call)?;
        Some(open.execution.as_ref().unwrap_or(&open.span).context)
    }

    /// The span of the whole call.
    pub(super) fn find_call_context(&self, call: &str) -> Option<SpanContext> {
        self.open.get(call).map(|open| open.span.context)
    }

    /// Whether a call of `Agent` asks for it to run in the background.
    pub(super) fn asks_for_background(&self, call: &str) -> bool {
        let input = self.open.get(call).map(|open| open.call.input.as_str()).unwrap_or_default();
        let input: Value = serde_json::from_str(input).unwrap_or_default();
        input.get("run_in_background") == Some(&Value::Bool(true))
    }

    pub(super) fn expect_answer(&mut self, ticket: Ticket, call: &ToolCall) {
        self.questions.insert(ticket, call.id.as_str().to_owned());
    }

    pub(super) fn hooks_answered(&mut self, ticket: Ticket, verdict: &HookVerdict) {
        let Some(call) = self.questions.remove(&ticket) else { return };
        let is_accepted = match verdict {
            HookVerdict::Allow => true,
            HookVerdict::Block(_) | HookVerdict::Halt(_) => false,
            HookVerdict::Pass | HookVerdict::Ask(_) | HookVerdict::Defer(_) => return,
        };
        if let Some(open) = self.open.get_mut(&call) {
            open.decision = Some(CallDecision { is_accepted, source: "hook" });
        }
    }

    pub(super) fn user_is_asked(&mut self, call: &str, now: u64) {
        if let Some(open) = self.open.get_mut(call) {
            open.asked.get_or_insert(now);
        }
    }
}

pub(super) fn question_answered(
    track: &mut AgentTrack,
    ticket: Ticket,
    answer: &PermissionAnswer,
    emission: &mut Emission<'_>,
) {
    let Some(id) = track.calls.questions.remove(&ticket) else { return };
    let Some(open) = track.calls.open.get_mut(&id) else { return };
    let asked = open.asked.take();
    let (is_accepted, source) = match answer {
        PermissionAnswer::Allow { .. } if asked.is_none() => (true, "hook"),
        PermissionAnswer::Deny { .. } if asked.is_none() => (false, "hook"),
        PermissionAnswer::Allow { remember, .. } if remember.is_empty() => (true, "user_temporary"),
        PermissionAnswer::Allow { .. } => (true, "user_permanent"),
        PermissionAnswer::Deny { interrupt: true, .. } => (false, "user_abort"),
        PermissionAnswer::Deny { .. } => (false, "user_reject"),
    };
    let decision = CallDecision { is_accepted, source };
    open.decision = Some(decision);
    let Some(asked) = asked else { return };
    let span = OpenSpan { start: asked, ..emission.begin_span(Some(open.span.context)) };
    let attributes = Attributes::default()
        .count("duration_ms", millis_between(asked, emission.now))
        .text("decision", decision.word())
        .text("source", source);
    emission.end_span(EndedSpan {
        span,
        name: names::BLOCKED_ON_USER_SPAN,
        kind: SpanKind::Internal,
        end: emission.now,
        attributes,
        events: Vec::new(),
        error: None,
    });
}

pub(super) fn call_started(
    track: &mut AgentTrack,
    ticket: Ticket,
    call: &ToolCall,
    emission: &mut Emission<'_>,
) {
    track.open_call(call, emission);
    track.run.tool_uses += 1;
    let Some(open) = track.calls.open.get_mut(call.id.as_str()) else { return };
    open.execution = Some(emission.begin_span(Some(open.span.context)));
    // Without a question, a rule or the mode has allowed it.
    let decision =
        *open.decision.get_or_insert(CallDecision { is_accepted: true, source: "config" });
    emit_decision(call, decision, emission);
    if call.name.as_str() == "Skill" {
        let name = read_input(call, "skill").unwrap_or_default();
        track.run.skill = Some(name.clone());
        let is_revealed = emission.config.content.tool_details;
        let name = if is_revealed { name } else { "custom".to_owned() };
        emission.event(names::SKILL_ACTIVATED, Attributes::default().text("skill.name", name));
    }
    track.calls.running.insert(ticket, call.id.as_str().to_owned());
}

pub(super) fn call_denied(track: &mut AgentTrack, call: &ToolCall, emission: &mut Emission<'_>) {
    track.open_call(call, emission);
    let Some(open) = track.calls.open.remove(call.id.as_str()) else { return };
    let denied = open.decision.filter(|decision| !decision.is_accepted);
    let decision = denied.unwrap_or(CallDecision { is_accepted: false, source: "config" });
    emit_decision(call, decision, emission);
    end_call_span(&open, emission.now, &CallEnd::without_result(), emission);
}

pub(super) fn call_ended(
    track: &mut AgentTrack,
    ticket: Ticket,
    outcome: &ToolOutcome,
    emission: &mut Emission<'_>,
) {
    // A second end only bills a call that continues in the background.
    let Some(id) = track.calls.running.remove(&ticket) else { return };
    let Some(mut open) = track.calls.open.remove(&id) else { return };
    let Some(execution) = open.execution.take() else { return };
    let took = outcome.took.0;
    let end = (execution.start + took.saturating_mul(1_000_000)).min(emission.now);
    let text = outcome_text(outcome);
    end_execution_span(execution, outcome, took, end, &text, emission);
    emit_result(&open, outcome, took, &text, emission);
    if let Some((server, tool)) = split_mcp_name(open.call.name.as_str()) {
        track.mcp_call = Some((server.to_owned(), tool.to_owned()));
    }
    if !outcome.is_error {
        count_changes(&open.call, outcome, &track.run.model, emission);
    }
    let mut events = Vec::new();
    if emission.config.content.tool_content {
        let output = emission.cut(&text, emission.config.content.length_max);
        let attributes = Attributes::default().text("content", output);
        events.push(SpanEvent { name: names::TOOL_OUTPUT, time: end, attributes });
    }
    let result = CallEnd { text: Some(&text), is_error: outcome.is_error, events };
    end_call_span(&open, end, &result, emission);
}

/// Ends the spans of calls that were abandoned.
pub(super) fn abandon_all(track: &mut AgentTrack, emission: &mut Emission<'_>) {
    track.calls.questions.clear();
    track.calls.running.clear();
    for (_, mut open) in std::mem::take(&mut track.calls.open) {
        if let Some(execution) = open.execution.take() {
            let took = millis_between(execution.start, emission.now);
            let outcome = ToolOutcome::failure("aborted");
            end_execution_span(execution, &outcome, took, emission.now, "aborted", emission);
        }
        end_call_span(&open, emission.now, &CallEnd::without_result(), emission);
    }
}

fn emit_decision(call: &ToolCall, decision: CallDecision, emission: &mut Emission<'_>) {
    let attributes = describe_tool(call, emission)
        .text("decision", decision.word())
        .text("source", decision.source)
        .optional_text("tool_parameters", render_parameters(call, emission));
    emission.event(names::TOOL_DECISION, attributes);
    if edit_counts::is_edit(call.name.as_str()) {
        let path = read_input(call, "file_path").or_else(|| read_input(call, "notebook_path"));
        let language = edit_counts::guess_language(&path.unwrap_or_default());
        let attributes = Attributes::default()
            .text("tool_name", call.name.as_str())
            .text("decision", decision.word())
            .text("source", decision.source)
            .text("language", language);
        emission.count(&names::EDIT_DECISIONS, 1.0, attributes);
    }
}

fn emit_result(
    open: &OpenToolCall,
    outcome: &ToolOutcome,
    took: u64,
    text: &str,
    emission: &mut Emission<'_>,
) {
    let call = &open.call;
    let switches = &emission.config.content;
    let decision = open.decision;
    let error = outcome.is_error.then(|| match switches.tool_details {
        true => emission.cut(text, ERROR_LENGTH_MAX),
        false => TOOL_ERROR.to_owned(),
    });
    let input = switches.tool_details.then(|| emission.cut(call.input.as_str(), INPUT_LENGTH_MAX));
    let attributes = describe_tool(call, emission)
        .text("success", (!outcome.is_error).to_string())
        .count("duration_ms", took)
        .optional_text("error_type", outcome.is_error.then_some(TOOL_ERROR))
        .optional_text("error", error)
        .optional_text("decision_type", decision.map(CallDecision::word))
        .optional_text("decision_source", decision.map(|decision| decision.source))
        .count("tool_input_size_bytes", call.input.as_str().len() as u64)
        .count("tool_result_size_bytes", text.len() as u64)
        .optional_text("mcp_server_scope", find_server_scope(call, emission))
        .optional_text("tool_parameters", render_parameters(call, emission))
        .optional_text("tool_input", input);
    emission.event(names::TOOL_RESULT, attributes);
}

fn end_execution_span(
    execution: OpenSpan,
    outcome: &ToolOutcome,
    took: u64,
    end: u64,
    text: &str,
    emission: &mut Emission<'_>,
) {
    let error = outcome.is_error.then(|| match emission.config.content.tool_details {
        true => emission.cut(text, ERROR_LENGTH_MAX),
        false => TOOL_ERROR.to_owned(),
    });
    let attributes = Attributes::default()
        .count("duration_ms", took)
        .flag("success", !outcome.is_error)
        .optional_text("error", error.clone());
    emission.end_span(EndedSpan {
        span: execution,
        name: names::EXECUTION_SPAN,
        kind: SpanKind::Internal,
        end,
        attributes,
        events: Vec::new(),
        error,
    });
}

/// Uses the attributes of both the reference CLI and the `gen_ai` conventions.
fn end_call_span(open: &OpenToolCall, end: u64, result: &CallEnd<'_>, emission: &mut Emission<'_>) {
    let call = &open.call;
    let switches = &emission.config.content;
    let shown = display_name(call.name.as_str(), switches.tool_details);
    let kind = if is_mcp(call) { "extension" } else { "function" };
    let mut attributes = Attributes::default()
        .text("tool_name", &shown)
        .text("tool_use_id", call.id.as_str())
        .text("gen_ai.operation.name", "execute_tool")
        .text("gen_ai.tool.name", shown)
        .text("gen_ai.tool.call.id", call.id.as_str())
        .text("gen_ai.tool.type", kind)
        .optional_text("mcp.method.name", is_mcp(call).then_some("tools/call"))
        .optional_text("error.type", result.is_error.then_some(TOOL_ERROR))
        .count("result_tokens", result.text.map_or(0, str::len) as u64 / BYTES_PER_TOKEN);
    if switches.tool_details {
        for (name, key) in [
            ("file_path", "file_path"),
            ("full_command", "command"),
            ("skill_name", "skill"),
            ("subagent_type", "subagent_type"),
        ] {
            let value =
                read_input(call, key).map(|value| emission.cut(&value, switches.length_max));
            attributes = attributes.optional_text(name, value);
        }
    }
    if switches.tool_content {
        let arguments = emission.cut(call.input.as_str(), switches.length_max);
        let output = result.text.map(|text| emission.cut(text, switches.length_max));
        attributes = attributes
            .text("gen_ai.tool.call.arguments", arguments)
            .optional_text("gen_ai.tool.call.result", output);
    }
    emission.end_span(EndedSpan {
        span: open.span.clone(),
        name: names::TOOL_SPAN,
        kind: SpanKind::Internal,
        end,
        attributes,
        events: result.events.clone(),
        error: None,
    });
}

fn count_changes(call: &ToolCall, outcome: &ToolOutcome, model: &str, emission: &mut Emission<'_>) {
    let ChangedLines { added, removed } = edit_counts::count_lines(call, outcome);
    for (kind, lines) in [("added", added), ("removed", removed)] {
        let attributes = Attributes::default().text("type", kind).text("model", model);
        emission.count(&names::LINES_OF_CODE, lines as f64, attributes);
    }
    if call.name.as_str() == "Bash" {
        let command = read_input(call, "command").unwrap_or_default();
        if edit_counts::creates_commit(&command) {
            emission.count(&names::COMMITS, 1.0, Attributes::default());
        }
        if edit_counts::creates_pull_request(&command) {
            emission.count(&names::PULL_REQUESTS, 1.0, Attributes::default());
        }
    }
}

fn describe_tool(call: &ToolCall, emission: &Emission<'_>) -> Attributes {
    let details = emission.config.content.tool_details;
    Attributes::default()
        .text("tool_name", display_name(call.name.as_str(), details))
        .text("tool_use_id", call.id.as_str())
        .text("tool_source", if is_mcp(call) { "mcp" } else { "builtin" })
}

/// The parameters that identify a call, if details may be sent.
fn render_parameters(call: &ToolCall, emission: &Emission<'_>) -> Option<String> {
    if !emission.config.content.tool_details {
        return None;
    }
    let length_max = emission.config.content.length_max;
    let of = |key: &str| read_input(call, key).map(|value| emission.cut(&value, length_max / 2));
    let parameters = if let Some((server, tool)) = split_mcp_name(call.name.as_str()) {
        json!({ "mcp_server_name": server, "mcp_tool_name": tool })
    } else {
        match call.name.as_str() {
            "Bash" => {
                let command = of("command")?;
                let word = command.split_whitespace().next().unwrap_or_default();
                json!({ "bash_command": word, "full_command": command })
            }
            "Skill" => json!({ "skill_name": of("skill")? }),
            "Agent" | "Task" => json!({ "subagent_type": of("subagent_type")? }),
            _ => json!({ "file_path": of("file_path")? }),
        }
    };
    Some(parameters.to_string())
}

fn read_input(call: &ToolCall, key: &str) -> Option<String> {
    let input: Value = serde_json::from_str(call.input.as_str()).ok()?;
    input.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Server and tool of a name such as `mcp__docs__search`.
fn split_mcp_name(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

/// Where the server of a tool is configured.
fn find_server_scope(call: &ToolCall, emission: &Emission<'_>) -> Option<String> {
    let (server, _) = split_mcp_name(call.name.as_str())?;
    emission.wiring.server_scopes.get(&format!("mcp__{server}__")).cloned()
}

fn is_mcp(call: &ToolCall) -> bool {
    call.name.as_str().starts_with("mcp__")
}

/// Hides names of MCP tools, which the user chose, unless details may be sent.
fn display_name(name: &str, details: bool) -> String {
    match name.starts_with("mcp__") && !details {
        true => "mcp_tool".to_owned(),
        false => name.to_owned(),
    }
}

fn outcome_text(outcome: &ToolOutcome) -> String {
    let mut text = String::new();
    for part in &outcome.content {
        if let ToolResultPart::Text(piece) = part {
            text.push_str(piece);
        }
    }
    text
}

/// Sent in place of an error message.
const TOOL_ERROR: &str = "tool_error";
const ERROR_LENGTH_MAX: usize = 1_000;
const INPUT_LENGTH_MAX: usize = 4_096;
const BYTES_PER_TOKEN: u64 = 4;
