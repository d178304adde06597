//! The bounded queue between sessions and the exporter. Pushing never blocks: records that do not
//! fit are dropped and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::mpsc;

use crate::record::TelemetryRecord;

#[derive(Clone, Debug)]
pub(crate) struct RecordSender {
    records: mpsc::Sender<TelemetryRecord>,
    level: Arc<QueueLevel>,
}

#[derive(Debug)]
pub(crate) struct RecordReceiver {
    records: mpsc::Receiver<TelemetryRecord>,
    level: Arc<QueueLevel>,
}

#[derive(Debug, Default)]
pub(crate) struct QueueLevel {
    bytes: AtomicUsize,
    dropped: AtomicU64,
}

impl QueueLevel {
    /// Counts records that were given up for any reason.
    pub(crate) fn add_dropped(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn dropped_count(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

pub(crate) fn record_queue() -> (RecordSender, RecordReceiver, Arc<QueueLevel>) {
    let (sender, receiver) = mpsc::channel(RECORDS_MAX);
    let level = Arc::new(QueueLevel::default());
    (
        RecordSender { records: sender, level: Arc::clone(&level) },
        RecordReceiver { records: receiver, level: Arc::clone(&level) },
        level,
    )
}

impl RecordSender {
    pub(crate) fn push(&self, record: TelemetryRecord) {
        let bytes = record.bytes();
        let waiting = self.level.bytes.load(Ordering::Relaxed);
        // A body with pictures may be longer than the limit: one has room if nothing else waits.
        if waiting > 0 && waiting + bytes > BYTES_MAX {
            self.level.add_dropped(1);
            return;
        }
        self.level.bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.records.try_send(record).is_err() {
            self.level.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.level.add_dropped(1);
        }
    }
}

impl RecordReceiver {
    pub(crate) async fn next(&mut self) -> Option<TelemetryRecord> {
        let record = self.records.recv().await?;
        self.level.bytes.fetch_sub(record.bytes(), Ordering::Relaxed);
        Some(record)
    }

    pub(crate) fn try_next(&mut self) -> Option<TelemetryRecord> {
        let record = self.records.try_recv().ok()?;
        self.level.bytes.fetch_sub(record.bytes(), Ordering::Relaxed);
        Some(record)
    }
}

/// Limit on queued records.
const RECORDS_MAX: usize = 4_096;
/// Limit on bytes of queued records.
const BYTES_MAX: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::USER_PROMPT;
    use crate::record::{Attributes, EventRecord};

    fn event(text: &str) -> TelemetryRecord {
        let attributes = Attributes::default().text("prompt", text);
        TelemetryRecord::Event(EventRecord {
            name: USER_PROMPT,
            time: 1,
            attributes,
            context: None,
            body_file: None,
        })
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_counted() {
        let (sender, mut receiver, level) = record_queue();
        for _ in 0..RECORDS_MAX + 10 {
            sender.push(event("x"));
        }
        assert_eq!(level.dropped_count(), 10);
        while receiver.try_next().is_some() {}
        assert_eq!(level.bytes.load(Ordering::Relaxed), 0);
        let long = "x".repeat(1 << 20);
        for _ in 0..20 {
            sender.push(event(&long));
        }
        assert_eq!(level.dropped_count(), 10 + 13);
        assert!(level.bytes.load(Ordering::Relaxed) <= BYTES_MAX);
        while receiver.try_next().is_some() {}
        let huge = "x".repeat(BYTES_MAX + 1);
        sender.push(event(&huge));
        sender.push(event("x"));
        assert_eq!(level.dropped_count(), 10 + 13 + 1);
    }
}
