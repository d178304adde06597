//! What each provider accepts, as data, and the check that a request obeys before it is sent.
//!
//! Normalisation reads the same table to make a request legal; the check exists because a rule
//! forgotten there would otherwise cost a round trip and, worse, a session. What cannot be made
//! legal by leaving something out (the body is too big) is refused here.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use windlass_vocabulary::{FailureKind, Json, ModelFailure, ProviderBlock, WireFormat};

use crate::normalize::{MediaDecision, MediaItemRecord};
use crate::normalized_conversation::{NormalizedConversation, UserPart, WireTurn};

/// What one provider accepts. Public and plain, so that a caller who knows better (a partner cloud
/// with smaller limits, a local server without any) can pass a changed copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderRules {
    /// The wire format these rules hold for.
    pub wire: WireFormat,
    /// Bytes of the whole body.
    pub body_bytes_max: usize,
    /// Limits on images and documents.
    pub media: MediaRules,
    /// Limits on tool definitions and tool calls.
    pub tools: ToolRules,
    /// How reasoning is sent back.
    pub reasoning: ReasoningRules,
    /// Whether blocks of the provider's own are sent back at all.
    pub accepts_provider_blocks: bool,
    /// Kinds of provider blocks that need a switch we do not turn on.
    pub refused_block_kinds: &'static [&'static str],
    /// Whether the list of messages must end with a user message.
    pub must_end_with_user: bool,
    /// Whether it may nevertheless end with an answer that paused inside the provider's own tools.
    pub may_end_with_pause: bool,
    /// Cache markers in one request.
    pub cache_marks_max: usize,
    /// The name of the output limit, where servers of one wire do not agree.
    pub output_limit_field: &'static str,
}

/// Limits on images and documents, those inside tool results included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaRules {
    /// Items in one request.
    pub count_max: usize,
    /// When there are too many, this many more go at once, so that the cached prefix breaks rarely.
    pub count_batch: usize,
    /// Base64 bytes of one item.
    pub item_bytes_max: usize,
    /// Base64 bytes of all items together; leaves room for the text.
    pub total_bytes_max: usize,
    /// Pixels of an image's longer edge.
    pub image_edge_max: u32,
    /// With more images than this, `many_images_edge_max` bounds the edge instead.
    pub many_images_threshold: usize,
    /// Pixels of the longer edge when there are many images.
    pub many_images_edge_max: u32,
    /// Image types that can be sent.
    pub image_types: &'static [&'static str],
    /// Document types that can be sent.
    pub document_types: &'static [&'static str],
    /// Whether the result of a failed tool call may hold media.
    pub allowed_in_failed_results: bool,
}

/// Limits on tool definitions and tool calls. Ids and names hold letters, digits, `-` and `_` only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRules {
    /// Characters of a call's id.
    pub call_id_chars_max: usize,
    /// Characters of a tool's name.
    pub name_chars_max: usize,
    /// Tools in one request.
    pub count_max: usize,
    /// Keywords that are not allowed at the root of a tool's input schema.
    pub schema_root_forbidden: &'static [&'static str],
    /// Replaces the signature of a call by another model, if every call must have one.
    pub foreign_call_seal: Option<&'static str>,
}

/// How reasoning is sent back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasoningRules {
    /// Whether thinking blocks are sent back, and on which condition.
    pub policy: ReasoningPolicy,
    /// Kinds of provider blocks that are reasoning, and bound to the model that wrote them.
    pub block_kinds: &'static [&'static str],
    /// The field of such a block that holds its seal, where it can be missing.
    pub seal_field: Option<&'static str>,
    /// Whether reasoning may be the last part of an answer.
    pub may_end_answer: bool,
}

/// How reasoning goes back to the model that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningPolicy {
    /// Only with its seal.
    Sealed,
    /// Reasoning stays in the transcript only.
    Never,
}

/// The rules of `POST /v1/messages`.
pub const ANTHROPIC_MESSAGES: ProviderRules = ProviderRules {
    wire: WireFormat::AnthropicMessages,
    body_bytes_max: 32_000_000,
    media: MediaRules {
        count_max: 100,
        count_batch: 20,
        item_bytes_max: 10_000_000,
        total_bytes_max: 24_000_000,
        image_edge_max: 8000,
        many_images_threshold: 20,
        many_images_edge_max: 2000,
        image_types: &["image/jpeg", "image/png", "image/gif", "image/webp"],
        document_types: &["application/pdf"],
        allowed_in_failed_results: false,
    },
    tools: ToolRules {
        call_id_chars_max: 64,
        name_chars_max: 128,
        count_max: 10_000,
        schema_root_forbidden: &["anyOf", "oneOf", "allOf"],
        foreign_call_seal: None,
    },
    reasoning: ReasoningRules {
        policy: ReasoningPolicy::Sealed,
        block_kinds: &["redacted_thinking"],
        seal_field: None,
        may_end_answer: false,
    },
    accepts_provider_blocks: true,
    refused_block_kinds: &[
        "compaction",
        "fallback",
        "advisor_tool_result",
        "mcp_tool_use",
        "mcp_tool_result",
    ],
    must_end_with_user: true,
    may_end_with_pause: true,
    cache_marks_max: 4,
    output_limit_field: "max_tokens",
};

