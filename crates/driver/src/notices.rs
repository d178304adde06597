//! The channel on which a front end receives notices.
//!
//! Sending never blocks, so that a slow reader cannot stop the engine. Three rules bound the
//! memory:
//!
//! 1. Neighbouring pieces of the same text are joined while they wait to be read. A reader that wants
//!    them one by one gets that until [`SEPARATE_NOTICES_MAX`] wait.
//! 2. Over [`DECORATION_BYTES_MAX`] unread bytes, pieces that only decorate (streamed pieces, tool
//!    progress, raw events) are dropped; their content arrives again, whole, in `MessageAdded` and
//!    `ToolEnded`.
//! 3. Over [`NOTICES_MAX`] unread notices or [`BYTES_MAX`] unread bytes, the oldest go, except
//!    `RunEnded` and permission questions, which are never dropped.
//!
//! Dropped notices are counted, and reported in a `Warning` before the next notice is read.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::joinable_delta::find_joinable_delta;
use crate::observer::Observation;
use crate::session_watch::SessionWatch;
use futures_core::Stream;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    ContentBlock, Delta, HookNotice, MicroUsd, Notice, Terminal, ToolResultPart, Usage,
};

/// The receiver: a session's notices, in order. Also implements `futures_core::Stream`.
#[derive(Debug)]
pub struct Notices {
    shared: Arc<SharedNoticeQueue>,
}

/// The sender, owned by the session's task.
#[derive(Clone, Debug)]
pub(crate) struct NoticeSender {
    shared: Arc<SharedNoticeQueue>,
    watch: Option<Arc<SessionWatch>>,
}

/// With `separate_deltas`, pieces of text are joined only when a great many are unread.
pub(crate) fn channel(separate_deltas: bool) -> (NoticeSender, Notices) {
    let queue = NoticeQueue { separate_deltas, ..NoticeQueue::default() };
    let shared = Arc::new(SharedNoticeQueue { queue: Mutex::new(queue) });
    (NoticeSender { shared: Arc::clone(&shared), watch: None }, Notices { shared })
}

impl Notices {
    /// The next notice, or `None` when the session is closed and everything was read. Cancel-safe.
    pub async fn next(&mut self) -> Option<Notice> {
        poll_fn(|context| self.poll_notice(context)).await
    }

