//! Resizes images to the provider's limits before they are sent.
//!
//! The transcript keeps the originals. The result is cached with its message, so that a message is
//! always sent with the same bytes and converted only once. An image that cannot be used is passed
//! on unchanged: the dialect's normalization removes it with a note.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;
use windlass_dialect::ProviderRules;
use windlass_tool::{ImageFit, ImageLimits, fit_image};
use windlass_vocabulary::{
    ContentBlock, MediaContent, Message, ModelRequest, ToolResult, ToolResultPart,
};

use crate::notices::NoticeSender;

/// The messages sent last, each with its converted form and the size limit used.
#[derive(Debug, Default)]
pub(crate) struct ImageFitter {
    cache: Mutex<FittedMessages>,
}

#[derive(Clone, Debug, Default)]
struct FittedMessages {
    edge_max: u32,
    forms: Vec<(Arc<Message>, Arc<Message>)>,
}

impl ImageFitter {
    /// The request with images that fit. Messages sent before only cost a comparison, and messages
    /// without media only a check.
    pub(crate) async fn fit_request<'a>(
        &self,
        request: &'a ModelRequest,
        rules: &ProviderRules,
        notice_sender: &NoticeSender,
    ) -> Cow<'a, ModelRequest> {
        let count: usize = request.messages.iter().map(|message| count_media(message)).sum();
        if count == 0 {
            return Cow::Borrowed(request);
        }
        let has_many_images = count > rules.media.many_images_threshold;
        let edge = if has_many_images {
            rules.media.many_images_edge_max
        } else {
            rules.media.image_edge_max
        };
        let limits = ImageLimits {
            side_max: edge,
            base64_bytes_max: rules.media.item_bytes_max,
            media_types: rules.media.image_types,
        };
        let last = self.lock_cache().clone();
        let mut forms = Vec::with_capacity(request.messages.len());
        for (place, message) in request.messages.iter().enumerate() {
            let known = last
                .forms
                .get(place)
                .filter(|(original, _)| last.edge_max == edge && Arc::ptr_eq(original, message));
            let form = match known {
                Some((_, form)) => form.clone(),
                None if count_media(message) == 0 => message.clone(),
                None => fit_message(message, limits, notice_sender).await,
            };
            forms.push((message.clone(), form));
        }
        let messages = forms.iter().map(|(_, form)| form.clone()).collect();
        *self.lock_cache() = FittedMessages { edge_max: edge, forms };
        Cow::Owned(ModelRequest { messages, ..request.clone() })
    }

    fn lock_cache(&self) -> std::sync::MutexGuard<'_, FittedMessages> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decodes on a blocking thread; if that panics, the message is left as it was.
async fn fit_message(
    message: &Arc<Message>,
    limits: ImageLimits,
    notice_sender: &NoticeSender,
) -> Arc<Message> {
    let original = message.clone();
    let work = spawn_blocking(move || {
        let mut notes = Vec::new();
        let content = original.content.iter().map(|block| fit_block(block, &limits, &mut notes));
        (Message { content: content.collect(), ..Message::clone(&original) }, notes)
    });
    match work.await {
        Ok((form, notes)) if !notes.is_empty() => {
            for note in notes {
                notice_sender.warn(note);
            }
            Arc::new(form)
        }
        _ => message.clone(),
    }
}

fn fit_block(block: &ContentBlock, limits: &ImageLimits, notes: &mut Vec<String>) -> ContentBlock {
    match block {
        ContentBlock::Media(media) => ContentBlock::Media(fit_media(media, limits, notes)),
        ContentBlock::ToolResult(result) => {
            let parts = result.content.iter().map(|part| match part {
                ToolResultPart::Media(media) => {
                    ToolResultPart::Media(fit_media(media, limits, notes))
                }
                ToolResultPart::Text(text) => ToolResultPart::Text(text.clone()),
            });
            ContentBlock::ToolResult(ToolResult { content: parts.collect(), ..result.clone() })
        }
        ContentBlock::Text(_)
        | ContentBlock::Thinking(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::Provider(_) => block.clone(),
    }
}

fn fit_media(media: &MediaContent, limits: &ImageLimits, notes: &mut Vec<String>) -> MediaContent {
    match fit_image(media, limits) {
        ImageFit::Changed(changed, note) => {
            notes.push(note);
            changed
        }
        ImageFit::AsIs | ImageFit::Unusable(_) => media.clone(),
    }
}

fn count_media(message: &Message) -> usize {
    let count = |block: &ContentBlock| match block {
        ContentBlock::Media(_) => 1,
        ContentBlock::ToolResult(result) => {
            result.content.iter().filter(|part| matches!(part, ToolResultPart::Media(_))).count()
        }
        ContentBlock::Text(_)
        | ContentBlock::Thinking(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::Provider(_) => 0,
    };
    message.content.iter().map(count).sum()
}
