//! Settings files that changed are read again before the next prompt starts; meanwhile the client is
//! served, because one of its hooks may have to approve the change.

use tokio::sync::oneshot;

use super::EventLoop;
use windlass_assembly::settings::reloader::{ReloadOutcome, SettingsReloader};
use windlass_host::environment::process_environment;

pub(super) type ReloadedSettings = (SettingsReloader, ReloadOutcome);

pub(super) type SettingsReloadReceiver = oneshot::Receiver<Box<ReloadedSettings>>;

impl EventLoop {
    /// Are the settings those of the files? If not, they are read, and an event follows.
    pub(super) fn are_settings_current(&mut self) -> bool {
        if self.settings_reload.is_some() {
            return false;
        }
        // A failure is reported with the prompt.
        let _ = self.open_session();
        let own = self.initialize_options.build_hook_set(&self.client.channel);
        let Some(live) = self.session.live_mut() else { return true };
        let environment = process_environment;
        let args = &self.args.settings;
        let is_stale = |reloader: &mut SettingsReloader| {
            reloader.options.clone_from(args);
            reloader.is_stale(&environment)
        };
        let Some(mut reloader) = live.settings.reloader.take_if(is_stale) else { return true };
        let session = live.session.clone();
        let (done, reload) = oneshot::channel();
        tokio::spawn(async move {
            let outcome = reloader.reload_changed(&session, own).await;
            // The session may have been cleared meanwhile.
            let _ = done.send(Box::new((reloader, outcome)));
        });
        self.settings_reload = Some(reload);
        false
    }

    pub(super) fn on_settings_reloaded(&mut self, reloaded: Option<Box<ReloadedSettings>>) {
        self.settings_reload = None;
        let (Some(reloaded), Some(live)) = (reloaded, self.session.live_mut()) else { return };
        let (reloader, outcome) = *reloaded;
        live.settings.layers = reloader.layers.clone();
        live.settings.reloader = Some(reloader);
        if let Some(change) = outcome.change {
            change.apply(&mut live.expander.tools.policy);
        }
        self.report_warnings(&outcome.lines, &[]);
    }
}

/// Waits for the end of a reload; forever if none is in progress.
pub(super) async fn await_settings_reload(
    reload: &mut Option<SettingsReloadReceiver>,
) -> Option<Box<ReloadedSettings>> {
    match reload {
        Some(reload) => reload.await.ok(),
        None => std::future::pending().await,
    }
}
