//! What is seen to after the last run is told and kept before we leave, within bounds.

use super::Desk;
use crate::front::AFTER_MAX;

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
}
