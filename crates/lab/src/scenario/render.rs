//! Effects as the lines of a scenario: one per effect, and one per block of a request.
//!
//! Left out is what only repeats or decorates: pieces of text, messages added, bills, the start of
//! a request. `show` brings them back. Wording is shown where it goes to the model and nowhere else.

use windlass_engine::{Effect, HookSubject};
use windlass_vocabulary::{
    AttachmentKind, ContentBlock, HookPoint, Message, MessageOrigin, MetaKind, ModelRequest,
    Notice, RequestSource, Role, ToolCall, ToolResult, ToolResultPart,
};

use super::block_parser::public_name;
use super::scenario_setup::ScenarioSetup;
use super::ticket_names::TicketNames;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedEffect {
    /// What follows `>`.
    pub head: String,
    pub body: Vec<String>,
    /// The lines below it may be left out of a scenario.
    pub is_body_optional: bool,
}

impl RenderedEffect {
    fn from_head(head: impl Into<String>) -> Self {
        Self { head: head.into(), body: Vec::new(), is_body_optional: false }
    }
}

/// Writes an effect down, unless scenarios leave it out.
pub(crate) fn render_effect(
    effect: &Effect,
    names: &TicketNames,
    setup: &ScenarioSetup,
) -> Option<RenderedEffect> {
    let head = match effect {
        Effect::CallModel(request) => {
            let head = names.request_name(request.attempt);
            return Some(render_request(head, request, setup));
        }
        Effect::Summarize { request, .. } => {
            let head = match request.source {
                RequestSource::ToolLabel => "label".to_owned(),
                RequestSource::Chore(chore) => chore.name().to_owned(),
                RequestSource::Main | RequestSource::Compaction | RequestSource::Aside => {
                    "summarize".to_owned()
                }
            };
            return Some(render_request(head, request, setup));
        }
        Effect::Finish(ending) => return Some(render_finish(ending)),
        Effect::Tell(notice) => return render_notice(notice, names, setup),
        Effect::CancelModel { attempt } => format!("cancel {}", names.request_name(*attempt)),
        Effect::StartTool { granted, allowance, .. } => {
            let allowance = allowance.map(|usd| format!(" allowance {usd}"));
            format!("start {}{}", render_call(granted.get()), allowance.unwrap_or_default())
        }
        Effect::CancelTool { ticket } => format!("cancel {}", names.call_name(*ticket)),
        Effect::AskPermission { question, .. } => format!("ask {}", render_call(&question.call)),
        Effect::RunHook { point, subject, ticket } => {
            render_hook(*point, subject, ticket.is_some())
        }
        Effect::Spill { name, text } => format!("spill {name} ({} bytes)", text.len()),
        Effect::Prefetch { kind, about } => {
            format!("prefetch {}: {}", attachment_name(*kind), quote(about))
        }
        Effect::SetTimer { after, .. } => format!("timer {} ms", after.0),
        Effect::Keep { chore, text } => format!("keep {} {}", chore.name(), quote(text)),
    };
    Some(RenderedEffect::from_head(head))
}

fn render_hook(point: HookPoint, subject: &HookSubject, is_awaited: bool) -> String {
    let about = match subject {
        HookSubject::Call(call) => render_call(call),
        HookSubject::Outcome(call, outcome) => {
            let end = if outcome.is_error { "failed" } else { "ended" };
            format!("{} {end}", call.id)
        }
        HookSubject::Batch(calls) => {
            let ids: Vec<String> = calls.iter().map(|(call, _)| call.id.to_string()).collect();
            ids.join(" ")
        }
        HookSubject::Stop { is_overridden: true, .. } => "overridden".to_owned(),
        HookSubject::Stop { is_retry, blocks, blocks_max, answer, is_overridden: false } => {
            let retry = if *is_retry { " retry" } else { "" };
            format!("{blocks} of {blocks_max}{retry} {}", quote(answer))
        }
        HookSubject::Failure { .. } => String::new(),
        HookSubject::Compaction { by_hand, focus } => {
            let by = if *by_hand { "by hand" } else { "for space" };
            format!("{by} {}", focus.as_deref().map(quote).unwrap_or_default())
        }
        HookSubject::Compacted { by_hand, summary } => {
            let by = if *by_hand { "by hand" } else { "for space" };
            format!("{by} {}", quote(summary))
        }
    };
    let not_awaited = if is_awaited { "" } else { " not awaited" };
    format!("hook {point:?} {about}{not_awaited}").replace("  ", " ").trim_end().to_owned()
}

