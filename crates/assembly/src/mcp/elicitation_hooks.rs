//! Hooks for elicitations: before the user is asked, a hook may answer; afterwards, a hook may change
//! or withdraw the answer. A hook that blocks declines.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_driver::hooks::{
    CombinedHookResult, ElicitationAnswer, HookEnvironment, HookEvent, HookInvocation,
};
use windlass_driver::mcp::{
    ElicitationFuture, ElicitationInterceptor, ElicitationReply, ElicitationRequest,
    InterceptFuture,
};
use windlass_driver::{HookSet, ToolSessionContext};
use windlass_vocabulary::HookVerdict;

/// The hooks of a session that see elicitations before the user does.
#[derive(Clone)]
pub(super) struct ElicitationHooks {
    hooks: HookSet,
    environment: Arc<HookEnvironment>,
}

impl ElicitationHooks {
    /// `None` if no hook is for elicitations.
    pub(super) fn for_session(hooks: HookSet, tool_context: &ToolSessionContext) -> Option<Self> {
        let is_wanted = hooks.has_event(HookEvent::Elicitation)
            || hooks.has_event(HookEvent::ElicitationResult);
        is_wanted.then(|| {
            let environment = HookEnvironment::new(
                tool_context.files.cwd.clone(),
                windlass_settings::find_project_root(&tool_context.files.cwd),
                tool_context.processes.environment.clone(),
                tool_context.processes.spill_directory.clone(),
            );
            Self { hooks, environment: Arc::new(environment) }
        })
    }

    /// The hooks' answer; `None` if there are no hooks for this server.
    async fn run_hooks(
        &self,
        event: HookEvent,
        server: &str,
        more: Map<String, Value>,
    ) -> Option<ElicitationReply> {
        let chosen = self.hooks.select(event, Some(server), |_| false);
        if chosen.is_empty() {
            return None;
        }
        let mut input = Map::from_iter([
            ("cwd".to_owned(), json!(self.environment.cwd.to_string_lossy())),
            ("hook_event_name".to_owned(), json!(event.name())),
            ("mcp_server_name".to_owned(), json!(server)),
        ]);
        input.extend(more);
        let about = Some(server.to_owned());
        let invocation = HookInvocation {
            input: Value::Object(input),
            subject: about,
            ..HookInvocation::default()
        };
        parse_reply(chosen.run(invocation, &self.environment).await)
    }
}

impl ElicitationInterceptor for ElicitationHooks {
    fn before_prompt(&self, question: &ElicitationRequest) -> InterceptFuture {
        let hooks = self.clone();
        let question = question.clone();
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
            hooks.run_hooks(HookEvent::Elicitation, &question.server, more).await
        })
    }

    fn after_reply(&self, server: &str, reply: ElicitationReply) -> ElicitationFuture {
        let hooks = self.clone();
        let server = server.to_owned();
        Box::pin(async move {
            let (action, content) = match &reply {
                ElicitationReply::Accept(content) => ("accept", content.clone()),
                ElicitationReply::Decline => ("decline", None),
                ElicitationReply::Cancel => ("cancel", None),
            };
            let mut more = Map::from_iter([("action".to_owned(), json!(action))]);
            more.extend(content.map(|content| ("content".to_owned(), content)));
            hooks.run_hooks(HookEvent::ElicitationResult, &server, more).await.unwrap_or(reply)
        })
    }
}

fn parse_reply(result: CombinedHookResult) -> Option<ElicitationReply> {
    if matches!(result.verdict, HookVerdict::Block(_) | HookVerdict::Halt(_)) {
        return Some(ElicitationReply::Decline);
    }
    let ElicitationAnswer { action, content } = result.elicitation_answer?;
    match action.as_str() {
        "accept" => Some(ElicitationReply::Accept(content)),
        "cancel" => Some(ElicitationReply::Cancel),
        _ => Some(ElicitationReply::Decline),
    }
}
