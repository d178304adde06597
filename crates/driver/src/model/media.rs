//! Images are made to fit what the provider takes before they are sent.
//!
//! The transcript keeps the originals. What was made is kept beside the message it was made from, so
//! that the same message is always sent in the same form and its bytes are written once. An image
//! that cannot be used goes on as it is: the dialect's normalisation leaves it out and says so.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;
use windlass_dialect::Law;
use windlass_tool::{Fitted, PictureLimits, fit};
use windlass_vocabulary::{Block, Media, Message, ModelRequest, ResultPart, ToolResult};

use crate::notices::Teller;

/// What was sent last: each message with the form it was sent in, and the edge it was made for.
#[derive(Debug, Default)]
pub(crate) struct Darkroom {
    last: Mutex<Developed>,
}

#[derive(Clone, Debug, Default)]
struct Developed {
    edge: u32,
    forms: Vec<(Arc<Message>, Arc<Message>)>,
}

impl Darkroom {
    /// The request as it may be sent. Costs nothing but a comparison for messages sent before, and
    /// nothing at all but a look for messages without media.
    pub(crate) async fn fitted<'a>(
        &self,
        request: &'a ModelRequest,
        law: &Law,
        teller: &Teller,
    ) -> Cow<'a, ModelRequest> {
        let count: usize = request.messages.iter().map(|message| media_count(message)).sum();
        if count == 0 {
            return Cow::Borrowed(request);
        }
        let is_crowd = count > law.image_crowd;
        let edge = if is_crowd { law.image_crowd_edge_max } else { law.image_edge_max };
        let limits = PictureLimits {
            side_max: edge,
            base64_bytes_max: law.media_item_bytes_max,
            media_types: law.image_types,
        };
        let last = self.last().clone();
        let mut forms = Vec::with_capacity(request.messages.len());
        for (place, message) in request.messages.iter().enumerate() {
            let known = last
                .forms
                .get(place)
                .filter(|(original, _)| last.edge == edge && Arc::ptr_eq(original, message));
            let form = match known {
                Some((_, form)) => form.clone(),
                None if media_count(message) == 0 => message.clone(),
                None => developed(message, limits, teller).await,
            };
            forms.push((message.clone(), form));
        }
        let messages = forms.iter().map(|(_, form)| form.clone()).collect();
        *self.last() = Developed { edge, forms };
        Cow::Owned(ModelRequest { messages, ..request.clone() })
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Developed> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decoding is work for a thread of its own; a worker that dies leaves the message as it was.
async fn developed(message: &Arc<Message>, limits: PictureLimits, teller: &Teller) -> Arc<Message> {
    let original = message.clone();
    let work = spawn_blocking(move || {
        let mut notes = Vec::new();
        let content = original.content.iter().map(|block| block_of(block, &limits, &mut notes));
        (Message { content: content.collect(), ..Message::clone(&original) }, notes)
    });
    match work.await {
        Ok((form, notes)) if !notes.is_empty() => {
            for note in notes {
                teller.warn(note);
            }
            Arc::new(form)
        }
        _ => message.clone(),
    }
}

fn block_of(block: &Block, limits: &PictureLimits, notes: &mut Vec<String>) -> Block {
    match block {
        Block::Media(media) => Block::Media(media_of(media, limits, notes)),
        Block::ToolResult(result) => {
            let parts = result.content.iter().map(|part| match part {
                ResultPart::Media(media) => ResultPart::Media(media_of(media, limits, notes)),
                ResultPart::Text(text) => ResultPart::Text(text.clone()),
            });
            Block::ToolResult(ToolResult { content: parts.collect(), ..result.clone() })
        }
        other => other.clone(),
    }
}

fn media_of(media: &Media, limits: &PictureLimits, notes: &mut Vec<String>) -> Media {
    match fit(media, limits) {
        Fitted::Changed(changed, note) => {
            notes.push(note);
            changed
        }
        Fitted::AsIs | Fitted::Unusable(_) => media.clone(),
    }
}

fn media_count(message: &Message) -> usize {
    let count = |block: &Block| match block {
        Block::Media(_) => 1,
        Block::ToolResult(result) => {
            result.content.iter().filter(|part| matches!(part, ResultPart::Media(_))).count()
        }
        _ => 0,
    };
    message.content.iter().map(count).sum()
}
