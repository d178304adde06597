//! Observes sessions and passes records to the exporter.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{mpsc, oneshot};
use windlass_driver::tool_types::TraceContext;
use windlass_driver::{
    Observation, ObservedSession, ObserverFuture, SessionObserver, TracePosition,
};
use windlass_vocabulary::Notice;

use crate::config::TelemetryConfig;
use crate::exporter::{Exporter, FlushRequest};
use crate::metric_table::MetricTable;
use crate::propagation::is_vendor;
use crate::queue::{RecordSender, record_queue};
use crate::record::TelemetryRecord;
use crate::trace_parent::format_traceparent;
use crate::tracker::SessionTracker;
use crate::wiring_report::WiringReport;

/// The telemetry of one process, when it is on.
pub struct TelemetryObserver {
    config: Arc<TelemetryConfig>,
    tracker: Mutex<SessionTracker>,
    metrics: Arc<Mutex<MetricTable>>,
    records: RecordSender,
    flushes: mpsc::Sender<FlushRequest>,
}

impl TelemetryObserver {
    /// Starts the exporter's thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(config: TelemetryConfig) -> std::io::Result<Self> {
        let config = Arc::new(config);
        let (records, receiver, level) = record_queue();
        let (flushes, flush_receiver) = mpsc::channel(FLUSHES_MAX);
        let metrics = Arc::new(Mutex::new(MetricTable::new(unix_nanos())));
        Exporter {
            config: Arc::clone(&config),
            records: receiver,
            flushes: flush_receiver,
            metrics: Arc::clone(&metrics),
            level,
        }
        .spawn()?;
        let tracker = Mutex::new(SessionTracker::new(Arc::clone(&config)));
        Ok(Self { config, tracker, metrics, records, flushes })
    }

    /// Takes what the wiring of the session knows.
    pub fn report(&self, report: WiringReport) {
        let reported = self.tracker().report(report, unix_nanos());
        if let Some((session, records)) = reported {
            self.push(&session, records);
        }
    }

    fn push(&self, session: &ObservedSession, records: Vec<TelemetryRecord>) {
        for mut record in records {
            record.redact(&session.secrets);
            match record {
                TelemetryRecord::Increment(increment) => {
                    self.metrics.lock().unwrap_or_else(PoisonError::into_inner).add(increment);
                }
                record @ (TelemetryRecord::Span(_) | TelemetryRecord::Event(_)) => {
                    self.records.push(record);
                }
            }
        }
    }

    fn tracker(&self) -> MutexGuard<'_, SessionTracker> {
        self.tracker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionObserver for TelemetryObserver {
    fn observe(&self, session: &ObservedSession, observation: Observation<'_>) {
        let records = self.tracker().track(session, observation, unix_nanos());
        self.push(session, records);
        let is_over = matches!(observation, Observation::Notice(Notice::RunEnded(_)));
        if is_over && self.config.process.is_single_run && session.started_by.is_none() {
            // Flushing overlaps with the session's last writes. A full queue means that a flush is
            // pending.
            let _ = self.flushes.try_send(None);
        }
    }

    fn trace_context(
        &self,
        session: &ObservedSession,
        position: TracePosition<'_>,
    ) -> Option<TraceContext> {
        if !self.config.traces.is_on() {
            return None;
        }
        let trace = &self.config.trace;
        if let TracePosition::Request { base_url, .. } = position
            && !is_vendor(base_url)
            && !trace.goes_to_any_model
        {
            return None;
        }
        let context = self.tracker().find_context(session, position)?;
        Some(TraceContext {
            traceparent: format_traceparent(&context),
            tracestate: trace.state.clone(),
            goes_to_servers: trace.goes_to_servers,
        })
    }

    fn finish(&self) -> ObserverFuture {
        let flushes = self.flushes.clone();
        Box::pin(async move {
            let (done, over) = oneshot::channel();
            if flushes.send(Some(done)).await.is_ok() {
                let _ = over.await;
            }
        })
    }

    fn finish_max(&self) -> Duration {
        self.config.shutdown
    }
}

impl fmt::Debug for TelemetryObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelemetryObserver").finish_non_exhaustive()
    }
}

fn unix_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Limit on pending flushes; each one sends everything.
const FLUSHES_MAX: usize = 16;
