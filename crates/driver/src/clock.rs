//! The only place that reads the time.
//!
//! Durations are measured on the runtime's monotonic clock, so that a jump of the wall clock breaks
//! no deadline; the wall clock is read only for timestamps. A task that waits for a server or a
//! program uses [`timeout`] and its like, which do not count the time during which this process was
//! stopped.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
pub(crate) use windlass_tool::running_time::{RunningClock, RunningTimer, SLICE_MAX, timeout};
use windlass_vocabulary::Millis;

pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The wall clock in milliseconds since 1970; zero if it is set to an earlier time.
pub(crate) fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn elapsed_since(instant: Instant) -> Millis {
    Millis(u64::try_from(instant.elapsed().as_millis()).unwrap_or(u64::MAX))
}