fn render_finish(ending: &windlass_vocabulary::notice::RunEnding) -> RenderedEffect {
    let outcome = ending.outcome.map(|outcome| format!(" {outcome}")).unwrap_or_default();
    let failure = ending.failure.as_ref();
    let failure = failure.map(|failure| format!(" failure {}", public_name(&failure.kind)));
    RenderedEffect {
        head: format!("finish {}{outcome}{}", ending.terminal, failure.unwrap_or_default()),
        body: vec![
            format!("why: {}", ending.why),
            format!("turns: {}", ending.turns),
            format!("cost: {}", ending.cost),
        ],
        is_body_optional: true,
    }
}

fn render_notice(
    notice: &Notice,
    names: &TicketNames,
    setup: &ScenarioSetup,
) -> Option<RenderedEffect> {
    let is_shown = |name: &str| setup.shown_notices.iter().any(|shown| shown == name);
    let head = match notice {
        Notice::RunStarted => "run".to_owned(),
        Notice::Retracted { attempt, .. } => format!("retract {}", names.request_name(*attempt)),
        Notice::Sealed { attempt } => format!("seal {}", names.request_name(*attempt)),
        Notice::PermissionWithdrawn(ticket) => format!("withdraw {}", names.call_name(*ticket)),
        Notice::ToolDenied { call, why } => format!("denied {} {}", call.id, quote(why)),
        Notice::RetryScheduled { failure, attempt, attempts_max, .. } => {
            format!("waiting {} try {attempt} of {attempts_max}", public_name(&failure.kind))
        }
        Notice::ModelSwitched { from, to, .. } => format!("switch {from} -> {to}"),
        Notice::Repaired { .. } => "repair".to_owned(),
        Notice::ContextShrunk { level, freed, losses } => {
            let freed = format!("freed: {}", freed.0);
            let losses = losses.iter().map(|loss| format!("loss: {loss}"));
            return Some(RenderedEffect {
                head: format!("shrink level {level}"),
                body: [freed].into_iter().chain(losses).collect(),
                is_body_optional: true,
            });
        }
        Notice::Continued { transition, turn } => format!("continue {transition} turn {turn}"),
        Notice::HookMessage { point, name, text } => {
            format!("spoke {point:?} {name}: {}", quote(text))
        }
        Notice::FilesChanged { count, .. } => format!("{count} files changed"),
        Notice::ToolsLabelled(text) => format!("labelled {}", quote(text)),
        Notice::SessionTitled(text) => format!("titled {}", quote(text)),
        Notice::PromptSuggested(text) => format!("suggested {}", quote(text)),
        Notice::SideQuestionAnswered(Ok(text)) => format!("answered {}", quote(text)),
        Notice::SideQuestionAnswered(Err(why)) => format!("not answered {}", quote(why)),
        Notice::InputQueued(text) => format!("queued {}", quote(text)),
        Notice::Warning(text) => format!("warning {}", quote(text)),
        Notice::MaxTurnsReached { turn, limit } => {
            format!("max_turns_reached turn {turn} limit {limit}")
        }
        Notice::MessageAdded(message) if is_shown("message") => {
            return Some(RenderedEffect {
                body: render_blocks(message),
                ..RenderedEffect::from_head("message")
            });
        }
        Notice::Billed { cost, total, .. } if is_shown("billed") => {
            format!("billed {cost} total {total}")
        }
        Notice::ToolProgressed { call, text } if is_shown("progress") => {
            format!("progress {call} {}", quote(text))
        }
        Notice::PermissionAsked { .. }
        | Notice::RequestStarted { .. }
        | Notice::Streamed { .. }
        | Notice::MessageAdded(_)
        | Notice::ToolStarted(_)
        | Notice::ToolProgressed { .. }
        | Notice::ToolEnded { .. }
        | Notice::Billed { .. }
        | Notice::Hook(_)
        | Notice::SubagentNotice { .. }
        | Notice::AnswerStarted { .. }
        | Notice::RunEnded(_) => return None,
    };
    Some(RenderedEffect::from_head(head))
}

