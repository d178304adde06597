//! Replaces hooks, and runs hooks about a change of settings files.

use std::path::Path;

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use windlass_engine::Event;
use windlass_hook::{HookEvent, HookSet};
use windlass_vocabulary::HookVerdict;

use super::SessionLoop;
use crate::session_command::ConfigChange;

impl SessionLoop {
    pub(crate) fn apply_hooks(&mut self, hooks: HookSet) -> Event {
        let (points, has_stop) = self.hooks.replace_base_hooks(hooks);
        self.change_settings(|settings| {
            crate::hook::apply_hook_points(settings, points);
            settings.limits.stop_hooks = has_stop;
        })
    }

    pub(crate) fn run_config_change_hooks(
        &mut self,
        change: ConfigChange,
        reply: oneshot::Sender<Result<(), String>>,
    ) {
        let mode = self.state.tool_context.policy.mode;
        let source = change.source.name();
        let fields = build_config_change_fields(&change.file, source);
        let pending = self.hooks.select_hooks(HookEvent::ConfigChange, Some(source), mode, fields);
        let Some(pending) = pending else {
            // If this fails, the caller has stopped waiting.
            let _ = reply.send(Ok(()));
            return;
        };
        self.performer.spawn_detached(async move {
            let verdict = pending.run().await.verdict;
            let objection = match verdict {
                HookVerdict::Block(why) | HookVerdict::Halt(why) => Some(why),
                HookVerdict::Pass
                | HookVerdict::Allow
                | HookVerdict::Ask(_)
                | HookVerdict::Defer(_) => None,
            };
            let objection = objection.filter(|_| !change.is_policy_change());
            let _ = reply.send(objection.map_or(Ok(()), Err));
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
