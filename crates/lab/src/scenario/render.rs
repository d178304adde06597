//! Effects as the lines of a scenario: one per effect, and one per block of a request.
//!
//! Left out is what only repeats or decorates: pieces of text, messages added, bills, the start of
//! a request. `show` brings them back. Wording is shown where it goes to the model and nowhere else.

use windlass_engine::{Effect, HookSubject};
use windlass_vocabulary::{
    AttachmentKind, Block, HookPoint, Message, MetaKind, ModelRequest, Notice, Origin, ResultPart,
    Role, Source, ToolCall, ToolResult,
};

use super::names::Names;
use super::piece::name_of;
use super::setup::Setup;

/// One effect, written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What follows `>`.
    pub head: String,
    /// The lines below it.
    pub body: Vec<String>,
    /// The lines below it may be left out of a scenario.
    pub is_body_optional: bool,
}

impl Shown {
    fn line(head: impl Into<String>) -> Self {
        Self { head: head.into(), body: Vec::new(), is_body_optional: false }
    }
}

/// Writes an effect down, unless it is one that scenarios leave out.
pub(crate) fn effect(effect: &Effect, names: &Names, setup: &Setup) -> Option<Shown> {
    let head = match effect {
        Effect::CallModel(request) => {
            let head = names.request(request.attempt);
            return Some(self::request(head, request, setup));
        }
        Effect::Summarize { request, .. } => {
            let head = match request.source {
                Source::ToolLabel => "label".to_owned(),
                Source::Chore(chore) => chore.name().to_owned(),
                _ => "summarize".to_owned(),
            };
            return Some(self::request(head, request, setup));
        }
        Effect::Finish(ending) => return Some(finish(ending)),
        Effect::Tell(notice) => return self::notice(notice, names, setup),
        Effect::CancelModel { attempt } => format!("cancel {}", names.request(*attempt)),
        Effect::StartTool { granted, allowance, .. } => {
            let allowance = allowance.map(|usd| format!(" allowance {usd}"));
            format!("start {}{}", call(granted.get()), allowance.unwrap_or_default())
        }
        Effect::CancelTool { ticket } => format!("cancel {}", names.call(*ticket)),
        Effect::AskPermission { question, .. } => format!("ask {}", call(&question.call)),
        Effect::RunHook { point, subject, ticket } => hook(*point, subject, ticket.is_some()),
        Effect::Spill { name, text } => format!("spill {name} ({} bytes)", text.len()),
        Effect::Prefetch { kind, about } => {
            format!("prefetch {}: {}", attachment(*kind), quoted(about))
        }
        Effect::SetTimer { after, .. } => format!("timer {} ms", after.0),
        Effect::Keep { chore, text } => format!("keep {} {}", chore.name(), quoted(text)),
    };
    Some(Shown::line(head))
}

fn hook(point: HookPoint, subject: &HookSubject, is_awaited: bool) -> String {
    let about = match subject {
        HookSubject::Call(call) => self::call(call),
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
            format!("{blocks} of {blocks_max}{retry} {}", quoted(answer))
        }
        HookSubject::Failure { .. } => String::new(),
        HookSubject::Compaction { by_hand, focus } => {
            let by = if *by_hand { "by hand" } else { "for space" };
            format!("{by} {}", focus.as_deref().map(quoted).unwrap_or_default())
        }
        HookSubject::Compacted { by_hand, summary } => {
            let by = if *by_hand { "by hand" } else { "for space" };
            format!("{by} {}", quoted(summary))
        }
    };
    let not_awaited = if is_awaited { "" } else { " not awaited" };
    format!("hook {point:?} {about}{not_awaited}").replace("  ", " ").trim_end().to_owned()
}

fn finish(ending: &windlass_vocabulary::notice::Ending) -> Shown {
    let outcome = ending.outcome.map(|outcome| format!(" {outcome}")).unwrap_or_default();
    let failure = ending.failure.as_ref();
    let failure = failure.map(|failure| format!(" failure {}", name_of(&failure.kind)));
    Shown {
        head: format!("finish {}{outcome}{}", ending.terminal, failure.unwrap_or_default()),
        body: vec![
            format!("why: {}", ending.why),
            format!("turns: {}", ending.turns),
            format!("cost: {}", ending.cost),
        ],
        is_body_optional: true,
    }
}

