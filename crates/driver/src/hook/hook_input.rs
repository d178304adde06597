//! Builds the JSON input of hooks.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use windlass_engine::HookSubject;
use windlass_hook::HookEvent;
use windlass_tool::BackgroundTask;
use windlass_vocabulary::{
    Effort, FailureKind, Json, PermissionMode, PermissionQuestion, ToolCall, ToolCallId,
    ToolOutcome, ToolResultPart, notice::ChangedFile,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct SessionIdentity {
    pub(crate) session: String,
    pub(crate) transcript: Option<PathBuf>,
    /// The project's root, if it differs from the working directory.
    pub(crate) project: Option<PathBuf>,
    /// The nested session: its id, its kind and its transcript.
    pub(crate) agent: Option<AgentIdentity>,
}

#[derive(Clone, Debug)]
pub(crate) struct AgentIdentity {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) transcript: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) struct HookFacts {
    pub(crate) identity: SessionIdentity,
    pub(crate) cwd: PathBuf,
    pub(crate) model: String,
    pub(crate) effort: Option<Effort>,
    /// The id of the current prompt.
    pub(crate) prompt: Mutex<String>,
}

impl HookFacts {
    pub(crate) fn build_shared_fields(
        &self,
        event: HookEvent,
        mode: PermissionMode,
    ) -> Map<String, Value> {
        let SessionIdentity { session, transcript, project: _, agent } = &self.identity;
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| insert_field(&mut fields, name, value);
        put("session_id", session.as_str().into());
        put("transcript_path", render_path(transcript.as_ref()).into());
        put("cwd", self.cwd.to_string_lossy().into());
        put("hook_event_name", event.name().into());
        put("permission_mode", serde_json::to_value(mode).unwrap_or_default());
        let prompt = self.prompt.lock().unwrap_or_else(PoisonError::into_inner);
        if !prompt.is_empty() {
            put("prompt_id", prompt.as_str().into());
        }
        if let (true, Some(effort)) = (event.is_about_tool_call(), self.effort) {
            put("effort", json!({ "level": effort }));
        }
        if let Some(agent) = agent {
            put("agent_id", agent.id.as_str().into());
            put("agent_type", agent.kind.as_str().into());
        }
        fields
    }

    pub(crate) fn build_subject_fields(&self, subject: &HookSubject) -> Map<String, Value> {
        match subject {
            HookSubject::Call(call) => build_call_fields(call),
            HookSubject::Outcome(call, outcome) => build_outcome_fields(call, outcome),
            HookSubject::Batch(calls) => {
                let one = |(call, result): &(ToolCall, windlass_vocabulary::ToolResult)| {
                    let mut fields = build_call_fields(call);
                    insert_field(
                        &mut fields,
                        "tool_response",
                        ToolResultPart::join_texts(&result.content),
                    );
                    Value::Object(fields)
                };
                into_object(json!({ "tool_calls": calls.iter().map(one).collect::<Vec<_>>() }))
            }
            HookSubject::Stop { is_retry, blocks, blocks_max, answer, is_overridden } => {
                let mut fields = into_object(json!({
                    "stop_hook_active": is_retry,
                    "last_assistant_message": answer,
                    "background_tasks": [],
                    "session_crons": [],
                    "stop_hook_blocks": blocks,
                    "stop_hook_blocks_max": blocks_max,
                }));
                if *is_overridden {
                    insert_field(&mut fields, "stop_hook_overridden", true);
                }
                if let Some(agent) = &self.identity.agent {
                    insert_field(
                        &mut fields,
                        "agent_transcript_path",
                        render_path(agent.transcript.as_ref()),
                    );
                }
                fields
            }
            HookSubject::Failure { why, kind, answer } => {
                let mut fields =
                    into_object(json!({ "error": error_name(*kind), "error_details": why }));
                if !answer.is_empty() {
                    insert_field(&mut fields, "last_assistant_message", answer.as_str());
                }
                fields
            }
            HookSubject::Compaction { by_hand, focus } => into_object(json!({
                "trigger": compaction_trigger(*by_hand),
                "custom_instructions": focus.as_deref().unwrap_or_default(),
            })),
            HookSubject::Compacted { by_hand, summary } => into_object(
                json!({ "trigger": compaction_trigger(*by_hand), "compact_summary": summary }),
            ),
        }
    }

    pub(crate) fn matcher_target(&self, subject: &HookSubject) -> Option<String> {
        match subject {
            HookSubject::Call(call) | HookSubject::Outcome(call, _) => {
                Some(call.name.as_str().to_owned())
            }
            HookSubject::Batch(_) => None,
            HookSubject::Stop { .. } => {
                self.identity.agent.as_ref().map(|agent| agent.kind.clone())
            }
            HookSubject::Failure { kind, .. } => Some(error_name(*kind).to_owned()),
            HookSubject::Compaction { by_hand, .. } | HookSubject::Compacted { by_hand, .. } => {
                Some(compaction_trigger(*by_hand).to_owned())
            }
        }
    }
}