    fn poll_notice(&mut self, context: &Context<'_>) -> Poll<Option<Notice>> {
        let mut queue = self.shared.lock_queue();
        match queue.pop() {
            Some(notice) => Poll::Ready(Some(notice)),
            None if queue.is_closed => Poll::Ready(None),
            None => {
                // We hold the lock of the queue, so nothing is sent between the check and this.
                queue.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Why the session can no longer be stored; a `Notice::Warning` has the same text.
    pub fn storage_failure(&self) -> Option<String> {
        self.shared.lock_queue().storage_failure.clone()
    }

    /// The next notice, if one is queued.
    pub fn try_next(&mut self) -> Option<Notice> {
        self.shared.lock_queue().pop()
    }

    /// Reads until the run ends, and drops all other notices. `None` if the session closed before a
    /// run ended.
    pub async fn wait_for_run_end(&mut self) -> Option<RunEnding> {
        loop {
            if let Notice::RunEnded(ending) = self.next().await? {
                return Some(ending);
            }
        }
    }
}

impl Stream for Notices {
    type Item = Notice;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Notice>> {
        self.poll_notice(context)
    }
}

impl NoticeSender {
    /// Reports every notice to the observer before it is queued.
    pub(crate) fn with_watch(self, watch: Option<Arc<SessionWatch>>) -> Self {
        Self { watch, ..self }
    }

    pub(crate) fn watch(&self) -> Option<&Arc<SessionWatch>> {
        self.watch.as_ref()
    }

    pub(crate) fn observe(&self, observation: Observation<'_>) {
        if let Some(watch) = &self.watch {
            watch.observe(observation);
        }
    }

    pub(crate) fn send(&self, notice: Notice) {
        self.observe(Observation::Notice(&notice));
        self.shared.update(|queue| queue.push(notice));
    }

    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.send(Notice::Warning(text.into()));
    }

    /// The session ends because it can no longer be stored.
    pub(crate) fn report_storage_failure(&self, why: String) {
        self.shared.lock_queue().storage_failure.get_or_insert_with(|| why.clone());
        self.warn(why);
    }

    /// The session's task has panicked. Ends the current run here, because nothing else will report
    /// it.
    pub(crate) fn fail(&self, why: String) {
        self.warn(why.clone());
        if self.shared.lock_queue().is_running {
            self.report_run_without_turns(Terminal::ModelError, why, MicroUsd(0));
        }
    }

    /// Reports the end of a run in which the model was not asked, or is not known to have been.
    pub(crate) fn report_run_without_turns(&self, terminal: Terminal, why: String, cost: MicroUsd) {
        self.send(Notice::RunEnded(RunEnding {
            terminal,
            outcome: None,
            why,
            failure: None,
            turns: 0,
            usage: Usage::default(),
            cost,
            deferred: None,
        }));
    }

    pub(crate) fn close(&self) {
        self.shared.update(|queue| queue.is_closed = true);
    }
}

#[derive(Debug)]
struct SharedNoticeQueue {
    queue: Mutex<NoticeQueue>,
}

impl SharedNoticeQueue {
    /// Changes the queue, and wakes the reader.
    fn update(&self, change: impl FnOnce(&mut NoticeQueue)) {
        let mut queue = self.lock_queue();
        change(&mut queue);
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock_queue(&self) -> MutexGuard<'_, NoticeQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct NoticeQueue {
    unread: VecDeque<(Notice, usize)>,
    bytes: usize,
    separate_deltas: bool,
    dropped: u64,
    /// A run has begun and its end was not reported.
    is_running: bool,
    is_closed: bool,
    storage_failure: Option<String>,
    /// The task that waits for the next notice.
    waker: Option<Waker>,
}

impl NoticeQueue {
    fn push(&mut self, notice: Notice) {
        if matches!(notice, Notice::RunStarted | Notice::RunEnded(_)) {
            self.is_running = notice == Notice::RunStarted;
        }
        let Some((notice, size)) = self.merge_into_last(notice) else {
            return;
        };
        if is_decoration(&notice) && self.bytes + size > DECORATION_BYTES_MAX {
            self.dropped += 1;
            return;
        }
        self.unread.push_back((notice, size));
        self.bytes += size;
        while self.unread.len() > NOTICES_MAX || self.bytes > BYTES_MAX {
            let Some(place) = self.unread.iter().position(|(notice, _)| !is_undroppable(notice))
            else {
                return;
            };
            if let Some((_, size)) = self.unread.remove(place) {
                self.bytes -= size;
                self.dropped += 1;
            }
        }
    }

    fn pop(&mut self) -> Option<Notice> {
        if self.dropped > 0 {
            let dropped = core::mem::take(&mut self.dropped);
            return Some(Notice::Warning(format!(
                "{dropped} notices were dropped because they were not read in time; \
                 finished messages and results are complete"
            )));
        }
        let (notice, size) = self.unread.pop_front()?;
        self.bytes -= size;
        Some(notice)
    }

    /// Joins a piece of text to the unread one before it, or returns the notice with its size.
    fn merge_into_last(&mut self, notice: Notice) -> Option<(Notice, usize)> {
        let is_joining = !self.separate_deltas || self.unread.len() >= SEPARATE_NOTICES_MAX;
        if let Some((last, size)) = self.unread.back_mut().filter(|_| is_joining)
            && let Some((tail, piece)) = find_joinable_text(last, &notice)
            && self.bytes + piece.len() <= DECORATION_BYTES_MAX
        {
            tail.push_str(piece);
            *size += piece.len();
            self.bytes += piece.len();
            return None;
        }
        let size = estimate_size(&notice);
        Some((notice, size))
    }
}

/// The two texts, if the second notice continues the first.
fn find_joinable_text<'a>(
    last: &'a mut Notice,
    next: &'a Notice,
) -> Option<(&'a mut String, &'a str)> {
    match (last, next) {
        (
            Notice::Streamed { attempt: a, delta: tail },
            Notice::Streamed { attempt: b, delta: piece },
        ) if a == b => find_joinable_delta(tail, piece),
        _ => None,
    }
}

fn is_decoration(notice: &Notice) -> bool {
    if let Notice::SubagentNotice { notice, .. } = notice {
        return is_decoration(notice);
    }
    matches!(notice, Notice::Streamed { .. } | Notice::ToolProgressed { .. } | Notice::Hook(_))
}

fn is_undroppable(notice: &Notice) -> bool {
    matches!(notice, Notice::RunEnded(_) | Notice::PermissionAsked { .. })
}

/// The memory held by a notice; the fixed part is an estimate.
fn estimate_size(notice: &Notice) -> usize {
    let own = if let Notice::Streamed { delta, .. } = notice {
        delta_size(delta)
    } else if let Notice::ToolProgressed { text, .. } | Notice::Warning(text) = notice {
        text.len()
    } else if let Notice::SubagentNotice { notice, .. } = notice {
        estimate_size(notice)
    } else if let Notice::ToolEnded { outcome, .. } = notice {
        outcome.content.iter().map(ToolResultPart::bytes).sum()
    } else if let Notice::Hook(HookNotice::Ended { stdout, stderr, .. }) = notice {
        stdout.len() + stderr.len()
    } else {
        0
    };
    own + 200
}

fn delta_size(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Thinking(text) | Delta::CallInput(text) => text.len(),
        Delta::Call { call, .. } => call.input.as_str().len(),
        Delta::Block(block) => block_size(block),
        Delta::Raw(json) => json.as_str().len(),
        Delta::CallStarted { .. } | Delta::Usage(_) | Delta::Cleared { .. } => 0,
    }
}

fn block_size(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text(text) => text.len(),
        ContentBlock::Thinking(thinking) => thinking.text.len(),
        ContentBlock::ToolUse(call) => call.input.as_str().len(),
        ContentBlock::ToolResult(result) => result.bytes(),
        ContentBlock::Media(media) => media.data.len(),
        ContentBlock::Provider(block) => block.json.as_str().len(),
    }
}