/// A request as the model would see it. Its head names what is unusual about it.
fn render_request(head: String, request: &ModelRequest, setup: &ScenarioSetup) -> RenderedEffect {
    let mut head = head;
    let usual = &setup.settings.model;
    let is_main = request.source == RequestSource::Main;
    if request.model != usual.name {
        head.push_str(&format!(" to {}", request.model));
    }
    if is_main && request.output_max != usual.output_default {
        head.push_str(&format!(" output {}", request.output_max.0));
    }
    if let Some(clearing) = request.clear_results {
        head.push_str(&format!(
            " clearing over {} keeping {}",
            clearing.trigger_tokens.0, clearing.keep_latest
        ));
    }
    if request.without_reasoning {
        head.push_str(" without_reasoning");
    }
    let mut body: Vec<String> = Vec::new();
    body.extend(request.system.iter().map(|piece| format!("system: {}", quote(piece))));
    if request.tools != setup.settings.tools {
        let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(" ") };
        body.push(format!("tools: {names}"));
    }
    // Step 1 of normalization removes messages for the user only, with every provider.
    let sent = request.messages.iter().filter(|message| message.origin != MessageOrigin::Display);
    body.extend(sent.flat_map(|message| render_blocks(message)));
    RenderedEffect { body, ..RenderedEffect::from_head(head) }
}

pub(crate) fn render_blocks(message: &Message) -> Vec<String> {
    let speaker = render_speaker(message);
    let is_wording_ours =
        matches!(message.origin, MessageOrigin::Meta(MetaKind::Resume | MetaKind::Interruption));
    if is_wording_ours {
        return vec![speaker];
    }
    message.content.iter().map(|block| format!("{speaker}: {}", render_block(block))).collect()
}

fn render_speaker(message: &Message) -> String {
    let side = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let origin = match message.origin {
        MessageOrigin::User | MessageOrigin::Model | MessageOrigin::ToolResults => {
            return side.to_owned();
        }
        MessageOrigin::Meta(MetaKind::Context) => "context",
        MessageOrigin::Meta(MetaKind::Resume) => "resume",
        MessageOrigin::Meta(MetaKind::Nudge) => "nudge",
        MessageOrigin::Meta(MetaKind::Interruption) => "interruption",
        MessageOrigin::Meta(MetaKind::Circle) => "circle",
        MessageOrigin::Hook => "hook",
        MessageOrigin::Attachment(kind) => attachment_name(kind),
        MessageOrigin::Summary => "summary",
        MessageOrigin::Display => "display",
    };
    format!("{side} <{origin}>")
}

fn attachment_name(kind: AttachmentKind) -> &'static str {
    match kind {
        AttachmentKind::QueuedInput => "queued_input",
        AttachmentKind::ChangedFiles => "changed_files",
        AttachmentKind::Memory => "memory",
        AttachmentKind::Skills => "skills",
        AttachmentKind::FilesInHand => "files_in_hand",
        AttachmentKind::Hook => "hook",
    }
}

fn render_block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => quote(text),
        ContentBlock::Thinking(thinking) => {
            let seal = thinking.signature.as_ref().map(|seal| format!(" sealed {seal}"));
            format!("think {}{}", quote(&thinking.text), seal.unwrap_or_default())
        }
        ContentBlock::ToolUse(call) => format!("call {}", render_call(call)),
        ContentBlock::ToolResult(result) => render_result(result),
        ContentBlock::Media(media) => format!("image {}", media.name),
        ContentBlock::Provider(block) => format!("provider {} {}", block.kind, block.json),
    }
}

pub(crate) fn render_call(call: &ToolCall) -> String {
    format!("{} {} {}", call.id, call.name, call.input)
}

fn render_result(result: &ToolResult) -> String {
    let failed = if result.is_error { " failed" } else { "" };
    let parts: Vec<String> = result
        .content
        .iter()
        .map(|part| match part {
            ToolResultPart::Text(text) => quote(text),
            ToolResultPart::Media(media) => format!("image {}", media.name),
        })
        .collect();
    format!("result {}{failed} {}", result.call, parts.join(" "))
}

/// A text in quotation marks; a long one with its middle left out.
pub(crate) fn quote(text: &str) -> String {
    let length = text.chars().count();
    if length <= WHOLE_CHARS_MAX {
        return serde_json::Value::from(text).to_string();
    }
    let head: String = text.chars().take(HEAD_CHARS).collect();
    let tail: String = text.chars().skip(length - TAIL_CHARS).collect();
    let short = serde_json::Value::from(format!("{head}...{tail}"));
    format!("{short} ({} bytes)", text.len())
}

/// A text of this many characters is shown whole; of a longer one, this much of each end.
const WHOLE_CHARS_MAX: usize = 120;
const HEAD_CHARS: usize = 60;
const TAIL_CHARS: usize = 40;
