//! What may change in a session from outside, between its runs: settings files that are not what they
//! were, and with them the hooks.
//!
//! Who looks at files, and what they say, is known elsewhere.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use windlass_engine::{Event, Settings};
use windlass_hook::{HookEvent, HookSet};
use windlass_vocabulary::HookVerdict;

use crate::error::SendError;
use crate::session::Session;
use crate::session_loop::{SessionCommand, SessionLoop, SettingsChange};

/// Settings that changed: in which layer, and in which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// As hooks are told: `user_settings`, `project_settings`, `local_settings`, `policy_settings`.
    pub source: &'static str,
    /// The file.
    pub file: PathBuf,
}

impl ConfigChange {
    /// May nobody object? What the administrator says is theirs alone.
    fn is_policy_change(&self) -> bool {
        self.source == "policy_settings"
    }
}

impl Session {
    /// Is a run going on? `false` when the session is over.
    pub async fn is_run_active(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(SessionCommand::IsRunActive(reply)).await;
        sent.is_ok() && answer.await.unwrap_or(false)
    }

    /// Tells people something, as `Notice::Warning`.
    pub fn warn(&self, words: impl Into<String>) {
        self.client_questions.warn(words.into());
    }

    /// Tells hooks that settings changed, and asks whether that may take effect: `Err` with the reason
    /// of whoever objects. Takes as long as the hooks may take.
    ///
    /// # Errors
    ///
    /// When a hook objects, and may.
    pub async fn report_config_change(&self, change: ConfigChange) -> Result<(), String> {
        let (reply, answer) = oneshot::channel();
        if self.commands.send(SessionCommand::ReviewConfigChange(change, reply)).await.is_err() {
            return Ok(());
        }
        answer.await.unwrap_or(Ok(()))
    }

    /// Asks these hooks from now on in the place of those the session was built with. Those of skills
    /// that were loaded stay; nested sessions that run already keep theirs.
    ///
    /// # Errors
    ///
    /// When the session is closed, or does not keep up.
    pub fn replace_hooks(&self, hooks: HookSet) -> Result<(), SendError> {
        self.send(SessionCommand::ReplaceHooks(hooks))
    }
}

impl SessionLoop {
    /// Other hooks are asked from now on.
    pub(crate) fn apply_hooks(&mut self, hooks: HookSet) -> Event {
        let (points, has_stop) = self.hooks.replace_base_hooks(hooks);
        self.apply_settings_change(SettingsChange(Box::new(move |settings: &mut Settings| {
            crate::hook::apply_hook_points(settings, points);
            settings.limits.stop_hooks = has_stop;
        })))
    }

    /// Hooks are asked, beside everything else.
    pub(crate) fn run_config_change_hooks(
        &mut self,
        change: ConfigChange,
        reply: oneshot::Sender<Result<(), String>>,
    ) {
        let mode = self.state.tool_context.policy.mode;
        let fields = build_config_change_fields(&change.file, change.source);
        let asking =
            self.hooks.select_hooks(HookEvent::ConfigChange, Some(change.source), mode, fields);
        let Some(asking) = asking else {
            // Nobody waits for it any more if this fails.
            let _ = reply.send(Ok(()));
            return;
        };
        self.performer.spawn_detached(async move {
            let verdict = asking.run().await.verdict;
            let _ = reply.send(match verdict {
                HookVerdict::Block(why) | HookVerdict::Halt(why) if !change.is_policy_change() => {
                    Err(why)
                }
                _ => Ok(()),
            });
        });
    }
}

fn build_config_change_fields(file: &Path, source: &str) -> Map<String, Value> {
    let path = file.to_string_lossy().into_owned();
    Map::from_iter([
        ("source".to_owned(), Value::from(source)),
        ("file_path".to_owned(), Value::from(path)),
    ])
}
