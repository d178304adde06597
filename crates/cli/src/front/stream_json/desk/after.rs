//! What is seen to after the last run is told and kept before we leave, within bounds.

use windlass_driver::Parting;

use super::Desk;
use crate::front::AFTER_MAX;
use crate::front::stream_json::frame::Incoming;
use crate::front::stream_json::reader::Heard;
use crate::front::stream_json::stage::Stage;

impl Desk {
    /// Lets it come to its end. Nobody waits for it behind a signal or a closed pipe.
    pub(super) async fn drain(&mut self) {
        // A signal may also have come while the result was being written.
        let is_hurried = self.signals.have_come() || self.broken.is_some() || self.pipe.is_closed();
        let Some(session) = self.stage.as_ref().map(|stage| stage.session.clone()) else { return };
        if is_hurried {
            return;
        }
        let drained = session.drain(AFTER_MAX);
        tokio::pin!(drained);
        loop {
            let told = async {
                match &mut self.stage {
                    Some(stage) => stage.next().await,
                    None => None,
                }
            };
            tokio::select! {
                biased;
                _ = self.signals.next() => return,
                notice = told => match notice {
                    Some(notice) => self.notice(&notice).await,
                    None => return,
                },
                () = &mut drained => return,
            }
        }
    }

    /// Ends the session. Its last hooks may be the client's, so what they ask is passed on until then,
    /// or refused at once if nobody will answer.
    pub(super) async fn close(&mut self, stage: Stage) {
        let closing = stage.close(Parting::Other);
        tokio::pin!(closing);
        loop {
            tokio::select! {
                biased;
                _ = self.signals.next() => return,
                () = &mut closing => return,
                Some(question) = self.questions.recv() => self.question(question),
                line = self.lines.recv(), if !self.is_input_over => match line {
                    Some(Heard::Line(Incoming::ControlResponse { response })) => {
                        self.answered(&response);
                    }
                    // Nothing else is heard any more.
                    Some(Heard::Line(_) | Heard::Nonsense(..)) => {}
                    Some(Heard::End) | None => self.input_over(),
                },
            }
        }
    }
}
