//! Settings files that changed are read again before the next prompt is taken up; meanwhile the client is
//! heard, for a hook of its own may have to say whether that may be.

use tokio::sync::oneshot;

use super::EventLoop;
use windlass_assembly::settings::reloader::{ReloadOutcome, SettingsReloader};

/// What comes back from looking at the files.
pub(super) type ReloadedSettings = (SettingsReloader, ReloadOutcome);

/// Waits for it.
pub(super) type SettingsReloadReceiver = oneshot::Receiver<Box<ReloadedSettings>>;

impl EventLoop {
    /// Are the settings those of the files? If not, they are read, and it is told when that is done.
    pub(super) fn are_settings_current(&mut self) -> bool {
        if self.settings_reload.is_some() {
            return false;
        }
        // Whatever is wrong with it is told with the prompt.
        let _ = self.open_session();
        let own = self.initialize_options.build_hook_set(&self.client.channel);
        let Some(live) = self.session.live_mut() else { return true };
        let environment = |name: &str| std::env::var_os(name);
        let args = &self.args.settings;
        let is_stale = |reloader: &mut SettingsReloader| {
            reloader.args.clone_from(args);
            reloader.is_stale(&environment)
        };
        let Some(mut reloader) = live.settings.reloader.take_if(is_stale) else { return true };
        let session = live.session.clone();
        let (ring, looking) = oneshot::channel();
        tokio::spawn(async move {
            let kept = reloader.reload_changed(&session, own).await;
            // Nobody waits for it any more if this fails.
            let _ = ring.send(Box::new((reloader, kept)));
        });
        self.settings_reload = Some(looking);
        false
    }

    /// They were read.
    pub(super) fn on_settings_reloaded(&mut self, looked: Option<Box<ReloadedSettings>>) {
        self.settings_reload = None;
        let (Some(looked), Some(live)) = (looked, self.session.live_mut()) else { return };
        let (reloader, kept) = *looked;
        live.settings.layers = reloader.layers.clone();
        live.settings.reloader = Some(reloader);
        if let Some(change) = kept.change {
            change.apply(&mut live.expander.tools.policy);
        }
        self.report_warnings(&kept.lines, &[]);
    }
}

/// Waits until the files were read; for ever, if nobody reads them.
pub(super) async fn await_settings_reload(
    keeping: &mut Option<SettingsReloadReceiver>,
) -> Option<Box<ReloadedSettings>> {
    match keeping {
        Some(looking) => looking.await.ok(),
        None => std::future::pending().await,
    }
}
