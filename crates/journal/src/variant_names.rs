//! The names of variants that `windlass replay` and `windlass why` print. Spelled out, because
//! users and scripts rely on them: a variant may be renamed, its name here may not.

use windlass_engine::Interrupt;
use windlass_vocabulary::{
    AttachmentKind, EffectClass, FailureKind, HookPoint, HookVerdict, MessageOrigin, MetaKind,
    ModelStopReason, PermissionAnswer, RequestSource,
};

pub(crate) fn interrupt_name(interrupt: Interrupt) -> &'static str {
    match interrupt {
        Interrupt::User => "User",
        Interrupt::NewMessage => "NewMessage",
        Interrupt::Shutdown => "Shutdown",
        Interrupt::Crashed => "Crashed",
    }
}

pub(crate) fn stop_reason_name(stop: ModelStopReason) -> &'static str {
    match stop {
        ModelStopReason::EndTurn => "EndTurn",
        ModelStopReason::OutputLimit => "OutputLimit",
        ModelStopReason::WindowFull => "WindowFull",
        ModelStopReason::Pause => "Pause",
        ModelStopReason::Refusal => "Refusal",
    }
}

pub(crate) fn failure_name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::PromptTooLong => "PromptTooLong",
        FailureKind::MediaTooLarge => "MediaTooLarge",
        FailureKind::BadImage => "BadImage",
        FailureKind::Overloaded => "Overloaded",
        FailureKind::RateLimited => "RateLimited",
        FailureKind::ServerFault => "ServerFault",
        FailureKind::Transport => "Transport",
        FailureKind::ModelGone => "ModelGone",
        FailureKind::InvalidRequest => "InvalidRequest",
        FailureKind::ForeignSignature => "ForeignSignature",
        FailureKind::Unauthorised => "Unauthorised",
        FailureKind::Quota => "Quota",
        FailureKind::Refused => "Refused",
        FailureKind::OutputLimit => "OutputLimit",
        FailureKind::Misconfigured => "Misconfigured",
    }
}

pub(crate) fn permission_answer_name(answer: &PermissionAnswer) -> &'static str {
    match answer {
        PermissionAnswer::Allow { .. } => "Allow",
        PermissionAnswer::Deny { .. } => "Deny",
    }
}

pub(crate) fn hook_verdict_name(verdict: &HookVerdict) -> &'static str {
    match verdict {
        HookVerdict::Pass => "Pass",
        HookVerdict::Allow => "Allow",
        HookVerdict::Ask(_) => "Ask",
        HookVerdict::Defer(_) => "Defer",
        HookVerdict::Block(_) => "Block",
        HookVerdict::Halt(_) => "Halt",
    }
}

pub(crate) fn hook_point_name(point: HookPoint) -> &'static str {
    match point {
        HookPoint::PreToolUse => "PreToolUse",
        HookPoint::PostToolUse => "PostToolUse",
        HookPoint::PostToolUseFailure => "PostToolUseFailure",
        HookPoint::PostToolBatch => "PostToolBatch",
        HookPoint::Stop => "Stop",
        HookPoint::SubagentStop => "SubagentStop",
        HookPoint::StopFailure => "StopFailure",
        HookPoint::PreCompact => "PreCompact",
        HookPoint::PostCompact => "PostCompact",
    }
}

pub(crate) fn attachment_name(kind: AttachmentKind) -> &'static str {
    match kind {
        AttachmentKind::QueuedInput => "QueuedInput",
        AttachmentKind::ChangedFiles => "ChangedFiles",
        AttachmentKind::Memory => "Memory",
        AttachmentKind::Skills => "Skills",
        AttachmentKind::FilesInHand => "FilesInHand",
        AttachmentKind::Hook => "Hook",
    }
}

pub(crate) fn describe_origin(origin: MessageOrigin) -> String {
    match origin {
        MessageOrigin::User => "User".to_owned(),
        MessageOrigin::Model => "Model".to_owned(),
        MessageOrigin::ToolResults => "ToolResults".to_owned(),
        MessageOrigin::Meta(kind) => format!("Meta({})", meta_name(kind)),
        MessageOrigin::Hook => "Hook".to_owned(),
        MessageOrigin::Attachment(kind) => format!("Attachment({})", attachment_name(kind)),
        MessageOrigin::Summary => "Summary".to_owned(),
        MessageOrigin::Display => "Display".to_owned(),
    }
}

fn meta_name(kind: MetaKind) -> &'static str {
    match kind {
        MetaKind::Context => "Context",
        MetaKind::Resume => "Resume",
        MetaKind::Nudge => "Nudge",
        MetaKind::Interruption => "Interruption",
        MetaKind::Circle => "Circle",
    }
}

pub(crate) fn effect_class_name(class: EffectClass) -> &'static str {
    match class {
        EffectClass::Pure => "Pure",
        EffectClass::Idempotent => "Idempotent",
        EffectClass::Effect => "Effect",
    }
}

pub(crate) fn describe_source(source: RequestSource) -> String {
    let name = to_camel_case(source.name());
    match source {
        RequestSource::Main
        | RequestSource::Compaction
        | RequestSource::ToolLabel
        | RequestSource::Aside => name,
        RequestSource::Chore(_) => format!("Chore({name})"),
    }
}

/// Converts a public name to the form above: `max_turns` is `MaxTurns`.
pub(crate) fn to_camel_case(name: &str) -> String {
    let mut camel = String::new();
    for word in name.split('_') {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}
