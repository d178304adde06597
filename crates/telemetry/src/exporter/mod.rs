//! Sends queued records on its own thread, so that encoding, certificates and slow collectors never
//! delay a session.
//!
//! Each signal has at most one request in flight and keeps at most one batch for a retry. Retries
//! back off. When a session ends, all signals are sent at once and concurrently; the session waits
//! for at most the configured time.

mod body_files;
mod console;
mod grpc;
mod headers_program;
mod http_client;
mod scrape_server;
mod send_result;
mod signal_worker;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use windlass_host::standard_streams::write_error_line;

use self::body_files::write_body_file;
use self::headers_program::ProgramHeaders;
use self::scrape_server::ScrapeServer;
use self::send_result::SendResult;
use self::signal_worker::SignalWorker;
use crate::config::{TelemetryConfig, TelemetrySignal};
use crate::metric_table::MetricTable;
use crate::queue::{QueueLevel, RecordReceiver};
use crate::record::TelemetryRecord;
use crate::standard_attributes::StandardAttributes;

/// Sends everything now; the sender is notified after the attempt.
pub(crate) type FlushRequest = Option<oneshot::Sender<()>>;

pub(crate) struct Exporter {
    pub(crate) config: Arc<TelemetryConfig>,
    pub(crate) records: RecordReceiver,
    pub(crate) flushes: mpsc::Receiver<FlushRequest>,
    pub(crate) metrics: Arc<Mutex<MetricTable>>,
    pub(crate) level: Arc<QueueLevel>,
}

impl Exporter {
    /// Starts the thread. It ends when all record senders are dropped, or with the process.
    pub(crate) fn spawn(self) -> std::io::Result<()> {
        let thread = std::thread::Builder::new().name("telemetry".to_owned());
        thread.stack_size(STACK_BYTES).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(self.run());
            }
        })?;
        Ok(())
    }

    async fn run(mut self) {
        let standard = Arc::new(StandardAttributes::gather(&self.config));
        self.start_scrape_server(&standard).await;
        let helper = Arc::new(ProgramHeaders::new(self.config.headers_program.clone()));
        let now = Instant::now();
        let mut workers: Vec<SignalWorker> = TelemetrySignal::ALL
            .into_iter()
            .filter_map(|signal| SignalWorker::new(signal, &self.config, &standard, now))
            .collect();
        let mut sending = JoinSet::new();
        let mut waiting: Vec<oneshot::Sender<()>> = Vec::new();
        let mut is_open = true;
        loop {
            for worker in &mut workers {
                if let Some(request) = worker.start_if_due(&self.metrics, Instant::now()) {
                    let signal = worker.signal;
                    let helper = Arc::clone(&helper);
                    sending.spawn(async move { (signal, request.send(&helper).await) });
                }
            }
            if workers.iter().all(SignalWorker::is_flushed) {
                // Fails if the caller has stopped waiting.
                for done in waiting.drain(..) {
                    let _ = done.send(());
                }
                if !is_open {
                    self.report_losses();
                    return;
                }
            }
            let due = workers.iter().filter_map(SignalWorker::next_due).min();
            tokio::select! {
                biased;
                record = self.records.next(), if is_open => match record {
                    Some(record) => self.take_record(record, &mut workers),
                    None => {
                        is_open = false;
                        workers.iter_mut().for_each(SignalWorker::flush);
                    }
                },
                Some(done) = self.flushes.recv() => {
                    while let Some(record) = self.records.try_next() {
                        self.take_record(record, &mut workers);
                    }
                    workers.iter_mut().for_each(SignalWorker::flush);
                    waiting.extend(done);
                }
                Some(Ok((signal, result))) = sending.join_next() => {
                    self.take_result(signal, &result, &mut workers);
                }
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
        }
    }

    /// If the port is taken, the other exporters still run.
    async fn start_scrape_server(&self, standard: &Arc<StandardAttributes>) {
        let Some(address) = &self.config.metrics.scraped_at else { return };
        let bound = ScrapeServer::bind(address, &self.metrics, standard).await;
        let bound = bound.and_then(|server| Ok((server.address()?, server)));
        let words = match bound {
            Ok((bound, server)) => {
                tokio::spawn(server.run());
                format!("metrics are at http://{bound}/metrics")
            }
            Err(error) => format!("metrics cannot be served at {}: {error}", address.describe()),
        };
        if self.config.shows_errors {
            write_error_line(&format!("windlass: telemetry: {words}"));
        }
    }

    fn take_record(&self, mut record: TelemetryRecord, workers: &mut [SignalWorker]) {
        if let TelemetryRecord::Event(event) = &mut record
            && let Err(problem) = write_body_file(event)
            && self.config.shows_errors
        {
            write_error_line(&format!("windlass: telemetry: {problem}"));
        }
        let signal = match &record {
            TelemetryRecord::Span(_) => TelemetrySignal::Traces,
            TelemetryRecord::Event(_) => TelemetrySignal::Logs,
            // Increments are added to the metric table instead.
            TelemetryRecord::Increment(_) => return,
        };
        if let Some(worker) = workers.iter_mut().find(|worker| worker.signal == signal) {
            self.level.add_dropped(worker.take_record(record));
        }
    }

    fn take_result(
        &self,
        signal: TelemetrySignal,
        result: &SendResult,
        workers: &mut [SignalWorker],
    ) {
        let Some(worker) = workers.iter_mut().find(|worker| worker.signal == signal) else {
            return;
        };
        self.level.add_dropped(worker.take_result(result, Instant::now()));
        if let Some(problem) = worker.describe_new_failure(result)
            && self.config.shows_errors
        {
            write_error_line(&format!("windlass: telemetry: {problem}"));
        }
    }

    fn report_losses(&self) {
        let lost = self.metrics.lock().unwrap_or_else(PoisonError::into_inner).lost_count();
        let dropped = self.level.dropped_count() + lost;
        if dropped > 0 && self.config.shows_errors {
            write_error_line(&format!("windlass: telemetry: {dropped} records were not sent"));
        }
    }
}

const STACK_BYTES: usize = 2 << 20;
/// For a connection, including TLS.
const CONNECT_MAX: Duration = Duration::from_secs(1);
