//! The last part of what a session said: its live frames, and between them marks for the events that
//! were stored. A worker fills it, and a gateway that follows the session has a copy.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TailItem {
    /// Counts from 0 under each claim.
    pub(crate) index: u64,
    /// The number of the last stored event before it.
    pub(crate) after: u64,
    /// The first item of the messages that are not finished: who began later has only a part of them.
    pub(crate) begin: u64,
    /// A frame, or `None` for the mark of a stored event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frame: Option<String>,
}

/// Where a client was: the last live frame it got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiveCursor {
    pub(crate) epoch: u64,
    pub(crate) index: u64,
}

#[derive(Debug)]
pub(crate) struct SessionTail {
    pub(crate) epoch: u64,
    bytes_max: usize,
    state: Mutex<TailState>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct TailState {
    items: VecDeque<Arc<TailItem>>,
    bytes: usize,
    /// Messages that are not finished: by the call of the agent, with their first item.
    open: BTreeMap<String, u64>,
    /// Where a new reader begins.
    begin: u64,
    next: u64,
    stored: u64,
    is_closed: bool,
}

impl SessionTail {
    pub(crate) fn new(epoch: u64) -> Self {
        Self::with_limit(epoch, TAIL_BYTES_MAX)
    }

    fn with_limit(epoch: u64, bytes_max: usize) -> Self {
        Self { epoch, bytes_max, state: Mutex::default(), changes: watch::Sender::default() }
    }

    fn lock(&self) -> MutexGuard<'_, TailState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a live frame.
    pub(crate) fn push_frame(&self, frame: &Value) -> Arc<TailItem> {
        let kind = frame.pointer("/event/type").and_then(Value::as_str).unwrap_or_default();
        let agent = frame.get("parent_tool_use_id").and_then(Value::as_str).unwrap_or_default();
        let text = Some(frame.to_string()).filter(|text| text.len() <= FRAME_BYTES_MAX);
        let mut state = self.lock();
        let next = state.next;
        if kind == "message_start" && state.open.len() < OPEN_MESSAGES_MAX {
            state.open.insert(agent.to_owned(), next);
        }
        let item = state.push(text);
        if kind == "message_stop" {
            state.open.remove(agent);
            state.begin = state.first_open();
        }
        state.limit(self.bytes_max);
        drop(state);
        self.changes.send_replace(());
        item
    }

    /// Adds the mark of a stored event. `is_result` if the run has ended, and with it all messages.
    pub(crate) fn push_stored(&self, number: u64, is_result: bool) -> Arc<TailItem> {
        let mut state = self.lock();
        state.stored = state.stored.max(number);
        if is_result {
            state.open.clear();
        }
        let item = state.push(None);
        state.limit(self.bytes_max);
        drop(state);
        self.changes.send_replace(());
        item
    }

    /// Adds an item of another tail to this copy of it. One that it has is skipped.
    pub(crate) fn insert(&self, mut item: TailItem) {
        // It is sent as one line of an event stream; what is not one is none of ours.
        item.frame = item.frame.filter(|frame| !frame.contains(['\n', '\r']));
        let mut state = self.lock();
        if item.index < state.next {
            return;
        }
        state.next = item.index.saturating_add(1);
        state.begin = state.begin.max(item.begin.min(item.index));
        state.stored = item.after;
        state.add(Arc::new(item));
        state.limit(self.bytes_max);
        drop(state);
        self.changes.send_replace(());
    }

    /// Says that nothing more comes.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changes.send_replace(());
    }

    /// All items that a new reader needs.
    pub(crate) fn snapshot(&self) -> Vec<Arc<TailItem>> {
        let state = self.lock();
        state.items.iter().filter(|item| item.index >= state.begin).cloned().collect()
    }
}

impl TailState {
    fn first_open(&self) -> u64 {
        self.open.values().min().copied().unwrap_or(self.next)
    }

