//! What is seen to after the last run is told and kept before we leave, within bounds.

use std::time::Duration;

use windlass_driver::SessionEndReason;

use super::EventLoop;
use crate::frame::IncomingFrame;
use crate::input_reader::InputLine;
use crate::live_session::LiveSession;

impl EventLoop {
    /// Lets it come to its end. Nobody waits for it behind a signal or a closed pipe.
    pub(super) async fn drain_session(&mut self) {
        // A signal may also have come while the result was being written.
        let is_hurried = self.signals.has_caught()
            || self.session_failure.is_some()
            || self.frame_writer.is_closed();
        let Some(session) = self.live_session.as_ref().map(|stage| stage.session.clone()) else {
            return;
        };
        if is_hurried {
            return;
        }
        let drained = session.drain(DRAIN_WAIT_MAX);
        tokio::pin!(drained);
        loop {
            let told = async {
                match &mut self.live_session {
                    Some(stage) => stage.next_notice().await,
                    None => None,
                }
            };
            tokio::select! {
                biased;
                _ = self.signals.next() => return,
                notice = told => match notice {
                    Some(notice) => self.on_notice(&notice).await,
                    None => return,
                },
                () = &mut drained => return,
            }
        }
    }

    /// Ends the session. Its last hooks may be the client's, so what they ask is passed on until then,
    /// or refused at once if nobody will answer.
    pub(super) async fn close_session(&mut self, stage: LiveSession) {
        let closing = stage.close(SessionEndReason::Other);
        tokio::pin!(closing);
        loop {
            tokio::select! {
                biased;
                _ = self.signals.next() => return,
                () = &mut closing => return,
                Some(question) = self.channel_events.recv() => self.on_channel_event(question),
                line = self.input.recv(), if !self.is_input_over => match line {
                    Some(InputLine::Frame(IncomingFrame::ControlResponse { response })) => {
                        self.on_client_response(&response);
                    }
                    // Nothing else is heard any more.
                    Some(InputLine::Frame(_) | InputLine::Invalid(..)) => {}
                    Some(InputLine::End) | None => self.on_input_end(),
                },
            }
        }
    }
}

/// How long what is seen to after a run may hold us up when everything else is done.
const DRAIN_WAIT_MAX: Duration = Duration::from_secs(15);
