//! How a session is interrupted and closed when the process is signalled or its work is done.

use windlass_driver::{Interrupt, Session, SessionEndReason};
use windlass_host::signals::{ExitSignal, SignalListener, await_unless_signalled};

/// Closes the session and gives running tools time to end. A second signal ends the wait, and the
/// rest is killed with the runtime.
pub async fn close_session(session: &Session, signals: &mut SignalListener) {
    close_session_for(session, SessionEndReason::Other, signals).await;
}

/// The same, with a reason for the hooks.
pub async fn close_session_for(
    session: &Session,
    why: SessionEndReason,
    signals: &mut SignalListener,
) {
    if !signals.is_urgent() {
        let _ = await_unless_signalled(signals, session.close_with_reason(why)).await;
    }
}

pub fn signal_to_interrupt(signal: ExitSignal) -> Interrupt {
    match signal {
        ExitSignal::Interrupt => Interrupt::User,
        ExitSignal::Terminate | ExitSignal::HangUp => Interrupt::Shutdown,
    }
}
