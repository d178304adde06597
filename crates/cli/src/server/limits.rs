//! What a server accepts: the law of its wire, changed where the table knows better.

use windlass_driver::Law;
use windlass_driver::law::{ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES};
use windlass_vocabulary::Wire;

use crate::config::model::Model;
use crate::config::provider::{OutputName, Provider};

/// The law for one model of a provider.
pub(super) fn law(wire: Wire, provider: &Provider, model: &Model) -> Law {
    let mut law = match wire {
        Wire::AnthropicMessages => ANTHROPIC_MESSAGES,
        Wire::OpenaiResponses => OPENAI_RESPONSES,
        Wire::OpenaiChat => OPENAI_CHAT,
        Wire::Gemini => GEMINI,
    };
    if wire == Wire::OpenaiChat {
        // Imitations know the older name; the newer one they may not know, and then there would be
        // no limit at all.
        law.output_max_name = match provider.output_name {
            Some(OutputName::MaxCompletionTokens) => "max_completion_tokens",
            Some(OutputName::MaxTokens) | None => "max_tokens",
        };
    }
    if model.images == Some(false) {
        law.image_types = &[];
        law.document_types = &[];
    }
    if model.cache == Some(false) {
        law.cache_marks_max = 0;
    }
    if let Some(most) = model.media_max.and_then(|most| usize::try_from(most).ok()) {
        law.media_count_max = most;
    }
    law
}