/// The calls a hook runs for. Empty at the end of a run, where it means all calls of the run.
pub(crate) fn list_calls(subject: &HookSubject) -> Vec<ToolCallId> {
    match subject {
        HookSubject::Call(call) | HookSubject::Outcome(call, _) => vec![call.id.clone()],
        HookSubject::Batch(calls) => calls.iter().map(|(call, _)| call.id.clone()).collect(),
        HookSubject::Stop { .. }
        | HookSubject::Failure { .. }
        | HookSubject::Compaction { .. }
        | HookSubject::Compacted { .. } => Vec::new(),
    }
}

/// What calls changed, commands included, as far as snapshots know.
pub(crate) fn build_changed_files(files: &[ChangedFile], count: usize) -> Map<String, Value> {
    let one = |file: &ChangedFile| json!({ "path": file.path, "kind": file.kind.name() });
    into_object(json!({
        "files_changed": files.iter().map(one).collect::<Vec<_>>(),
        "files_changed_count": count,
    }))
}

/// A task running in the background; `None` if it has ended.
pub(crate) fn render_background_task(task: &BackgroundTask) -> Option<Value> {
    let kind = if task.is_agent { "local_agent" } else { "local_bash" };
    let described = json!({
        "task_id": task.id, "task_type": kind, "description": task.command, "status": "running",
    });
    task.end_summary.is_none().then_some(described)
}

pub(crate) fn build_question_fields(question: &PermissionQuestion) -> Map<String, Value> {
    let mut fields = build_call_fields(&question.call);
    // The documented input has no id here: a question may outlive the call it was about.
    fields.remove("tool_use_id");
    if !question.suggestions.is_empty() {
        let rules: Vec<Value> = question.suggestions.iter().map(|rule| render_rule(rule)).collect();
        let update = json!({
            "type": "addRules", "rules": rules, "behavior": "allow", "destination": "session",
        });
        fields.insert("permission_suggestions".to_owned(), json!([update]));
    }
    fields
}

fn render_rule(rule: &str) -> Value {
    match rule.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?))) {
        Some((tool, content)) => json!({ "toolName": tool, "ruleContent": content }),
        None => json!({ "toolName": rule }),
    }
}

fn build_call_fields(call: &ToolCall) -> Map<String, Value> {
    into_object(json!({
        "tool_name": call.name.as_str(),
        "tool_input": parse_json_or_text(&call.input),
        "tool_use_id": call.id.as_str(),
    }))
}

fn build_outcome_fields(call: &ToolCall, outcome: &ToolOutcome) -> Map<String, Value> {
    let mut fields = build_call_fields(call);
    insert_field(&mut fields, "duration_ms", outcome.took.0);
    let text = ToolResultPart::join_texts(&outcome.content);
    if outcome.is_error {
        insert_field(&mut fields, "error", text);
        insert_field(&mut fields, "is_interrupt", false);
    } else {
        let structured = outcome.structured.as_ref().map(parse_json_or_text);
        insert_field(&mut fields, "tool_response", structured.unwrap_or_else(|| text.into()));
    }
    fields
}

fn insert_field(fields: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    fields.insert(name.to_owned(), value.into());
}

/// A model's output need not be JSON; then it is passed on as text.
fn parse_json_or_text(json: &Json) -> Value {
    serde_json::from_str(json.as_str()).unwrap_or_else(|_| json.as_str().into())
}

fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn render_path(path: Option<&PathBuf>) -> String {
    path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

fn compaction_trigger(by_hand: bool) -> &'static str {
    if by_hand { "manual" } else { "auto" }
}

fn error_name(kind: Option<FailureKind>) -> &'static str {
    match kind {
        Some(FailureKind::RateLimited) => "rate_limit",
        Some(FailureKind::Overloaded) => "overloaded",
        Some(FailureKind::Unauthorised) => "authentication_failed",
        Some(FailureKind::Quota) => "billing_error",
        Some(FailureKind::ModelGone) => "model_not_found",
        Some(FailureKind::ServerFault | FailureKind::Transport) => "server_error",
        Some(FailureKind::OutputLimit) => "max_output_tokens",
        Some(
            FailureKind::PromptTooLong
            | FailureKind::MediaTooLarge
            | FailureKind::BadImage
            | FailureKind::InvalidRequest
            | FailureKind::ForeignSignature
            | FailureKind::Misconfigured,
        ) => "invalid_request",
        Some(FailureKind::Refused) | None => "unknown",
    }
}