/// The rules of `POST /v1/chat/completions`. Documents and reasoning are never sent: servers of this
/// wire have no common form for them.
pub const OPENAI_CHAT: ProviderRules = ProviderRules {
    wire: WireFormat::OpenaiChat,
    body_bytes_max: 50_000_000,
    media: MediaRules {
        count_max: 100,
        count_batch: 20,
        item_bytes_max: 20_000_000,
        total_bytes_max: 40_000_000,
        image_edge_max: u32::MAX,
        many_images_threshold: usize::MAX,
        many_images_edge_max: u32::MAX,
        image_types: &["image/jpeg", "image/png", "image/gif", "image/webp"],
        document_types: &[],
        allowed_in_failed_results: true,
    },
    tools: ToolRules {
        call_id_chars_max: 40,
        name_chars_max: 64,
        count_max: 128,
        schema_root_forbidden: &["anyOf", "oneOf", "allOf", "enum", "not"],
        foreign_call_seal: None,
    },
    reasoning: ReasoningRules {
        policy: ReasoningPolicy::Never,
        block_kinds: &[],
        seal_field: None,
        may_end_answer: false,
    },
    accepts_provider_blocks: false,
    refused_block_kinds: &[],
    must_end_with_user: true,
    may_end_with_pause: false,
    cache_marks_max: 0,
    output_limit_field: "max_completion_tokens",
};

/// The rules of `POST /v1/responses`.
pub const OPENAI_RESPONSES: ProviderRules = ProviderRules {
    wire: WireFormat::OpenaiResponses,
    body_bytes_max: 50_000_000,
    media: MediaRules { document_types: &["application/pdf"], ..OPENAI_CHAT.media },
    tools: ToolRules { call_id_chars_max: 64, ..OPENAI_CHAT.tools },
    reasoning: ReasoningRules {
        policy: ReasoningPolicy::Never,
        block_kinds: &["reasoning"],
        seal_field: Some("encrypted_content"),
        may_end_answer: false,
    },
    accepts_provider_blocks: true,
    refused_block_kinds: &[],
    must_end_with_user: true,
    may_end_with_pause: true,
    cache_marks_max: 0,
    output_limit_field: "max_output_tokens",
};

/// The rules of `POST /v1beta/models/…:streamGenerateContent`.
pub const GEMINI: ProviderRules = ProviderRules {
    wire: WireFormat::Gemini,
    body_bytes_max: 20_000_000,
    media: MediaRules {
        count_max: 500,
        count_batch: 50,
        item_bytes_max: 14_000_000,
        total_bytes_max: 15_000_000,
        image_edge_max: u32::MAX,
        many_images_threshold: usize::MAX,
        many_images_edge_max: u32::MAX,
        image_types: &["image/jpeg", "image/png", "image/webp"],
        document_types: &["application/pdf"],
        allowed_in_failed_results: true,
    },
    tools: ToolRules {
        call_id_chars_max: 64,
        name_chars_max: 64,
        count_max: 512,
        schema_root_forbidden: &["anyOf", "oneOf", "allOf"],
        foreign_call_seal: Some("context_engineering_is_the_way_to_go"),
    },
    reasoning: ReasoningRules {
        policy: ReasoningPolicy::Never,
        block_kinds: &["sealed_part"],
        seal_field: Some("thoughtSignature"),
        may_end_answer: true,
    },
    accepts_provider_blocks: true,
    refused_block_kinds: &[],
    must_end_with_user: true,
    may_end_with_pause: false,
    cache_marks_max: 0,
    output_limit_field: "maxOutputTokens",
};

impl ProviderRules {
    /// A block of the provider's own that is kept verbatim.
    pub(crate) fn build_provider_block(&self, kind: &str, json: &str) -> ProviderBlock {
        ProviderBlock {
            wire: self.wire,
            kind: Arc::from(kind),
            is_reasoning: self.reasoning.block_kinds.contains(&kind),
            json: Json::from_checked(json.trim()),
        }
    }

