//! Hooks at a server's question: before the user is asked, a hook may answer; after, a hook may change
//! or take back what was said. A hook that objects declines.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_driver::hooks::{Elicited, Ground, HookEvent, Joint, Occasion};
use windlass_driver::mcp::{Admitting, Asking, Doorman, Question, Reply};
use windlass_driver::{HookSet, Surroundings};
use windlass_vocabulary::HookVerdict;

use crate::folder;

/// The hooks of a session, at the door of its seat.
#[derive(Clone)]
pub(super) struct HookDoor {
    hooks: HookSet,
    ground: Arc<Ground>,
}

impl HookDoor {
    /// One, if any hook wants to hear of questions.
    pub(super) fn of(hooks: HookSet, surroundings: &Surroundings) -> Option<Self> {
        let is_wanted =
            hooks.has(HookEvent::Elicitation) || hooks.has(HookEvent::ElicitationResult);
        is_wanted.then(|| {
            let cwd = surroundings.cwd.clone();
            let (environment, spill) =
                (surroundings.environment.clone(), surroundings.spill.clone());
            let ground = Ground::new(cwd.clone(), folder::project(&cwd), environment, spill);
            Self { hooks, ground: Arc::new(ground) }
        })
    }

    /// What hooks say to it; nothing, if there are none for this server.
    async fn heard(
        &self,
        event: HookEvent,
        server: &str,
        more: Map<String, Value>,
    ) -> Option<Reply> {
        let chosen = self.hooks.chosen(event, Some(server), |_| false);
        if chosen.is_empty() {
            return None;
        }
        let mut input = Map::from_iter([
            ("cwd".to_owned(), json!(self.ground.cwd.to_string_lossy())),
            ("hook_event_name".to_owned(), json!(event.name())),
            ("mcp_server_name".to_owned(), json!(server)),
        ]);
        input.extend(more);
        let about = Some(server.to_owned());
        let occasion = Occasion { input: Value::Object(input), about, ..Occasion::default() };
        meant(chosen.run(occasion, &self.ground).await)
    }
}

impl Doorman for HookDoor {
    fn before(&self, question: &Question) -> Admitting {
        let (door, question) = (self.clone(), question.clone());
        Box::pin(async move {
            let mut more = Map::new();
            let mode = if question.url.is_some() { "url" } else { "form" };
            more.insert("message".to_owned(), json!(question.message));
            more.insert("mode".to_owned(), json!(mode));
            let fields = [
                ("requested_schema", question.schema),
                ("url", question.url.map(Value::from)),
                ("elicitation_id", question.id.map(Value::from)),
            ];
            let given =
                fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
            more.extend(given);
            door.heard(HookEvent::Elicitation, &question.server, more).await
        })
    }

    fn after(&self, server: &str, reply: Reply) -> Asking {
        let (door, server) = (self.clone(), server.to_owned());
        Box::pin(async move {
            let (action, content) = match &reply {
                Reply::Accept(content) => ("accept", content.clone()),
                Reply::Decline => ("decline", None),
                Reply::Cancel => ("cancel", None),
            };
            let mut more = Map::from_iter([("action".to_owned(), json!(action))]);
            more.extend(content.map(|content| ("content".to_owned(), content)));
            door.heard(HookEvent::ElicitationResult, &server, more).await.unwrap_or(reply)
        })
    }
}

fn meant(joint: Joint) -> Option<Reply> {
    if matches!(joint.verdict, HookVerdict::Block(_) | HookVerdict::Halt(_)) {
        return Some(Reply::Decline);
    }
    let Elicited { action, content } = joint.elicited?;
    match action.as_str() {
        "accept" => Some(Reply::Accept(content)),
        "cancel" => Some(Reply::Cancel),
        _ => Some(Reply::Decline),
    }
}
