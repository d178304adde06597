//! Reads the notices of one run to its end, handles signals in every phase, and ends in bounded time. A
//! [`RunObserver`] displays the notices.

use std::time::Duration;

use tokio::time::Instant;
use windlass_assembly::session_close::signal_to_interrupt;
use windlass_driver::{Notices, Session};
use windlass_host::signals::{ExitSignal, SignalListener, sleep_until_or_forever};
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{Notice, PermissionAnswer};

/// Displays a run. Its methods must not block.
pub(crate) trait RunObserver {
    fn on_notice(&mut self, notice: &Notice) -> ObserverStatus;

    /// When to call `tick`, even if no notice arrives.
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    fn tick(&mut self) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObserverStatus {
    Continue,
    /// The output is closed.
    ReaderGone,
}

#[derive(Debug)]
pub(crate) enum RunEnd {
    /// With the signal that caused it, if one did.
    Ended(RunEnding, Option<ExitSignal>),
    /// A second signal came, or the first one had no effect in time.
    Forced(ExitSignal),
    /// The output is closed.
    ReaderGone,
    /// The notices ended before the run did.
    SessionLost,
}

pub(crate) async fn run_to_end(
    session: &Session,
    notices: &mut Notices,
    signals: &mut SignalListener,
    observer: &mut impl RunObserver,
) -> RunEnd {
    let mut has_begun = false;
    let mut received: Option<(ExitSignal, Instant)> = None;
    loop {
        tokio::select! {
            biased;
            signal = signals.next() => {
                let is_accepted = session.interrupt(signal_to_interrupt(signal)).is_ok();
                if received.is_some() || !is_accepted {
                    return RunEnd::Forced(signal);
                }
                received = Some((signal, Instant::now() + SIGNAL_GRACE_MAX));
            }
            () = sleep_until_or_forever(received.map(|(_, limit)| limit)) => {
                return received.map_or(RunEnd::SessionLost, |(signal, _)| RunEnd::Forced(signal));
            }
            () = sleep_until_or_forever(observer.next_tick()) => observer.tick(),
            notice = notices.next() => match notice {
                None => return RunEnd::SessionLost,
                // A resumed journal may first report the end of a run of an earlier process.
                Some(Notice::RunEnded(ending)) if has_begun => {
                    return RunEnd::Ended(ending, received.map(|(signal, _)| signal));
                }
                Some(notice) => {
                    has_begun |= notice == Notice::RunStarted;
                    deny_permission_prompt(session, &notice);
                    match observer.on_notice(&notice) {
                        ObserverStatus::Continue => {}
                        ObserverStatus::ReaderGone => return RunEnd::ReaderGone,
                    }
                }
            }
        }
    }
}

/// These sessions are started without permission prompts; if one arrives all the same, the run must not
/// hang on it.
fn deny_permission_prompt(session: &Session, notice: &Notice) {
    if let Notice::PermissionAsked { ticket, .. } = notice {
        let answer = PermissionAnswer::Deny {
            message: "nobody can be asked here".to_owned(),
            interrupt: false,
        };
        let _ = session.answer(*ticket, answer);
    }
}

/// How long a run may take to end after a signal.
const SIGNAL_GRACE_MAX: Duration = Duration::from_secs(5);