    /// Whether this may be part of a call's id or a tool's name.
    pub(crate) fn is_name_char(c: char) -> bool {
        c.is_ascii_alphanumeric() || c == '-' || c == '_'
    }

    /// Describes every rule that the conversation breaks. Empty after normalisation.
    #[must_use]
    pub fn find_violations(&self, conversation: &NormalizedConversation<'_>) -> Vec<String> {
        self.find_violations_after(conversation, &CheckedPrefix::default())
    }

    fn find_violations_after(
        &self,
        conversation: &NormalizedConversation<'_>,
        sent: &CheckedPrefix,
    ) -> Vec<String> {
        let mut violations = Vec::new();
        let mut ids = BTreeSet::new();
        let mut media = sent.media;
        for (position, turn) in (sent.turns..).zip(conversation.turns()) {
            if turn.is_empty() {
                violations.push(format!("message {position} is empty"));
            }
            match turn {
                WireTurn::Answer(exchange) => {
                    for call in exchange.calls() {
                        if !self.is_allowed_name(call.id(), self.tools.call_id_chars_max) {
                            violations.push(format!("the call id {:?} is not allowed", call.id()));
                        }
                        if !self.is_allowed_name(call.name(), self.tools.name_chars_max) {
                            violations
                                .push(format!("the tool name {:?} is not allowed", call.name()));
                        }
                        if !ids.insert(call.id()) {
                            violations.push(format!("the call id {:?} occurs twice", call.id()));
                        }
                    }
                }
                WireTurn::User { calls, parts } => {
                    calls.iter().for_each(|call| media.add(call.result().parts()));
                    media.add(parts);
                }
            }
        }
        if !self.has_allowed_ending(conversation) {
            violations.push(String::from("the last message is not from the user"));
        }
        self.check_media(&media, &mut violations);
        violations
    }

    /// The failure to report instead of sending, if there is one. The prefix that was `sent` before was
    /// checked then, but still counts towards the totals.
    pub(crate) fn find_refusal(
        &self,
        conversation: &NormalizedConversation<'_>,
        sent: &CheckedPrefix,
        body_bytes: usize,
    ) -> Option<ModelFailure> {
        if body_bytes > self.body_bytes_max {
            return Some(ModelFailure::new(
                FailureKind::PromptTooLong,
                format!(
                    "the request has {body_bytes} bytes and the provider takes {}",
                    self.body_bytes_max
                ),
            ));
        }
        let first = self.find_violations_after(conversation, sent).into_iter().next()?;
        Some(ModelFailure::new(FailureKind::InvalidRequest, first))
    }

    /// Whether the conversation ends with the side that must come last.
    pub(crate) fn has_allowed_ending(&self, conversation: &NormalizedConversation<'_>) -> bool {
        !self.must_end_with_user
            || conversation.ends_with_user()
            || self.may_end_with_pause && conversation.is_paused()
    }

    fn is_allowed_name(&self, text: &str, chars_max: usize) -> bool {
        !text.is_empty() && text.len() <= chars_max && text.chars().all(Self::is_name_char)
    }

    fn check_media(&self, media: &MediaTotals, violations: &mut Vec<String>) {
        if media.count > self.media.count_max {
            violations.push(format!("{} media items are too many", media.count));
        }
        if media.largest > self.media.item_bytes_max || media.total > self.media.total_bytes_max {
            violations.push(format!(
                "media of {} bytes in one item and {} in all are too much",
                media.largest, media.total
            ));
        }
    }
}

/// The part of a request that was encoded and checked before.
#[derive(Debug, Default)]
pub(crate) struct CheckedPrefix {
    turns: usize,
    media: MediaTotals,
}

impl CheckedPrefix {
    pub(crate) fn from_media(media: &[MediaItemRecord], turns: usize) -> Self {
        let mut sent = Self { turns, media: MediaTotals::default() };
        let items = media.iter().filter(|item| item.decision == MediaDecision::Sent);
        items.for_each(|item| sent.media.count_item(item.bytes));
        sent
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct MediaTotals {
    count: usize,
    largest: usize,
    total: usize,
}

impl MediaTotals {
    fn add(&mut self, parts: &[UserPart<'_>]) {
        for part in parts {
            if let UserPart::Media(item) = part {
                self.count_item(item.data.len());
            }
        }
    }

    fn count_item(&mut self, bytes: usize) {
        self.count += 1;
        self.largest = self.largest.max(bytes);
        self.total = self.total.saturating_add(bytes);
    }
}
