//! Runs hooks when a background agent has finished: they may give it more work.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use windlass_hook::HookEvent;
use windlass_vocabulary::{HookVerdict, PermissionMode};

use super::SessionHooks;

impl SessionHooks {
    /// The hooks' prompt for the agent; `None` if it may end.
    pub(crate) async fn run_teammate_idle_hooks(
        self: Arc<Self>,
        mode: PermissionMode,
        reply: oneshot::Sender<Option<String>>,
    ) {
        let identity = &self.facts.identity;
        let name = identity.agent.as_ref().map_or("main", |agent| agent.id.as_str());
        let fields = [("teammate_name", name), ("team_name", identity.session.as_str())];
        let fields = fields.map(|(name, value)| (name.to_owned(), Value::from(value)));
        let pending =
            self.select_hooks(HookEvent::TeammateIdle, None, mode, Map::from_iter(fields));
        let prompt = match pending {
            None => None,
            Some(pending) => match pending.run().await.verdict {
                HookVerdict::Block(why) => Some(why),
                HookVerdict::Pass | HookVerdict::Allow | HookVerdict::Ask(_) => None,
                HookVerdict::Defer(_) | HookVerdict::Halt(_) => None,
            },
        };
        // If this fails, the caller has stopped waiting.
        let _ = reply.send(prompt);
    }
}
