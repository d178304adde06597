//! A front end turns notices into output and signals into interrupts.
//!
//! [`run_to_end`] is what all of them share: it reads one run to its end, serves signals in every
//! phase, and ends in bounded time. A [`RunObserver`] only says what to show. Nothing here looks into the
//! engine, and nothing a face does can make the run wait.

pub(crate) mod context_usage;
pub(crate) mod dollars_json;
pub(crate) mod failure_advice;
pub(crate) mod final_answer;
pub(crate) mod human_format;
pub(crate) mod output_writer;
pub(crate) mod print;
pub(crate) mod progress_log;
pub(crate) mod retry_cutoff;
pub(crate) mod run_display;
pub(crate) mod session_report;
pub(crate) mod stream_json;
pub(crate) mod terminal;
pub(crate) mod text_table;
pub(crate) mod tool_call_summary;

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use windlass_driver::{Interrupt, Notices, Session, SessionEndReason};
use windlass_permission::sanitize::{escape_invisible, is_invisible_char, strip_control};
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{Notice, PermissionAnswer};

use crate::command_error::CommandError;
use crate::signals::{ExitSignal, SignalListener};

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

/// Waits for something, unless a signal comes first.
pub(crate) async fn await_unless_signalled<T>(
    signals: &mut SignalListener,
    waiting: impl Future<Output = T>,
) -> Result<T, ExitSignal> {
    tokio::select! {
        biased;
        signal = signals.next() => Err(signal),
        value = waiting => Ok(value),
    }
}

/// Does work that may wait for files, pipes and other programs, unless a signal comes first. Then
/// the work is left where it is; the process ends with everything it has started.
pub(crate) async fn run_blocking_unless_signalled<T: Send + 'static>(
    signals: &mut SignalListener,
    work: impl FnOnce() -> Result<T, CommandError> + Send + 'static,
) -> Result<Result<T, ExitSignal>, CommandError> {
    match await_unless_signalled(signals, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done.map(Ok),
        Ok(Err(broken)) => Err(CommandError::failure(format!("this should not happen: {broken}"))),
        Err(signal) => Ok(Err(signal)),
    }
}

/// Closes the session: tools that still run get their time to go. Somebody in a hurry cuts it short,
/// and what is left of them is killed with the runtime.
pub(crate) async fn close_session(session: &Session, signals: &mut SignalListener) {
    close_session_for(session, SessionEndReason::Other, signals).await;
}

/// The same, and hooks are told why.
pub(crate) async fn close_session_for(
    session: &Session,
    why: SessionEndReason,
    signals: &mut SignalListener,
) {
    if !signals.is_urgent() {
        let _ = await_unless_signalled(signals, session.close_with_reason(why)).await;
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

/// What a signal means to a session.
pub(crate) fn signal_to_interrupt(signal: ExitSignal) -> Interrupt {
    match signal {
        ExitSignal::Interrupt => Interrupt::User,
        ExitSignal::Terminate | ExitSignal::HangUp => Interrupt::Shutdown,
    }
}

/// Waits for a moment; for ever, if there is none.
pub(crate) async fn sleep_until_or_forever(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// The text without anything that could steer a terminal: model and tools write what they like.
pub(crate) fn strip_control_characters(text: &str) -> Cow<'_, str> {
    match text.chars().any(is_terminal_control) {
        true => Cow::Owned(strip_control(text)),
        false => Cow::Borrowed(text),
    }
}

/// What a call says, every letter of it: what is shown is what runs.
pub(crate) fn escape_control_characters(text: &str) -> Cow<'_, str> {
    match text.chars().any(is_terminal_control) {
        true => Cow::Owned(escape_invisible(text)),
        false => Cow::Borrowed(text),
    }
}

fn is_terminal_control(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t') || is_invisible_char(letter)
}

/// How long what is seen to after a run may hold us up when everything else is done.
pub(crate) const DRAIN_WAIT_MAX: Duration = Duration::from_secs(15);
/// How long a run may take to end after a signal.
const SIGNAL_GRACE_MAX: Duration = Duration::from_secs(5);
