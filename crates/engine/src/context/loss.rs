//! What the levels freed and dropped since the session began: the loss record, for people.
//!
//! The sums are exact; of the single losses the latest are kept.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use windlass_vocabulary::context_usage::{ContextLoss, FreedTokens};
use windlass_vocabulary::{ContentBlock, Message, MessageId};

use super::projection::is_request;
use crate::transcript::Transcript;

/// What was dropped and what that freed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossRecord {
    levels: [FreedTokens; 5],
    latest: VecDeque<ContextLoss>,
}

/// Single losses kept.
const LATEST_MAX: usize = 256;

impl LossRecord {
    /// What each of the five levels did in all.
    #[must_use]
    pub fn levels(&self) -> &[FreedTokens; 5] {
        &self.levels
    }

    /// The latest losses, oldest first.
    pub fn latest(&self) -> impl DoubleEndedIterator<Item = &ContextLoss> {
        self.latest.iter()
    }

    pub(crate) fn add(&mut self, loss: ContextLoss) {
        let place = usize::from(loss.level).saturating_sub(1);
        if let Some(sum) = self.levels.get_mut(place) {
            sum.times += 1;
            sum.tokens = sum.tokens + loss.freed;
        }
        if self.latest.len() >= LATEST_MAX {
            self.latest.pop_front();
        }
        self.latest.push_back(loss);
    }
}

/// What is lost with these messages, in words.
pub(super) fn words(transcript: &Transcript, dropped: &[MessageId]) -> Vec<String> {
    let messages: Vec<&Message> =
        dropped.iter().filter_map(|id| transcript.message(*id)).map(AsRef::as_ref).collect();
    let mut words = alloc::vec![counted(dropped.len(), "message")];
    let requests = messages.iter().filter(|message| is_request(message)).count();
    if requests > 0 {
        words.push(counted(requests, "earlier request"));
    }
    let mut tools: BTreeMap<&str, usize> = BTreeMap::new();
    let mut media = 0;
    for message in &messages {
        for call in message.tool_calls() {
            *tools.entry(call.name.as_str()).or_default() += 1;
        }
        media +=
            message.content.iter().filter(|block| matches!(block, ContentBlock::Media(_))).count();
    }
    if !tools.is_empty() {
        let each: Vec<String> =
            tools.iter().map(|(name, count)| format!("{count} {name}")).collect();
        words.push(format!("calls and results of {}", each.join(", ")));
    }
    if media > 0 {
        words.push(counted(media, "image or document"));
    }
    words
}

fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