/// Above this many unread bytes, decoration is dropped.
const DECORATION_BYTES_MAX: usize = 16 << 20;
/// Above this many unread bytes, the oldest notices are dropped.
const BYTES_MAX: usize = 64 << 20;
/// Above this many unread notices, pieces of text are always joined.
const SEPARATE_NOTICES_MAX: usize = 10_000;
/// Above this many unread notices, the oldest are dropped.
const NOTICES_MAX: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_vocabulary::{AttemptId, PermissionQuestion, Ticket, ToolCall, ToolOutcome};

    fn text(attempt: u64, text: &str) -> Notice {
        Notice::Streamed { attempt: AttemptId(attempt), delta: Delta::Text(text.to_owned()) }
    }

    #[tokio::test]
    async fn unread_text_is_joined_within_its_attempt() {
        let (notice_sender, mut notices) = channel(false);
        for notice in [text(1, "a"), text(1, "b"), text(2, "c"), Notice::RunStarted, text(2, "d")] {
            notice_sender.send(notice);
        }
        notice_sender.close();
        let mut read = Vec::new();
        while let Some(notice) = notices.next().await {
            read.push(notice);
        }
        assert_eq!(read, [text(1, "ab"), text(2, "c"), Notice::RunStarted, text(2, "d")]);
    }

    #[test]
    fn memory_is_bounded_and_what_must_arrive_arrives() {
        let (notice_sender, mut notices) = channel(false);
        let call = ToolCall {
            id: "c".into(),
            name: "Bash".into(),
            input: windlass_vocabulary::Json::empty_object(),
            signature: None,
        };
        let question =
            PermissionQuestion { call, why: String::new(), suggestions: Vec::new(), agent: None };
        notice_sender.send(Notice::RunStarted);
        notice_sender.send(Notice::PermissionAsked { ticket: Ticket(1), question });
        let piece = "x".repeat(1 << 20);
        for attempt in 0..100 {
            notice_sender.send(text(attempt, &piece));
            let outcome = ToolOutcome::from_text(piece.clone());
            notice_sender.send(Notice::ToolEnded { call: "c".into(), outcome });
        }
        for _ in 0..NOTICES_MAX {
            notice_sender.warn("again");
        }
        notice_sender.fail("over".to_owned());
        let queue = notice_sender.shared.lock_queue();
        assert!(queue.bytes <= BYTES_MAX && queue.unread.len() <= NOTICES_MAX);
        drop(queue);
        let mut read = Vec::new();
        while let Some(notice) = notices.try_next() {
            read.push(notice);
        }
        assert!(matches!(&read[0], Notice::Warning(words) if words.contains("dropped")));
        assert!(read.iter().any(|notice| matches!(notice, Notice::PermissionAsked { .. })));
        assert!(matches!(read.last(), Some(Notice::RunEnded(ending)) if ending.why == "over"));
    }
}
