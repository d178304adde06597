//! A histogram of how long effects waited until their record was on disk. The buckets are fixed, so
//! its size does not depend on the load.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts waits for the disk. Can be shared by any number of sessions.
#[derive(Debug)]
pub struct LatencyHistogram([AtomicU64; BUCKETS]);

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl LatencyHistogram {
    pub(crate) fn record(&self, waited: Duration) {
        if let Some(bucket) = self.0.get(bucket_index(waited)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of waits.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum()
    }

    /// The time within which this many of a thousand waits ended, rounded up by at most an eighth.
    #[must_use]
    pub fn quantile(&self, per_mille: u64) -> Duration {
        let wanted = (self.count() * per_mille).div_ceil(1_000);
        let mut seen = 0;
        for (number, bucket) in self.0.iter().enumerate() {
            seen += bucket.load(Ordering::Relaxed);
            if seen >= wanted {
                return bucket_upper_bound(number);
            }
        }
        Duration::MAX
    }
}

/// Eight buckets for each doubling, starting at a microsecond.
fn bucket_index(waited: Duration) -> usize {
    let micros = u64::try_from(waited.as_micros()).unwrap_or(u64::MAX).max(1);
    let doublings = u64::from(micros.ilog2());
    let eighth = match doublings {
        0..=2 => (micros << (3 - doublings)) & 7,
        _ => (micros >> (doublings - 3)) & 7,
    };
    usize::try_from(doublings * 8 + eighth).unwrap_or(BUCKETS).min(BUCKETS - 1)
}

fn bucket_upper_bound(bucket: usize) -> Duration {
    let doublings = bucket / 8;
    let eighth = bucket % 8;
    let base = 1_u64 << doublings.min(40);
    Duration::from_micros(base + base * (u64::try_from(eighth).unwrap_or(7) + 1) / 8)
}

/// Enough for about twelve days.
const BUCKETS: usize = 8 * 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_to_an_eighth() {
        for micros in [1, 2, 3, 7, 8, 100, 1_000, 12_345, 50_000, 3_000_000] {
            let waits = LatencyHistogram::default();
            waits.record(Duration::from_micros(micros));
            let estimate = u64::try_from(waits.quantile(990).as_micros()).unwrap();
            assert!(
                estimate >= micros && estimate <= micros + micros / 7 + 1,
                "{micros}: {estimate}"
            );
        }
    }
}
