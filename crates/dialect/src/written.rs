//! What was written down last, so that it need not be written again.
//!
//! A request is a head and turns. Turns come in chapters: the opening, then one for each answer
//! with the reply to it. A chapter is taken over as it stands if the messages it was made of are
//! the same and nothing after it reaches back into it; the steps of normalisation say when
//! something does. So a request that goes on where the last one ended costs what is new, and a
//! copy. The bytes are those of a request written from nothing; tests hold the two together.

use alloc::sync::Arc;
use alloc::vec::Vec;

use windlass_vocabulary::{
    Clearing, Effort, Messages, ModelName, ModelRequest, ThinkingMode, Tokens, ToolSpec, Wire,
};

use crate::Encoded;
use crate::law::{Law, Sent};
use crate::normalize::{GoBack, Notes, Past, normalize_from};
use crate::origins::{Origins, Place};
use crate::projection::{Projection, Turn};
use crate::script::{FOOT, Head, Script};
use crate::tools;

/// The memory of one conversation on one wire. Holds the bytes of the last request and a few words
/// for each of its messages. Given a request that is no continuation, it starts over.
#[derive(Debug, Default)]
pub struct Written {
    key: Option<Key>,
    messages: Messages,
    past: Past,
    chapters: Vec<Chapter>,
    /// Could an answer follow the last chapter as it stands?
    is_closed: bool,
    page: Page,
    cover: Option<Cover>,
    kept_bytes: usize,
}

/// What turns depend on besides messages.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    wire: Wire,
    law: Law,
    model: ModelName,
    without_reasoning: bool,
}

/// The head, what it depends on besides, and what there is to say about it.
#[derive(Debug)]
struct Cover {
    key: CoverKey,
    head: Head,
    notes: Notes,
}

#[derive(Debug, PartialEq, Eq)]
struct CoverKey {
    system: Vec<Arc<str>>,
    tools: Arc<[ToolSpec]>,
    output_max: Tokens,
    thinking: ThinkingMode,
    effort: Option<Effort>,
    clear_results: Option<Clearing>,
}

/// How many messages are the same as before.
#[derive(Clone, Copy, Debug)]
struct Same {
    count: usize,
    is_all: bool,
}

/// The opening, or an answer and the reply to it.
#[derive(Debug)]
struct Chapter {
    /// The message of the request it begins with.
    start: usize,
    /// Where the page stood before it.
    page: Mark,
}

/// All turns so far.
#[derive(Debug, Default)]
struct Page {
    /// Apart by commas, without cache marks.
    bytes: Vec<u8>,
    /// Where each turn of the user's side ends.
    user_ends: Vec<usize>,
    turns: usize,
    /// Shared with the last request, if somebody still has it.
    origins: Arc<Origins>,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    bytes: usize,
    user_ends: usize,
    turns: usize,
    origins: usize,
}

