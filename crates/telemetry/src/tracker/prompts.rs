//! Sessions, prompts and runs.

use windlass_driver::ObservedSession;
use windlass_host::random::generate_uuid;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{ContentBlock, Message, MessageOrigin, PermissionMode, Terminal};

use super::agent_track::{AgentTrack, OpenInteraction, RunTrack};
use super::emission::{Emission, EndedSpan, millis_between};
use super::requests::query_source;
use super::{bodies, mentions, subagents};
use crate::names;
use crate::record::{Attributes, SpanKind};
use crate::wiring_report::ExpandedCommand;

pub(super) fn session_started(
    session: &ObservedSession,
    source: &str,
    emission: &mut Emission<'_>,
) {
    if session.started_by.is_some() {
        return;
    }
    let start_type = match source {
        "resume" | "fork" if emission.config.process.is_continued => "continue",
        "resume" | "fork" => "resume",
        _ => "fresh",
    };
    let attributes = Attributes::default().text("start_type", start_type);
    emission.count(&names::SESSION_COUNT, 1.0, attributes);
}

pub(super) fn prompt_accepted(
    track: &mut AgentTrack,
    session: &ObservedSession,
    content: &[ContentBlock],
    emission: &mut Emission<'_>,
) {
    if session.started_by.is_some() {
        // A model wrote this prompt, not the user.
        return;
    }
    let mut text = String::new();
    for block in content {
        if let ContentBlock::Text(piece) = block {
            text.push_str(piece);
        }
    }
    let length = text.encode_utf16().count() as u64;
    let switches = &emission.config.content;
    let prompt = emission.reveal(switches.prompts, &text);
    track.prompt_id = generate_uuid();
    if track.interaction.is_none() {
        begin_interaction(track, prompt.clone(), length, emission);
    }
    emission.set_prompt(&track.prompt_id, track.current_context());
    let command = emission.wiring.take_command(content);
    let is_revealed = emission.config.content.tool_details;
    let name = |command: &ExpandedCommand| match is_revealed {
        true => command.name.clone(),
        false => command.source.to_owned(),
    };
    let attributes = Attributes::default()
        .count("prompt_length", length)
        .text("prompt", prompt)
        .optional_text("command_name", command.as_ref().map(name))
        .optional_text("command_source", command.as_ref().map(|command| command.source));
    emission.event(names::USER_PROMPT, attributes);
    mentions::emit_mentions(content, emission);
}

/// A run may also start without a prompt: for a deferred call or a compaction.
pub(super) fn run_started(
    track: &mut AgentTrack,
    session: &ObservedSession,
    emission: &mut Emission<'_>,
) {
    // A sub-agent goes on with the skill that it was started with.
    let skill = track.run.skill.take().filter(|_| session.started_by.is_some());
    track.run = RunTrack { started: Some(emission.now), skill, ..RunTrack::default() };
    if session.started_by.is_none() && track.interaction.is_none() {
        begin_interaction(track, String::new(), 0, emission);
        emission.set_prompt(&track.prompt_id, track.current_context());
    }
}

fn begin_interaction(
    track: &mut AgentTrack,
    prompt: String,
    prompt_length: u64,
    emission: &Emission<'_>,
) {
    track.interactions += 1;
    let span = emission.begin_span(track.base);
    track.interaction = Some(OpenInteraction { span, prompt, prompt_length });
}

pub(super) fn run_ended(
    track: &mut AgentTrack,
    session: &ObservedSession,
    ending: &RunEnding,
    emission: &mut Emission<'_>,
) {
    let attempts = track.requests.failed_attempts();
    if let Some(failed) = attempts.filter(|failed| ending.failure.is_some() && failed.count > 1) {
        let attributes = Attributes::default()
            .text("model", failed.model)
            .optional_text("error", ending.failure.as_ref().map(|failure| &failure.message))
            .count("total_attempts", u64::from(failed.count))
            .count("total_retry_duration_ms", millis_between(failed.since, emission.now))
            .text("query_source", query_source(session));
        emission.event(names::API_RETRIES_EXHAUSTED, attributes);
    }
    if ending.terminal == Terminal::ModelError && ending.failure.is_none() {
        // The session's task has panicked: a model that fails says how.
        emission.event(names::INTERNAL_ERROR, Attributes::default().text("error_name", "Panic"));
    }
    super::requests::abandon_all(track, emission);
    super::calls::abandon_all(track, emission);
    let started = track.run.started.take();
    match session.started_by {
        Some(_) => subagents::subagent_completed(track, session, started, emission),
        None => {
            let seconds = started.map_or(0, |started| millis_between(started, emission.now));
            let attributes = Attributes::default().text("type", "cli");
            emission.count(&names::ACTIVE_TIME, seconds as f64 / 1_000.0, attributes);
        }
    }
    end_interaction(track, emission);
}

pub(super) fn end_interaction(track: &mut AgentTrack, emission: &mut Emission<'_>) {
    let Some(OpenInteraction { span, prompt, prompt_length }) = track.interaction.take() else {
        return;
    };
    let session = emission.session_id().to_owned();
    let attributes = Attributes::default()
        .text("user_prompt", prompt)
        .count("user_prompt_length", prompt_length)
        .count("interaction.sequence", track.interactions)
        .count("interaction.duration_ms", millis_between(span.start, emission.now))
        .text("gen_ai.operation.name", "invoke_agent")
        .optional_text("gen_ai.provider.name", track.requests.last_provider)
        .text("gen_ai.agent.name", AGENT_NAME)
        .text("gen_ai.conversation.id", session);
    emission.end_span(EndedSpan {
        span,
        name: names::INTERACTION_SPAN,
        kind: SpanKind::Internal,
        end: emission.now,
        attributes,
        events: Vec::new(),
        error: None,
    });
}

pub(super) fn message_added(track: &AgentTrack, message: &Message, emission: &mut Emission<'_>) {
    if message.origin != MessageOrigin::Model {
        return;
    }
    let source = if track.base.is_some() { "subagent" } else { "main" };
    bodies::response_body(track, message, source, emission);
    let text = message.text();
    if text.is_empty() {
        return;
    }
    let switches = &emission.config.content;
    let response = emission.reveal(switches.responses, &text);
    let attributes = Attributes::default()
        .count("response_length", text.encode_utf16().count() as u64)
        .text("response", response)
        .optional_text("model", message.model.as_ref().map(|model| model.as_str()))
        .optional_text("request_id", track.requests.last_request_id.clone())
        .text("query_source", source);
    emission.event(names::ASSISTANT_RESPONSE, attributes);
}

pub(super) fn mode_changed(
    from: PermissionMode,
    to: PermissionMode,
    is_by_tool: bool,
    emission: &mut Emission<'_>,
) {
    let trigger = match (is_by_tool, from) {
        (true, PermissionMode::Plan) => "exit_plan_mode",
        (true, _) => "tool",
        (false, _) => "user",
    };
    let attributes = Attributes::default()
        .text("from_mode", from.name())
        .text("to_mode", to.name())
        .text("trigger", trigger);
    emission.event(names::PERMISSION_MODE_CHANGED, attributes);
}

/// Value of `gen_ai.agent.name`.
const AGENT_NAME: &str = "windlass";
