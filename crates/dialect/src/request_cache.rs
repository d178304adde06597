//! Caches the encoding of the last request, so that it need not be repeated.
//!
//! A request is a head and turns. Turns are grouped in chapters: the opening, then one for each
//! answer with the reply to it. A chapter is reused if its messages are the same and no later message
//! changes its encoding; the normalisation steps report when one does. So a request that continues
//! the last one costs the encoding of what is new, and a copy. The bytes are the same as without the
//! cache, which tests check.

use alloc::sync::Arc;
use alloc::vec::Vec;

use windlass_vocabulary::{
    Effort, Messages, ModelName, ModelRequest, ThinkingMode, Tokens, ToolResultClearing, ToolSpec,
    WireFormat,
};

use crate::EncodedRequest;
use crate::accepted_tools;
use crate::normalize::{NormalizationNotes, NormalizedHistory, RestartFrom, normalize_from};
use crate::normalized_conversation::{NormalizedConversation, WireTurn};
use crate::provider_rules::{CheckedPrefix, ProviderRules};
use crate::request_origins::{BlockLocation, RequestOrigins};
use crate::request_writer::{REQUEST_FOOT, RequestHead, RequestWriter};

/// The cache of one conversation on one wire. Holds the bytes of the last request and some data for
/// each of its messages. Starts over for a request that does not continue the last one.
#[derive(Debug, Default)]
pub struct EncodedRequestCache {
    key: Option<RequestCacheKey>,
    messages: Messages,
    history: NormalizedHistory,
    turn_groups: Vec<CachedTurnGroup>,
    /// Could an answer follow the last chapter as it stands?
    is_resumable: bool,
    turn_buffer: TurnBuffer,
    cached_head: Option<CachedHead>,
    reused_bytes: usize,
}

/// What the encoding of turns depends on, other than messages.
#[derive(Debug, PartialEq, Eq)]
struct RequestCacheKey {
    wire: WireFormat,
    rules: ProviderRules,
    model: ModelName,
    without_reasoning: bool,
}

/// The encoded head, what it depends on, and its notes.
#[derive(Debug)]
struct CachedHead {
    key: CachedHeadKey,
    head: RequestHead,
    notes: NormalizationNotes,
}

#[derive(Debug, PartialEq, Eq)]
struct CachedHeadKey {
    system: Vec<Arc<str>>,
    tools: Arc<[ToolSpec]>,
    output_max: Tokens,
    thinking: ThinkingMode,
    effort: Option<Effort>,
    clear_results: Option<ToolResultClearing>,
}

/// How many messages are the same as before.
#[derive(Clone, Copy, Debug)]
struct SharedPrefix {
    count: usize,
    is_whole: bool,
}

/// The opening, or an answer and the reply to it.
#[derive(Debug)]
struct CachedTurnGroup {
    /// The message of the request it begins with.
    start: usize,
    /// The state of the buffer before it.
    start_mark: TurnBufferMark,
}

/// All turns so far.
#[derive(Debug, Default)]
struct TurnBuffer {
    /// Apart by commas, without cache marks.
    bytes: Vec<u8>,
    /// The end of each user turn.
    user_ends: Vec<usize>,
    turns: usize,
    /// Shared with the last request, if a caller still holds it.
    origins: Arc<RequestOrigins>,
}

#[derive(Clone, Copy, Debug)]
struct TurnBufferMark {
    bytes: usize,
    user_ends: usize,
    turns: usize,
    origins: usize,
}

impl EncodedRequestCache {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of messages in the last request that were taken over from the one before it.
    #[must_use]
    pub fn reused_bytes(&self) -> usize {
        self.reused_bytes
    }

    /// Bytes held for the next request.
    #[must_use]
    pub fn retained_bytes(&self) -> usize {
        let head = self.cached_head.as_ref().map_or(0, |cached| cached.head.bytes.capacity());
        self.turn_buffer.bytes.capacity() + head
    }