fn notice(notice: &Notice, names: &Names, setup: &Setup) -> Option<Shown> {
    let is_shown = |name: &str| setup.shown.iter().any(|shown| shown == name);
    let head = match notice {
        Notice::RunStarted => "run".to_owned(),
        Notice::Retracted { attempt, .. } => format!("retract {}", names.request(*attempt)),
        Notice::Sealed { attempt } => format!("seal {}", names.request(*attempt)),
        Notice::PermissionWithdrawn(ticket) => format!("withdraw {}", names.call(*ticket)),
        Notice::ToolDenied { call, why } => format!("denied {} {}", call.id, quoted(why)),
        Notice::Waiting { failure, attempt, attempts_max, .. } => {
            format!("waiting {} try {attempt} of {attempts_max}", name_of(&failure.kind))
        }
        Notice::ModelSwitched { from, to, .. } => format!("switch {from} -> {to}"),
        Notice::Repaired { .. } => "repair".to_owned(),
        Notice::ContextShrunk { level, freed, losses } => {
            let freed = format!("freed: {}", freed.0);
            let losses = losses.iter().map(|loss| format!("loss: {loss}"));
            return Some(Shown {
                head: format!("shrink level {level}"),
                body: [freed].into_iter().chain(losses).collect(),
                is_body_optional: true,
            });
        }
        Notice::Continued { transition, turn } => format!("continue {transition} turn {turn}"),
        Notice::HookSpoke { point, name, text } => {
            format!("spoke {point:?} {name}: {}", quoted(text))
        }
        Notice::ToolsLabelled(text) => format!("labelled {}", quoted(text)),
        Notice::Titled(text) => format!("titled {}", quoted(text)),
        Notice::Suggested(text) => format!("suggested {}", quoted(text)),
        Notice::QuestionAnswered(Ok(text)) => format!("answered {}", quoted(text)),
        Notice::QuestionAnswered(Err(why)) => format!("not answered {}", quoted(why)),
        Notice::InputQueued(text) => format!("queued {}", quoted(text)),
        Notice::Warning(text) => format!("warning {}", quoted(text)),
        Notice::MaxTurnsReached { turn, limit } => {
            format!("max_turns_reached turn {turn} limit {limit}")
        }
        Notice::MessageAdded(message) if is_shown("message") => {
            return Some(Shown { body: blocks(message), ..Shown::line("message") });
        }
        Notice::Billed { cost, total, .. } if is_shown("billed") => {
            format!("billed {cost} total {total}")
        }
        Notice::ToolProgressed { call, text } if is_shown("progress") => {
            format!("progress {call} {}", quoted(text))
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
        | Notice::Nested { .. }
        | Notice::RunEnded(_) => return None,
    };
    Some(Shown::line(head))
}

/// A request as the model would see it. Its head names what is unusual about it.
fn request(head: String, request: &ModelRequest, setup: &Setup) -> Shown {
    let mut head = head;
    let usual = &setup.settings.model;
    let is_main = request.source == Source::Main;
    if request.model != usual.name {
        head.push_str(&format!(" to {}", request.model));
    }
    if is_main && request.output_max != usual.output_default {
        head.push_str(&format!(" output {}", request.output_max.0));
    }
    if let Some(clearing) = request.clear_results {
        head.push_str(&format!(" clearing over {} keeping {}", clearing.over.0, clearing.kept));
    }
    if request.without_reasoning {
        head.push_str(" without_reasoning");
    }
    let mut body: Vec<String> = Vec::new();
    body.extend(request.system.iter().map(|piece| format!("system: {}", quoted(piece))));
    if request.tools != setup.settings.tools {
        let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(" ") };
        body.push(format!("tools: {names}"));
    }
    // Step 1 of normalisation leaves out what is only for people, whatever the provider.
    let sent = request.messages.iter().filter(|message| message.origin != Origin::Display);
    body.extend(sent.flat_map(|message| blocks(message)));
    Shown { body, ..Shown::line(head) }
}

/// A message, one line per block.
pub(crate) fn blocks(message: &Message) -> Vec<String> {
    let speaker = speaker(message);
    let is_wording_ours =
        matches!(message.origin, Origin::Meta(MetaKind::Resume | MetaKind::Interruption));
    if is_wording_ours {
        return vec![speaker];
    }
    message.content.iter().map(|block| format!("{speaker}: {}", self::block(block))).collect()
}

fn speaker(message: &Message) -> String {
    let side = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let origin = match message.origin {
        Origin::User | Origin::Model | Origin::ToolResults => return side.to_owned(),
        Origin::Meta(MetaKind::Context) => "context",
        Origin::Meta(MetaKind::Resume) => "resume",
        Origin::Meta(MetaKind::Nudge) => "nudge",
        Origin::Meta(MetaKind::Interruption) => "interruption",
        Origin::Meta(MetaKind::Circle) => "circle",
        Origin::Hook => "hook",
        Origin::Attachment(kind) => attachment(kind),
        Origin::Summary => "summary",
        Origin::Display => "display",
    };
    format!("{side} <{origin}>")
}

fn attachment(kind: AttachmentKind) -> &'static str {
    match kind {
        AttachmentKind::QueuedInput => "queued_input",
        AttachmentKind::ChangedFiles => "changed_files",
        AttachmentKind::Memory => "memory",
        AttachmentKind::Skills => "skills",
        AttachmentKind::FilesInHand => "files_in_hand",
        AttachmentKind::Hook => "hook",
    }
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(text) => quoted(text),
        Block::Thinking(thinking) => {
            let seal = thinking.signature.as_ref().map(|seal| format!(" sealed {seal}"));
            format!("think {}{}", quoted(&thinking.text), seal.unwrap_or_default())
        }
        Block::ToolUse(call) => format!("call {}", self::call(call)),
        Block::ToolResult(result) => self::result(result),
        Block::Media(media) => format!("image {}", media.name),
        Block::Provider(block) => format!("provider {} {}", block.kind, block.json),
    }
}

pub(crate) fn call(call: &ToolCall) -> String {
    format!("{} {} {}", call.id, call.name, call.input)
}

fn result(result: &ToolResult) -> String {
    let failed = if result.is_error { " failed" } else { "" };
    let parts: Vec<String> = result
        .content
        .iter()
        .map(|part| match part {
            ResultPart::Text(text) => quoted(text),
            ResultPart::Media(media) => format!("image {}", media.name),
        })
        .collect();
    format!("result {}{failed} {}", result.call, parts.join(" "))
}

/// A text in quotation marks; a long one with its middle left out.
pub(crate) fn quoted(text: &str) -> String {
    let length = text.chars().count();
    if length <= SHORT {
        return serde_json::Value::from(text).to_string();
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(length - TAIL).collect();
    let short = serde_json::Value::from(format!("{head}...{tail}"));
    format!("{short} ({} bytes)", text.len())
}

/// A text of this many characters is shown whole; of a longer one, this much of each end.
const SHORT: usize = 120;
const HEAD: usize = 60;
const TAIL: usize = 40;
