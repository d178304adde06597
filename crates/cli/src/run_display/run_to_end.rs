//! Reads one run to its end: serves signals in every phase and ends in bounded time. A [`RunObserver`]
//! only says what to show.

use std::time::Duration;

use tokio::time::Instant;
use windlass_assembly::session_close::signal_to_interrupt;
use windlass_driver::{Notices, Session};
use windlass_host::signals::{ExitSignal, SignalListener, sleep_until_or_forever};
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{Notice, PermissionAnswer};

/// What a front end shows. Never waits.
pub(crate) trait RunObserver {
    /// Something happened.
    fn on_notice(&mut self, notice: &Notice) -> ObserverStatus;

    /// When to be called again even if nothing happens.
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// That moment has come.
    fn tick(&mut self) {}
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObserverStatus {
    /// Go on.
    Continue,
    /// Nobody reads what is written.
    ReaderGone,
}

/// How a run came to its end.
#[derive(Debug)]
pub(crate) enum RunEnd {
    /// As a run does, perhaps because of a signal.
    Ended(RunEnding, Option<ExitSignal>),
    /// A second signal came, or the first one had no effect in time.
    Forced(ExitSignal),
    /// Nobody reads what is written.
    ReaderGone,
    /// The session broke down without a word.
    SessionLost,
}

/// Reads one run to its end.
pub(crate) async fn run_to_end(
    session: &Session,
    notices: &mut Notices,
    signals: &mut SignalListener,
    face: &mut impl RunObserver,
) -> RunEnd {
    let mut has_begun = false;
    let mut caught: Option<(ExitSignal, Instant)> = None;
    loop {
        tokio::select! {
            biased;
            signal = signals.next() => {
                let is_taken = session.interrupt(signal_to_interrupt(signal)).is_ok();
                if caught.is_some() || !is_taken {
                    return RunEnd::Forced(signal);
                }
                caught = Some((signal, Instant::now() + SIGNAL_GRACE_MAX));
            }
            () = sleep_until_or_forever(caught.map(|(_, limit)| limit)) => {
                return caught.map_or(RunEnd::SessionLost, |(signal, _)| RunEnd::Forced(signal));
            }
            () = sleep_until_or_forever(face.next_tick()) => face.tick(),
            notice = notices.next() => match notice {
                None => return RunEnd::SessionLost,
                // A journal that is continued may first tell the end of a run of an earlier process.
                Some(Notice::RunEnded(ending)) if has_begun => {
                    return RunEnd::Ended(ending, caught.map(|(signal, _)| signal));
                }
                Some(notice) => {
                    has_begun |= notice == Notice::RunStarted;
                    deny_permission_prompt(session, &notice);
                    match face.on_notice(&notice) {
                        ObserverStatus::Continue => {}
                        ObserverStatus::ReaderGone => return RunEnd::ReaderGone,
                    }
                }
            }
        }
    }
}

/// Sessions here are told that nobody can be asked; should a question come all the same, a run must
/// not hang on it.
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
