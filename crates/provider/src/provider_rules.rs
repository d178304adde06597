//! What a server accepts: the rules of its wire, with the exceptions in the table.

use windlass_driver::ProviderRules;
use windlass_driver::provider_rules::{ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES};
use windlass_vocabulary::WireFormat;

use crate::config::model::ModelConfig;
use crate::config::provider::{OutputLimitName, ProviderConfig};

pub(super) fn resolve_provider_rules(
    wire: WireFormat,
    provider: &ProviderConfig,
    model: &ModelConfig,
) -> ProviderRules {
    let mut rules = match wire {
        WireFormat::AnthropicMessages => ANTHROPIC_MESSAGES,
        WireFormat::OpenaiResponses => OPENAI_RESPONSES,
        WireFormat::OpenaiChat => OPENAI_CHAT,
        WireFormat::Gemini => GEMINI,
    };
    if wire == WireFormat::OpenaiChat {
        // Compatible servers know the older name. They may ignore the newer one, and then there would
        // be no limit at all.
        rules.output_limit_field = match provider.output_limit_name {
            Some(OutputLimitName::MaxCompletionTokens) => "max_completion_tokens",
            Some(OutputLimitName::MaxTokens) | None => "max_tokens",
        };
    }
    if model.images == Some(false) {
        rules.media.image_types = &[];
        rules.media.document_types = &[];
    }
    if model.cache == Some(false) {
        rules.cache_marks_max = 0;
    }
    if let Some(most) = model.media_max.and_then(|most| usize::try_from(most).ok()) {
        rules.media.count_max = most;
    }
    rules
}
