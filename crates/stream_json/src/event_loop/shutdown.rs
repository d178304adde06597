//! After the last run: sends and stores everything before the process ends, within limits.

use std::time::Duration;

use windlass_driver::{Interrupt, SessionEndReason};

use super::EventLoop;
use crate::frame::IncomingFrame;
use crate::input_reader::InputLine;
use crate::live_session::LiveSession;
use windlass_host::signals::{ExitSignal, await_unless_signalled};

use crate::session_phase::{SESSION_OVER, SessionEvent, SessionPhase};

impl EventLoop {
    /// Returns the signal that cut the last frames off, if one did.
    pub(super) async fn shut_down(&mut self) -> Option<ExitSignal> {
        self.drain_session().await;
        if let SessionPhase::Live(live) = self.session.replace_with_lost(SESSION_OVER.to_owned())
            && !self.signals.listener.is_urgent()
        {
            // Nothing the session started may outlive the process.
            let _ = live.session.interrupt(Interrupt::Shutdown);
            self.close_session(&live).await;
        }
        let errors = self.output.error_lines.finish();
        let _ = await_unless_signalled(&mut self.signals.listener, errors).await;
        if self.output.frame_writer.is_closed() {
            return None;
        }
        // However slow the reader is, it gets everything, unless a signal comes.
        let frames = self.output.frame_writer.finish();
        await_unless_signalled(&mut self.signals.listener, frames).await.err()
    }

    /// Lets the session come to its end. It is not waited for after a signal or a closed pipe.
    async fn drain_session(&mut self) {
        // A signal may also have come while the result was being written.
        let is_hurried = self.signals.listener.has_caught()
            || self.session.is_lost()
            || self.output.frame_writer.is_closed();
        let Some(session) = self.session.live().map(|live| live.session.clone()) else {
            return;
        };
        if is_hurried {
            return;
        }
        let drained = session.drain(DRAIN_WAIT_MAX);
        tokio::pin!(drained);
        loop {
            tokio::select! {
                biased;
                _ = self.signals.listener.next() => return,
                event = self.session.next_event(true) => match event {
                    SessionEvent::Notice(Some(notice)) => self.on_notice(&notice).await,
                    SessionEvent::Notice(None) | SessionEvent::ClientServersReady => return,
                },
                () = &mut drained => return,
            }
        }
    }

    /// Closes the session. Its last hooks may belong to the client, so their requests are forwarded
    /// until then, or rejected at once if the client has disconnected.
    async fn close_session(&mut self, live: &LiveSession) {
        let closing = live.close(SessionEndReason::Other);
        tokio::pin!(closing);
        loop {
            tokio::select! {
                biased;
                _ = self.signals.listener.next() => return,
                () = &mut closing => return,
                Some(event) = self.client.channel_events.recv() => self.on_channel_event(event),
                Some(request) = self.control.next_completed() => self.on_request_completed(request),
                line = self.input.lines.recv(), if !self.input.is_over => match line {
                    Some(InputLine::Frame(IncomingFrame::ControlResponse { response })) => {
                        self.on_client_response(&response);
                    }
                    // Nothing else matters any more.
                    Some(InputLine::Frame(_) | InputLine::Invalid { .. }) => {}
                    Some(InputLine::End) | None => self.on_input_end(),
                },
            }
        }
    }
}

/// How long the work after a run may delay the end of the process.
const DRAIN_WAIT_MAX: Duration = Duration::from_secs(15);
