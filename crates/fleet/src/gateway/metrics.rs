//! Counters and gauges in Prometheus text format.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::{SessionStore, StoreError};

#[derive(Debug, Default)]
pub(crate) struct GatewayMetrics {
    requests: AtomicU64,
    refusals: AtomicU64,
    streams: AtomicU64,
}

impl GatewayMetrics {
    pub(crate) fn count_request(&self, is_refused: bool) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.refusals.fetch_add(u64::from(is_refused), Ordering::Relaxed);
    }

    pub(crate) fn count_stream(&self) {
        self.streams.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) async fn render(&self, store: &SessionStore) -> Result<String, StoreError> {
        let mut text = String::from("# TYPE windlass_sessions gauge\n");
        for (state, count) in store.count_states().await? {
            text.push_str(&format!("windlass_sessions{{state=\"{state}\"}} {count}\n"));
        }
        let workers = store.list_workers().await?;
        let live = workers.iter().filter(|worker| worker.lease_millis > 0 && worker.capacity > 0);
        let (mut count, mut capacity, mut running) = (0, 0, 0);
        for worker in live {
            count += 1;
            capacity += worker.capacity;
            running += worker.running;
        }
        for (name, kind, value) in [
            ("windlass_workers", "gauge", count.to_string()),
            ("windlass_worker_capacity", "gauge", capacity.to_string()),
            ("windlass_worker_sessions", "gauge", running.to_string()),
            ("windlass_http_requests_total", "counter", load(&self.requests)),
            ("windlass_http_refusals_total", "counter", load(&self.refusals)),
            ("windlass_event_streams_total", "counter", load(&self.streams)),
        ] {
            text.push_str(&format!("# TYPE {name} {kind}\n{name} {value}\n"));
        }
        Ok(text)
    }
}

fn load(counter: &AtomicU64) -> String {
    counter.load(Ordering::Relaxed).to_string()
}
