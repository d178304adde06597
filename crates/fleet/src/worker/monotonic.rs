//! The clock for leases on a host: it runs while the machine sleeps, cannot be set, and has the
//! same value in every process of the host.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time since boot.
#[must_use]
pub(crate) fn now() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