    pub(crate) fn encode(
        &mut self,
        writer: &dyn RequestWriter,
        wire: WireFormat,
        request: &ModelRequest,
        rules: &ProviderRules,
    ) -> EncodedRequest {
        let key = RequestCacheKey {
            wire,
            rules: rules.clone(),
            model: request.model.clone(),
            without_reasoning: request.without_reasoning,
        };
        if self.key.as_ref() != Some(&key) {
            *self = Self { key: Some(key), ..Self::default() };
        }
        let same = self.update_messages(request);
        let (projection, sent) = self.normalize_new_turns(request, rules, same);
        self.reused_bytes = self.turn_buffer.bytes.len();
        self.write_turns(writer, &projection, request, rules);
        self.is_resumable = projection.is_resumable;
        let cached = match self.cached_head.take() {
            Some(cached) if cached.key.matches_request(request) => cached,
            _ => CachedHead::build(writer, request, rules),
        };
        let body = self.turn_buffer.assemble_body(&cached.head);
        let refusal = rules.find_refusal(&projection, &sent, body.len());
        let notes = self.history.notes.merge_lines(&cached.notes);
        Arc::make_mut(&mut self.turn_buffer.origins).set_leading_messages(cached.head.messages);
        let origins = self.turn_buffer.origins.clone();
        if refusal.is_some() {
            // Problems found before must not be reused unchecked.
            self.truncate(0);
            self.is_resumable = false;
            self.messages = Messages::default();
        }
        self.cached_head = Some(cached);
        EncodedRequest { body, notes, refusal, origins }
    }

    /// Normalizes the turns that are not in the cache. Returns them with the part before them that is
    /// already encoded and checked.
    fn normalize_new_turns<'a>(
        &mut self,
        request: &'a ModelRequest,
        rules: &ProviderRules,
        same: SharedPrefix,
    ) -> (NormalizedConversation<'a>, CheckedPrefix) {
        let mut from = self.find_resume_point(request, same);
        while from > 0 {
            self.truncate(from);
            let sent = CheckedPrefix::from_media(&self.history.media, self.turn_buffer.turns);
            match normalize_from(request, rules, Some(from), &mut self.history) {
                Ok(projection) => return (projection, sent),
                Err(RestartFrom(at)) => from = self.find_group_start(at.min(from - 1)),
            }
        }
        self.truncate(0);
        let projection = normalize_from(request, rules, None, &mut self.history);
        // From the beginning there is nothing to go back to.
        (projection.unwrap_or_default(), CheckedPrefix::default())
    }

    /// Remembers the messages and says how many of them are the same as before, and whether those
    /// are all there were.
    fn update_messages(&mut self, request: &ModelRequest) -> SharedPrefix {
        let count = self.messages.shared_prefix_len(&request.messages);
        let is_all = count == self.messages.len();
        self.messages = request.messages.clone();
        SharedPrefix { count, is_whole: is_all }
    }

    /// The last place where a request can go on: after all that was sent before, or where an answer
    /// begins.
    fn find_resume_point(&self, request: &ModelRequest, same: SharedPrefix) -> usize {
        if self.is_resumable && same.is_whole && same.count < request.messages.len() {
            return same.count;
        }
        self.find_group_start(same.count.min(request.messages.len().saturating_sub(1)))
    }

    /// The start of the last answer at or before a message; zero if there is none.
    fn find_group_start(&self, at: usize) -> usize {
        let starts = self.turn_groups.iter().skip(1).rev().map(|chapter| chapter.start);
        starts.into_iter().find(|start| *start <= at).unwrap_or(0)
    }

    fn truncate(&mut self, from: usize) {
        self.history.truncate(from);
        while let Some(chapter) = self.turn_groups.pop_if(|chapter| chapter.start >= from) {
            self.turn_buffer.truncate(chapter.start_mark);
        }
    }

    fn write_turns(
        &mut self,
        writer: &dyn RequestWriter,
        projection: &NormalizedConversation<'_>,
        request: &ModelRequest,
        rules: &ProviderRules,
    ) {
        let add = |buffer: &mut TurnBuffer,
                   turn: &WireTurn<'_, '_>,
                   locations: &[Option<BlockLocation>]| {
            buffer.begin_turn();
            writer.write_turn(turn, request, rules, &mut buffer.bytes);
            writer.record_origins(turn, locations, Arc::make_mut(&mut buffer.origins));
            buffer.end_turn(turn);
        };
        if let Some((turn, locations)) = projection.opening_with_locations() {
            self.turn_groups
                .push(CachedTurnGroup { start: 0, start_mark: self.turn_buffer.mark() });
            add(&mut self.turn_buffer, &turn, locations);
        }
        for exchange in &projection.exchanges {
            self.turn_groups.push(CachedTurnGroup {
                start: exchange.start,
                start_mark: self.turn_buffer.mark(),
            });
            for (turn, locations) in exchange.turns_with_locations() {
                add(&mut self.turn_buffer, &turn, locations);
            }
        }
        self.turn_buffer.bytes.shrink_to(self.turn_buffer.bytes.len().saturating_mul(2));
    }
}

