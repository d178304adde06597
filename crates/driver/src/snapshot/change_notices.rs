//! Reports what calls changed, but never before the end of the calls themselves: a snapshot of a
//! small directory may be faster than the notice of the call.

use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_vocabulary::notice::ChangedFile;
use windlass_vocabulary::{Notice, ToolCallId};

use super::recorder_thread::FILES_TOLD_MAX;
use crate::notices::NoticeSender;

#[derive(Debug)]
pub(crate) struct ChangeNotices {
    notice_sender: NoticeSender,
    order: Mutex<NoticeOrder>,
}

#[derive(Debug, Default)]
struct NoticeOrder {
    /// Calls of this run whose end was reported.
    ended_calls: Vec<ToolCallId>,
    /// Changes that wait until the end of their calls is reported.
    held: Vec<HeldChange>,
    /// Everything that changed in this run, for hooks.
    changed: Vec<HeldChange>,
}

#[derive(Clone, Debug)]
struct HeldChange {
    calls: Vec<ToolCallId>,
    files: Vec<ChangedFile>,
    count: usize,
}

impl ChangeNotices {
    pub(crate) fn new(notice_sender: NoticeSender) -> Self {
        Self { notice_sender, order: Mutex::default() }
    }

    pub(super) fn tell(&self, calls: Vec<ToolCallId>, files: Vec<ChangedFile>, count: usize) {
        let mut order = self.lock_order();
        let change = HeldChange { calls, files, count };
        order.changed.push(change.clone());
        order.held.push(change);
        self.send_ready(&mut order);
    }

    /// What these calls changed, or all calls of the run if the list is empty: the files that are
    /// listed, and the total number.
    pub(super) fn list_changes(&self, calls: &[ToolCallId]) -> (Vec<ChangedFile>, usize) {
        let order = self.lock_order();
        let is_meant = |change: &&HeldChange| {
            calls.is_empty() || change.calls.iter().any(|call| calls.contains(call))
        };
        let mut files: Vec<ChangedFile> = Vec::new();
        let mut count = 0;
        for change in order.changed.iter().filter(is_meant) {
            let is_new = |file: &&ChangedFile| !files.iter().any(|known| known.path == file.path);
            let new: Vec<ChangedFile> = change.files.iter().filter(is_new).cloned().collect();
            count += new.len() + change.count.saturating_sub(change.files.len());
            files.extend(new);
        }
        files.truncate(FILES_TOLD_MAX);
        (files, count)
    }

    pub(super) fn warn(&self, words: String) {
        self.notice_sender.warn(words);
    }

    /// Records that the end of a call was reported.
    pub(super) fn record_told(&self, call: &ToolCallId) {
        let mut order = self.lock_order();
        order.ended_calls.push(call.clone());
        self.send_ready(&mut order);
    }

    /// Sends everything that still waits, at the end of the run.
    pub(super) fn flush(&self) {
        let mut order = self.lock_order();
        let held = std::mem::take(&mut order.held);
        order.ended_calls.clear();
        order.changed.clear();
        held.into_iter().for_each(|change| self.send(change));
    }

    fn send_ready(&self, order: &mut NoticeOrder) {
        let NoticeOrder { ended_calls, held, .. } = order;
        let is_ready =
            |change: &mut HeldChange| change.calls.iter().all(|it| ended_calls.contains(it));
        held.extract_if(.., is_ready).for_each(|change| self.send(change));
    }

    fn send(&self, change: HeldChange) {
        let HeldChange { calls, files, count } = change;
        self.notice_sender.send(Notice::FilesChanged { calls, files, count });
    }

    fn lock_order(&self) -> MutexGuard<'_, NoticeOrder> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
