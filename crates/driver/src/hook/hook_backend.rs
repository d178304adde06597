//! Runs model and tool calls for hooks, under the rules of the session.
//!
//! A server's tool runs without a question, because the user configured it; deny rules still apply.
//! The cost of a model call is reported with the verdict, and through it to the engine.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use windlass_hook::{HookBackend, HookBackendReply, HookBackendReplyFuture};
use windlass_permission::{
    PermissionDecision, Policy, PriorDecision, Rule, decide_with_file_system,
};
use windlass_tool::side_question::SideQuestion;
use windlass_tool::{CallLimits, ToolCallContext};
use windlass_vocabulary::{Json, MicroUsd, ToolCall, ToolCallId, ToolName, ToolResultPart};

use crate::call_inspector::{CallInspector, HostFileSystem};
use crate::model::side_model::SessionSideModel;

#[derive(Debug)]
pub(crate) struct SessionHookBackend {
    pub(crate) side_model: Arc<SessionSideModel>,
    pub(crate) inspector: Arc<CallInspector>,
    /// Limit on the cost of one question, if the session has a budget.
    pub(crate) allowance: Option<MicroUsd>,
}

impl HookBackend for SessionHookBackend {
    fn ask_model(
        &self,
        prompt: String,
        model: Option<&str>,
        limit: Duration,
    ) -> HookBackendReplyFuture<'_> {
        let model = match model {
            None => Ok(None),
            Some(name) => self.side_model.find_model(name).map(Some),
        };
        Box::pin(async move {
            let allowance = self.allowance;
            let cancel = CancellationToken::new();
            let question =
                SideQuestion { prompt, search_domains: None, allowance, timeout: limit, cancel };
            let model = match model {
                Ok(model) => model,
                Err(why) => return HookBackendReply { text: Err(why), spent: MicroUsd(0) },
            };
            let reply = self.side_model.ask_model(model, question).await;
            HookBackendReply { text: reply.answer, spent: reply.spent }
        })
    }

    fn call_tool(&self, tool: String, input: Value) -> HookBackendReplyFuture<'_> {
        Box::pin(async move {
            match self.call_tool(&tool, &input).await {
                Ok(reply) => reply,
                Err(why) => HookBackendReply { text: Err(why), spent: MicroUsd(0) },
            }
        })
    }
}

impl SessionHookBackend {
    async fn call_tool(&self, name: &str, input: &Value) -> Result<HookBackendReply, String> {
        let Some(tool) = self.inspector.registry.get(name) else {
            return Err(format!("there is no tool {name} in this session"));
        };
        let call = ToolCall {
            id: ToolCallId::from("hook"),
            name: ToolName::from(name),
            input: Json::from_checked(&input.to_string()),
            signature: None,
        };
        let inspection = self.inspector.inspect(&call);
        let mut policy: Policy = self.inspector.policy.clone();
        policy.rules.allow.push(Rule { tool: name.to_owned(), content: None });
        let granted = match decide_with_file_system(
            &policy,
            call,
            &inspection,
            PriorDecision::None,
            &HostFileSystem::new(),
        ) {
            PermissionDecision::Allow(granted) => granted,
            PermissionDecision::Ask(question) => return Err(question.view().why.clone()),
            PermissionDecision::Deny { why, .. } => return Err(why),
        };
        let mut call_context = ToolCallContext::new(Arc::clone(&self.inspector.tool_context));
        let policy = self.inspector.policy.clone();
        let allowance = self.allowance;
        call_context.call_limits = CallLimits { policy, allowance };
        let outcome = tool.run(granted, call_context).await;
        let text = ToolResultPart::join_texts(&outcome.content);
        let text = if outcome.is_error { Err(text) } else { Ok(text) };
        Ok(HookBackendReply { text, spent: outcome.spent })
    }
}
