//! Asks models and tools on behalf of hooks, under the rules of the session.
//!
//! A tool of a server runs because the user configured it, so no question is put; deny rules hold all
//! the same. What a model costs goes back with the verdict, and through it to the engine's account.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use windlass_hook::{Counsel, Weighed, Weighing};
use windlass_permission::{Opinion, Policy, Rule, Ruling, decide_in};
use windlass_tool::aside::Question;
use windlass_tool::{Job, Terms};
use windlass_vocabulary::{Json, MicroUsd, ResultPart, ToolCall, ToolCallId, ToolName};

use crate::aside::Asides;
use crate::inspect::{Disk, Inspector};

/// Asks in one session.
#[derive(Debug)]
pub(crate) struct SessionCounsel {
    pub(crate) asides: Arc<Asides>,
    pub(crate) inspector: Arc<Inspector>,
    /// The most one question may cost, where money is limited.
    pub(crate) allowance: Option<MicroUsd>,
}

impl Counsel for SessionCounsel {
    fn judge(&self, prompt: String, model: Option<&str>, limit: Duration) -> Weighing<'_> {
        let asked = match model {
            None => Ok(None),
            Some(name) => self.asides.named(name).map(Some),
        };
        Box::pin(async move {
            let (allowance, cancel) = (self.allowance, CancellationToken::new());
            let question = Question { prompt, search: None, allowance, limit, cancel };
            let asked = match asked {
                Ok(asked) => asked,
                Err(why) => return Weighed { text: Err(why), spent: MicroUsd(0) },
            };
            let said = self.asides.ask_of(asked, question).await;
            Weighed { text: said.text, spent: said.spent }
        })
    }

    fn call(&self, tool: String, input: Value) -> Weighing<'_> {
        Box::pin(async move {
            match self.called(&tool, &input).await {
                Ok(weighed) => weighed,
                Err(why) => Weighed { text: Err(why), spent: MicroUsd(0) },
            }
        })
    }
}

impl SessionCounsel {
    async fn called(&self, name: &str, input: &Value) -> Result<Weighed, String> {
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
        let granted = match decide_in(&policy, call, &inspection, Opinion::None, &Disk::new()) {
            Ruling::Allow(granted) => granted,
            Ruling::Ask(question) => return Err(question.view().why.clone()),
            Ruling::Deny { why, .. } => return Err(why),
        };
        let mut job = Job::new(Arc::clone(&self.inspector.surroundings));
        let (policy, allowance) = (self.inspector.policy.clone(), self.allowance);
        job.terms = Terms { policy, allowance };
        let outcome = tool.run(granted, job).await;
        let texts = outcome.content.iter().filter_map(|part| match part {
            ResultPart::Text(text) => Some(text.as_str()),
            ResultPart::Media(_) => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let text = if outcome.is_error { Err(text) } else { Ok(text) };
        Ok(Weighed { text, spent: outcome.spent })
    }
}