impl CachedHead {
    fn build(writer: &dyn RequestWriter, request: &ModelRequest, rules: &ProviderRules) -> Self {
        let mut notes = NormalizationNotes::default();
        let tools = accepted_tools::select_accepted_tools(&request.tools, rules, &mut notes);
        let head = writer.write_head(request, rules, &tools);
        let key = CachedHeadKey {
            system: request.system.clone(),
            tools: request.tools.clone(),
            output_max: request.output_max,
            thinking: request.thinking,
            effort: request.effort,
            clear_results: request.clear_results,
        };
        Self { key, head, notes }
    }
}

impl CachedHeadKey {
    fn matches_request(&self, request: &ModelRequest) -> bool {
        let is_same_tools = Arc::ptr_eq(&self.tools, &request.tools) || self.tools == request.tools;
        is_same_tools
            && self.system == request.system
            && self.output_max == request.output_max
            && self.thinking == request.thinking
            && self.effort == request.effort
            && self.clear_results == request.clear_results
    }
}

impl TurnBuffer {
    fn begin_turn(&mut self) {
        if !self.bytes.is_empty() {
            self.bytes.push(b',');
        }
    }

    fn end_turn(&mut self, turn: &WireTurn<'_, '_>) {
        self.turns += 1;
        if matches!(turn, WireTurn::User { .. }) {
            self.user_ends.push(self.bytes.len());
        }
    }

    fn mark(&self) -> TurnBufferMark {
        TurnBufferMark {
            bytes: self.bytes.len(),
            user_ends: self.user_ends.len(),
            turns: self.turns,
            origins: self.origins.len(),
        }
    }

    fn truncate(&mut self, mark: TurnBufferMark) {
        self.bytes.truncate(mark.bytes);
        self.user_ends.truncate(mark.user_ends);
        self.turns = mark.turns;
        Arc::make_mut(&mut self.origins).truncate(mark.origins);
    }

    /// The complete request. The newest user turn is marked so that this request is cached, and the
    /// one before it so that the last cache entry is found even after a long answer.
    fn assemble_body(&self, head: &RequestHead) -> Vec<u8> {
        let (mark, tail) = head.cache_mark;
        let room = head.bytes.len()
            + self.bytes.len()
            + head.cache_marks * mark.len()
            + REQUEST_FOOT.len();
        let mut body = Vec::with_capacity(room);
        body.extend_from_slice(&head.bytes);
        let mut rest = self.bytes.as_slice();
        let first = self.user_ends.len().saturating_sub(head.cache_marks);
        for end in self.user_ends.iter().skip(first) {
            let done = self.bytes.len() - rest.len();
            let place = end.saturating_sub(done).saturating_sub(tail.len());
            if let Some((before, after)) = rest.split_at_checked(place)
                && after.starts_with(tail)
            {
                body.extend_from_slice(before);
                body.extend_from_slice(mark);
                rest = after;
            }
        }
        body.extend_from_slice(rest);
        body.extend_from_slice(REQUEST_FOOT);
        body
    }
}
