//! The clock that leases are counted by on a host: it goes on while the machine sleeps, and nobody can
//! set it. Its values mean the same in every process of the host.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time since the machine was started.
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
