//! A front end turns notices into output and signals into interrupts.
//!
//! [`conduct`] is what all of them share: it reads one run to its end, serves signals in every
//! phase, and ends in bounded time. A [`Face`] only says what to show. Nothing here looks into the
//! engine, and nothing a face does can make the run wait.

pub(crate) mod advice;
pub(crate) mod answer;
pub(crate) mod call;
pub(crate) mod output;
pub(crate) mod patience;
pub(crate) mod print;
pub(crate) mod progress;
pub(crate) mod result;
pub(crate) mod stream_json;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod view;
pub(crate) mod watch;
pub(crate) mod window;
pub(crate) mod words;

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use windlass_driver::{Interrupt, Notices, Parting, Session};
use windlass_permission::display::{cleaned, is_hidden, visible};
use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{Answer, Notice};

use crate::refusal::Refusal;
use crate::signals::{Caught, Signals};

/// What a front end shows. Never waits.
pub(crate) trait Face {
    /// Something happened.
    fn notice(&mut self, notice: &Notice) -> Flow;

    /// When to be called again even if nothing happens.
    fn wake(&self) -> Option<Instant> {
        None
    }

    /// That moment has come.
    fn tick(&mut self) {}
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Go on.
    Go,
    /// Nobody reads what is written.
    Unread,
}

/// How a run came to its end.
#[derive(Debug)]
pub(crate) enum Curtain {
    /// As a run does, perhaps because of a signal.
    Ended(Ending, Option<Caught>),
    /// A second signal came, or the first one had no effect in time.
    Forced(Caught),
    /// Nobody reads what is written.
    Unread,
    /// The session broke down without a word.
    Broken,
}

/// Reads one run to its end.
pub(crate) async fn conduct(
    session: &Session,
    notices: &mut Notices,
    signals: &mut Signals,
    face: &mut impl Face,
) -> Curtain {
    let mut has_begun = false;
    let mut caught: Option<(Caught, Instant)> = None;
    loop {
        tokio::select! {
            biased;
            signal = signals.next() => {
                let is_taken = session.interrupt(interrupt(signal)).is_ok();
                if caught.is_some() || !is_taken {
                    return Curtain::Forced(signal);
                }
                caught = Some((signal, Instant::now() + ENDING_MAX));
            }
            () = at(caught.map(|(_, limit)| limit)) => {
                return caught.map_or(Curtain::Broken, |(signal, _)| Curtain::Forced(signal));
            }
            () = at(face.wake()) => face.tick(),
            notice = notices.next() => match notice {
                None => return Curtain::Broken,
                // A journal that is continued may first tell the end of a run of an earlier process.
                Some(Notice::RunEnded(ending)) if has_begun => {
                    return Curtain::Ended(ending, caught.map(|(signal, _)| signal));
                }
                Some(notice) => {
                    has_begun |= notice == Notice::RunStarted;
                    refuse_question(session, &notice);
                    match face.notice(&notice) {
                        Flow::Go => {}
                        Flow::Unread => return Curtain::Unread,
                    }
                }
            }
        }
    }
}

/// Waits for something, unless a signal comes first.
pub(crate) async fn unless_signalled<T>(
    signals: &mut Signals,
    waiting: impl Future<Output = T>,
) -> Result<T, Caught> {
    tokio::select! {
        biased;
        signal = signals.next() => Err(signal),
        value = waiting => Ok(value),
    }
}

/// Does work that may wait for files, pipes and other programs, unless a signal comes first. Then
/// the work is left where it is; the process ends with everything it has started.
pub(crate) async fn beside<T: Send + 'static>(
    signals: &mut Signals,
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<Result<T, Caught>, Refusal> {
    match unless_signalled(signals, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done.map(Ok),
        Ok(Err(broken)) => Err(Refusal::failed(format!("this should not happen: {broken}"))),
        Err(signal) => Ok(Err(signal)),
    }
}

/// Closes the session: tools that still run get their time to go. Somebody in a hurry cuts it short,
/// and what is left of them is killed with the runtime.
pub(crate) async fn close(session: &Session, signals: &mut Signals) {
    close_for(session, Parting::Other, signals).await;
}

/// The same, and hooks are told why.
pub(crate) async fn close_for(session: &Session, why: Parting, signals: &mut Signals) {
    if !signals.are_urgent() {
        let _ = unless_signalled(signals, session.close_for(why)).await;
    }
}

/// Sessions here are told that nobody can be asked; should a question come all the same, a run must
/// not hang on it.
fn refuse_question(session: &Session, notice: &Notice) {
    if let Notice::PermissionAsked { ticket, .. } = notice {
        let answer =
            Answer::Deny { message: "nobody can be asked here".to_owned(), interrupt: false };
        let _ = session.answer(*ticket, answer);
    }
}

/// What a signal means to a session.
pub(crate) fn interrupt(signal: Caught) -> Interrupt {
    match signal {
        Caught::Interrupt => Interrupt::User,
        Caught::Terminate | Caught::HangUp => Interrupt::Shutdown,
    }
}

/// Waits for a moment; for ever, if there is none.
pub(crate) async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// The text without anything that could steer a terminal: model and tools write what they like.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    match text.chars().any(steers) {
        true => Cow::Owned(cleaned(text)),
        false => Cow::Borrowed(text),
    }
}

/// What a call says, every letter of it: what is shown is what runs.
pub(crate) fn spelled_out(text: &str) -> Cow<'_, str> {
    match text.chars().any(steers) {
        true => Cow::Owned(visible(text)),
        false => Cow::Borrowed(text),
    }
}

fn steers(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t') || is_hidden(letter)
}

/// How long what is seen to after a run may hold us up when everything else is done.
pub(crate) const AFTER_MAX: Duration = Duration::from_secs(15);
/// How long a run may take to end after a signal.
const ENDING_MAX: Duration = Duration::from_secs(5);
