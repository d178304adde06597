//! Settings files that changed are read again before the next prompt is taken up; meanwhile the client is
//! heard, for a hook of its own may have to say whether that may be.

use tokio::sync::oneshot;

use super::Desk;
use crate::layers::live::{Kept, Live};

/// What comes back from looking at the files.
pub(super) type Looked = (Live, Kept);

/// Waits for it.
pub(super) type Looking = oneshot::Receiver<Box<Looked>>;

impl Desk {
    /// Are the settings those of the files? If not, they are read, and it is told when that is done.
    pub(super) fn is_up_to_date(&mut self) -> bool {
        if self.keeping.is_some() {
            return false;
        }
        // Whatever is wrong with it is told with the prompt.
        let _ = self.open();
        let own = self.wishes.hooks(&self.port);
        let Some(stage) = &mut self.stage else { return true };
        let environment = |name: &str| std::env::var_os(name);
        let args = &self.args.settings;
        let is_stale = |live: &mut Live| {
            live.args.clone_from(args);
            live.is_stale(&environment)
        };
        let Some(mut live) = stage.live.take_if(is_stale) else { return true };
        let session = stage.session.clone();
        let (ring, looking) = oneshot::channel();
        tokio::spawn(async move {
            let kept = live.keep_up(&session, own).await;
            // Nobody waits for it any more if this fails.
            let _ = ring.send(Box::new((live, kept)));
        });
        self.keeping = Some(looking);
        false
    }

    /// They were read.
    pub(super) fn kept_up(&mut self, looked: Option<Box<Looked>>) {
        self.keeping = None;
        let (Some(looked), Some(stage)) = (looked, &mut self.stage) else { return };
        let (live, kept) = *looked;
        stage.layers = live.layers.clone();
        stage.live = Some(live);
        if let Some(change) = kept.change {
            change.apply(&mut stage.expander.hands.policy);
        }
        self.forewarn(&kept.lines, &[]);
    }
}

/// Waits until the files were read; for ever, if nobody reads them.
pub(super) async fn looked(keeping: &mut Option<Looking>) -> Option<Box<Looked>> {
    match keeping {
        Some(looking) => looking.await.ok(),
        None => std::future::pending().await,
    }
}