    fn push(&mut self, frame: Option<String>) -> Arc<TailItem> {
        let begin = self.first_open();
        let item = TailItem { index: self.next, after: self.stored, begin, frame };
        let item = Arc::new(item);
        self.next += 1;
        self.begin = begin;
        self.add(Arc::clone(&item));
        item
    }

    fn add(&mut self, item: Arc<TailItem>) {
        self.bytes += size_of_item(&item);
        self.items.push_back(item);
    }

    fn limit(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max
            && let Some(item) = self.items.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(size_of_item(&item));
        }
    }
}

fn size_of_item(item: &TailItem) -> usize {
    item.frame.as_ref().map_or(0, String::len) + ITEM_BYTES
}

/// An item for one reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadItem {
    pub(crate) item: Arc<TailItem>,
    /// Whether the reader has the beginning of the item's message.
    pub(crate) is_whole: bool,
}

/// Reads a tail from a position on.
#[derive(Debug)]
pub(crate) struct TailReader {
    tail: Arc<SessionTail>,
    changes: watch::Receiver<()>,
    next: u64,
    /// Messages that began before this are not whole for this reader.
    joined: u64,
}

impl TailReader {
    /// Reads on after the cursor; without one, or with one of another claim, from the beginning of the
    /// messages that are not finished.
    pub(crate) fn new(tail: Arc<SessionTail>, cursor: Option<LiveCursor>) -> Self {
        let changes = tail.changes.subscribe();
        let cursor = cursor.filter(|cursor| cursor.epoch == tail.epoch);
        let (next, joined) = match cursor {
            Some(cursor) => (cursor.index.saturating_add(1), 0),
            None => {
                let begin = tail.lock().begin;
                (begin, begin)
            }
        };
        Self { tail, changes, next, joined }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.tail.epoch
    }

    /// The items since the last call, and whether more may come.
    pub(crate) fn read(&mut self) -> (Vec<ReadItem>, bool) {
        self.changes.mark_unchanged();
        let state = self.tail.lock();
        let first = state.items.partition_point(|item| item.index < self.next);
        let mut read = Vec::new();
        for item in state.items.range(first..) {
            if item.index > self.next {
                // What is between was dropped.
                self.joined = item.index;
            }
            self.next = item.index.saturating_add(1);
            let is_whole = item.begin >= self.joined;
            read.push(ReadItem { item: Arc::clone(item), is_whole });
        }
        (read, !state.is_closed)
    }

    /// Returns when there is something to read, or the tail is closed.
    pub(crate) async fn wait_for_change(&mut self) {
        if self.changes.changed().await.is_err() {
            // The sender is part of the tail, which this reader holds.
            std::future::pending::<()>().await;
        }
    }
}