impl Written {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of messages in the last request that were taken over from the one before it.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Bytes held for the next request.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let head = self.cover.as_ref().map_or(0, |cover| cover.head.bytes.capacity());
        self.page.bytes.capacity() + head
    }

    /// Writes a request down.
    pub(crate) fn encode(
        &mut self,
        script: &dyn Script,
        wire: Wire,
        request: &ModelRequest,
        law: &Law,
    ) -> Encoded {
        let key = Key {
            wire,
            law: law.clone(),
            model: request.model.clone(),
            without_reasoning: request.without_reasoning,
        };
        if self.key.as_ref() != Some(&key) {
            *self = Self { key: Some(key), ..Self::default() };
        }
        let same = self.take_messages(request);
        let (projection, sent) = self.continued(request, law, same);
        self.kept_bytes = self.page.bytes.len();
        self.write(script, &projection, request, law);
        self.is_closed = projection.is_closed;
        let cover = match self.cover.take() {
            Some(cover) if cover.key.is_of(request) => cover,
            _ => Cover::of(script, request, law),
        };
        let body = self.page.bound(&cover.head);
        let refusal = law.refusal_after(&projection, &sent, body.len());
        let notes = self.past.notes.lines_with(&cover.notes);
        Arc::make_mut(&mut self.page.origins).set_before(cover.head.messages);
        let origins = self.page.origins.clone();
        if refusal.is_some() {
            // What was wrong must not be taken over unseen.
            self.truncate(0);
            self.is_closed = false;
            self.messages = Messages::default();
        }
        self.cover = Some(cover);
        Encoded { body, notes, refusal, origins }
    }

    /// What is new in a request, after as much of what was written as still holds, and what that
    /// was.
    fn continued<'a>(
        &mut self,
        request: &'a ModelRequest,
        law: &Law,
        same: Same,
    ) -> (Projection<'a>, Sent) {
        let mut from = self.where_they_part(request, same);
        while from > 0 {
            self.truncate(from);
            let sent = Sent::of(&self.past.media, self.page.turns);
            match normalize_from(request, law, Some(from), &mut self.past) {
                Ok(projection) => return (projection, sent),
                Err(GoBack(at)) => from = self.chapter_start(at.min(from - 1)),
            }
        }
        self.truncate(0);
        let projection = normalize_from(request, law, None, &mut self.past);
        // From the beginning there is nothing to go back to.
        (projection.unwrap_or_default(), Sent::default())
    }

    /// Remembers the messages and says how many of them are the same as before, and whether those
    /// are all there were.
    fn take_messages(&mut self, request: &ModelRequest) -> Same {
        let count = self.messages.common_len(&request.messages);
        let is_all = count == self.messages.len();
        self.messages = request.messages.clone();
        Same { count, is_all }
    }

    /// The last place where a request can go on: after all that was sent before, or where an answer
    /// begins.
    fn where_they_part(&self, request: &ModelRequest, same: Same) -> usize {
        if self.is_closed && same.is_all && same.count < request.messages.len() {
            return same.count;
        }
        self.chapter_start(same.count.min(request.messages.len().saturating_sub(1)))
    }

    /// The last beginning of an answer at or before a message; zero if there is none.
    fn chapter_start(&self, at: usize) -> usize {
        let starts = self.chapters.iter().skip(1).rev().map(|chapter| chapter.start);
        starts.into_iter().find(|start| *start <= at).unwrap_or(0)
    }

    fn truncate(&mut self, from: usize) {
        self.past.truncate(from);
        while let Some(chapter) = self.chapters.pop_if(|chapter| chapter.start >= from) {
            self.page.truncate(chapter.page);
        }
    }

    fn write(
        &mut self,
        script: &dyn Script,
        projection: &Projection<'_>,
        request: &ModelRequest,
        law: &Law,
    ) {
        let add = |page: &mut Page, turn: &Turn<'_, '_>, places: &[Option<Place>]| {
            page.begin_turn();
            script.write(turn, request, law, &mut page.bytes);
            script.trace(turn, places, Arc::make_mut(&mut page.origins));
            page.end_turn(turn);
        };
        if let Some((turn, places)) = projection.placed_opening() {
            self.chapters.push(Chapter { start: 0, page: self.page.mark() });
            add(&mut self.page, &turn, places);
        }
        for exchange in &projection.exchanges {
            self.chapters.push(Chapter { start: exchange.start, page: self.page.mark() });
            for (turn, places) in exchange.placed_turns() {
                add(&mut self.page, &turn, places);
            }
        }
        self.page.bytes.shrink_to(self.page.bytes.len().saturating_mul(2));
    }
}

impl Cover {
    fn of(script: &dyn Script, request: &ModelRequest, law: &Law) -> Self {
        let mut notes = Notes::default();
        let tools = tools::legal(&request.tools, law, &mut notes);
        let head = script.head(request, law, &tools);
        let key = CoverKey {
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

impl CoverKey {
    fn is_of(&self, request: &ModelRequest) -> bool {
        let is_same_tools = Arc::ptr_eq(&self.tools, &request.tools) || self.tools == request.tools;
        is_same_tools
            && self.system == request.system
            && self.output_max == request.output_max
            && self.thinking == request.thinking
            && self.effort == request.effort
            && self.clear_results == request.clear_results
    }
}

impl Page {
    fn begin_turn(&mut self) {
        if !self.bytes.is_empty() {
            self.bytes.push(b',');
        }
    }

    fn end_turn(&mut self, turn: &Turn<'_, '_>) {
        self.turns += 1;
        if matches!(turn, Turn::User { .. }) {
            self.user_ends.push(self.bytes.len());
        }
    }

    fn mark(&self) -> Mark {
        Mark {
            bytes: self.bytes.len(),
            user_ends: self.user_ends.len(),
            turns: self.turns,
            origins: self.origins.len(),
        }
    }

    fn truncate(&mut self, mark: Mark) {
        self.bytes.truncate(mark.bytes);
        self.user_ends.truncate(mark.user_ends);
        self.turns = mark.turns;
        Arc::make_mut(&mut self.origins).truncate(mark.origins);
    }

    /// The whole request. The newest turn of the user's side is marked so that this request is
    /// cached, the one before it so that a long reply does not lose sight of the last cached place.
    fn bound(&self, head: &Head) -> Vec<u8> {
        let (mark, tail) = head.mark;
        let room = head.bytes.len() + self.bytes.len() + head.marks * mark.len() + FOOT.len();
        let mut body = Vec::with_capacity(room);
        body.extend_from_slice(&head.bytes);
        let mut rest = self.bytes.as_slice();
        let first = self.user_ends.len().saturating_sub(head.marks);
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
        body.extend_from_slice(FOOT);
        body
    }
}
