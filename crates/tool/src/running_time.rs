//! Deadlines that count only the time in which this process ran.
//!
//! A process may be stopped by a signal, by a suspended laptop or by the host of its virtual
//! machine, while what it waits for continues: a command ends, an answer arrives in the socket. A
//! wall-clock deadline would then have passed before the result was read. So a wait is divided into
//! slices of a second; a slice that took much longer counts as a stop, and is repeated. A result
//! that is ready after a stop is therefore seen before its deadline.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// The length of a slice.
pub const SLICE_MAX: Duration = Duration::from_secs(1);
/// How much later than requested a busy machine may wake us.
const DELAY_MAX: Duration = Duration::from_secs(1);
/// Limits how many stops one wait ignores: on a machine so busy that every slice looks like a stop,
/// a deadline must still end.
const STOPS_MAX: u32 = 100;

/// Counts the time in which this process ran, if it is read at least once in every slice.
#[derive(Clone, Copy, Debug)]
pub struct RunningClock {
    read_at: Instant,
    running: Duration,
    stops: u32,
}

impl RunningClock {
    #[must_use]
    pub fn start() -> Self {
        Self { read_at: Instant::now(), running: Duration::ZERO, stops: 0 }
    }

    /// The running time since the start.
    pub fn read(&mut self) -> Duration {
        let now = Instant::now();
        let passed = now.saturating_duration_since(self.read_at);
        self.read_at = now;
        if passed > SLICE_MAX + DELAY_MAX && self.stops < STOPS_MAX {
            self.stops += 1;
        } else {
            self.running = self.running.saturating_add(passed);
        }
        self.running
    }
}

/// A timer that uses a running clock.
#[derive(Debug)]
pub struct RunningTimer {
    clock: RunningClock,
    limit: Duration,
    slice: Pin<Box<Sleep>>,
}

impl RunningTimer {
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        let slice = Box::pin(sleep(limit.min(SLICE_MAX)));
        Self { clock: RunningClock::start(), limit, slice }
    }

    /// Restarts with another limit.
    pub fn reset(&mut self, limit: Duration) {
        self.clock = RunningClock::start();
        self.limit = limit;
        self.slice.as_mut().reset(Instant::now() + limit.min(SLICE_MAX));
    }
}

impl Future for RunningTimer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        while self.slice.as_mut().poll(context).is_ready() {
            let left = self.limit.saturating_sub(self.clock.read());
            if left.is_zero() {
                return Poll::Ready(());
            }
            self.slice.as_mut().reset(Instant::now() + left.min(SLICE_MAX));
        }
        Poll::Pending
    }
}

/// The deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOver;

/// Waits for a future up to a limit.
///
/// # Errors
/// It is not ready in time.
pub async fn timeout<F: Future>(limit: Duration, waited: F) -> Result<F::Output, TimeOver> {
    let mut waited = pin!(waited);
    tokio::select! {
        biased;
        output = &mut waited => Ok(output),
        () = RunningTimer::new(limit) => Err(TimeOver),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_limit_is_kept_to() {
        for millis in [0, 1, 999, 1_000, 2_500] {
            let limit = Duration::from_millis(millis);
            let began = Instant::now();
            assert_eq!(timeout(limit, std::future::pending::<()>()).await, Err(TimeOver));
            assert_eq!(began.elapsed(), limit);
        }
        assert_eq!(timeout(Duration::ZERO, async { 3 }).await, Ok(3));
        assert!(timeout(Duration::MAX, sleep(Duration::from_secs(90))).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_counts_for_nothing() {
        let began = Instant::now();
        let mut timer = pin!(RunningTimer::new(Duration::from_millis(1_500)));
        assert!(poll_once(timer.as_mut()).await.is_pending());
        // Simulates the clock after a stop of an hour.
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert!(poll_once(timer.as_mut()).await.is_pending());
        timer.await;
        assert_eq!(began.elapsed(), Duration::from_millis(3_601_500));
    }

    async fn poll_once(mut timer: Pin<&mut RunningTimer>) -> Poll<()> {
        std::future::poll_fn(|context| Poll::Ready(timer.as_mut().poll(context))).await
    }
}