const TAIL_BYTES_MAX: usize = 4 << 20;
const FRAME_BYTES_MAX: usize = 512 << 10;
/// What an item takes besides its frame.
const ITEM_BYTES: usize = 64;
const OPEN_MESSAGES_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: &str, agent: Option<&str>) -> Value {
        json!({ "type": "stream_event", "parent_tool_use_id": agent, "event": { "type": kind } })
    }

    fn kinds(read: &[ReadItem]) -> Vec<String> {
        let to_kind = |one: &ReadItem| {
            let frame = one.item.frame.as_deref().filter(|_| one.is_whole)?;
            let frame: Value = serde_json::from_str(frame).unwrap();
            Some(frame["event"]["type"].as_str().unwrap().to_owned())
        };
        read.iter().filter_map(to_kind).collect()
    }

    #[test]
    fn a_new_reader_begins_with_the_message_that_is_not_finished() {
        let tail = Arc::new(SessionTail::new(3));
        for kind in ["message_start", "one", "message_stop"] {
            tail.push_frame(&event(kind, None));
        }
        tail.push_stored(7, false);
        assert!(kinds(&TailReader::new(Arc::clone(&tail), None).read().0).is_empty());
        for kind in ["message_start", "two"] {
            tail.push_frame(&event(kind, None));
        }
        tail.push_stored(8, false);
        let mut reader = TailReader::new(Arc::clone(&tail), None);
        let (read, is_open) = reader.read();
        assert!(is_open);
        assert_eq!(kinds(&read), ["message_start", "two"]);
        assert_eq!(read.iter().map(|one| one.item.after).collect::<Vec<_>>(), [7, 7, 8]);

        // A cursor of this claim goes on, one of another claim does not count.
        let index = read[0].item.index;
        let mut resumed = TailReader::new(Arc::clone(&tail), Some(LiveCursor { epoch: 3, index }));
        assert_eq!(kinds(&resumed.read().0), ["two"]);
        let mut other = TailReader::new(Arc::clone(&tail), Some(LiveCursor { epoch: 2, index }));
        assert_eq!(kinds(&other.read().0), ["message_start", "two"]);
        tail.close();
        assert!(!other.read().1);
    }

    #[test]
    fn messages_of_agents_that_run_at_once_are_whole() {
        let tail = Arc::new(SessionTail::new(1));
        for (kind, agent) in [
            ("message_start", Some("a")),
            ("message_start", None),
            ("message_stop", None),
            ("late", Some("a")),
        ] {
            tail.push_frame(&event(kind, agent));
        }
        let mut reader = TailReader::new(Arc::clone(&tail), None);
        let all = ["message_start", "message_start", "message_stop", "late"];
        assert_eq!(kinds(&reader.read().0), all);
        tail.push_stored(1, true);
        assert!(kinds(&TailReader::new(tail, None).read().0).is_empty());
    }

    /// A message that outgrew the tail is not shown in part: its text comes with the stored event.
    #[test]
    fn a_message_whose_beginning_was_dropped_is_left_out() {
        let tail = Arc::new(SessionTail::with_limit(1, 1000));
        let mut early = TailReader::new(Arc::clone(&tail), None);
        tail.push_frame(&event("message_start", None));
        assert_eq!(kinds(&early.read().0), ["message_start"]);
        for _ in 0..50 {
            tail.push_frame(&event("delta", None));
        }
        assert!(tail.lock().bytes <= 1000);
        let mut late = TailReader::new(Arc::clone(&tail), None);
        // Both miss something, and neither gets a message with a hole.
        assert!(kinds(&late.read().0).is_empty() && kinds(&early.read().0).is_empty());
        tail.push_frame(&event("message_stop", None));
        tail.push_frame(&event("message_start", None));
        assert_eq!(kinds(&late.read().0), ["message_start"]);
        assert_eq!(kinds(&early.read().0), ["message_start"]);
    }

    #[test]
    fn a_copy_has_what_the_tail_has_and_nothing_twice() {
        let tail = Arc::new(SessionTail::new(1));
        let copy = Arc::new(SessionTail::new(1));
        let mut waiting = TailReader::new(Arc::clone(&copy), None);
        for kind in ["message_start", "message_stop", "message_start", "one"] {
            tail.push_frame(&event(kind, None));
        }
        for _ in 0..2 {
            for item in tail.snapshot() {
                copy.insert(TailItem::clone(&item));
            }
        }
        assert_eq!(kinds(&waiting.read().0), ["message_start", "one"]);
        let index = tail.snapshot()[0].index;
        let cursor = Some(LiveCursor { epoch: 1, index });
        assert_eq!(kinds(&TailReader::new(copy, cursor).read().0), ["one"]);
        // The position of a client stays when the copy has nothing yet.
        let empty = Arc::new(SessionTail::new(1));
        let mut early = TailReader::new(Arc::clone(&empty), cursor);
        tail.snapshot().iter().for_each(|item| empty.insert(TailItem::clone(item)));
        assert_eq!(kinds(&early.read().0), ["one"]);
    }
}
