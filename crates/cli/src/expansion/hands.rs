//! The hands of a prompt: the session's own tools under the session's own rules. What would have to
//! be asked is not done, because the user has just spoken and nobody waits for a question; a file that
//! the user names himself is as good as asked for, unless a rule says otherwise.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use windlass_driver::mcp::Servers;
use windlass_driver::{Disk, Job, Registry, Surroundings};
use windlass_permission::{Opinion, Policy, Ruling, decide_in};
use windlass_vocabulary::{
    Json, Media, Mode, ResultPart, ToolCall, ToolCallId, ToolName, ToolOutcome,
};

static BUILTIN: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// What a prompt may use.
#[derive(Clone, Debug)]
pub(crate) struct Hands {
    /// The tools.
    pub(crate) registry: Registry,
    /// Where they work.
    pub(crate) surroundings: Arc<Surroundings>,
    /// What may run.
    pub(crate) policy: Policy,
    /// The servers whose prompts and resources it may name.
    pub(crate) remote: Servers,
    /// The user trusts what the project brings along.
    pub(crate) trusts_project: bool,
    /// Commands in pages are run.
    pub(crate) runs_snippets: bool,
}

impl Hands {
    /// What a command prints, or why it was not run.
    pub(super) async fn run(&self, command: &str) -> Result<String, String> {
        let input = json!({"command": command, "timeout": COMMAND_MILLIS_MAX});
        self.call("Bash", &input).await.map(|outcome| outcome.trim_end().to_owned())
    }

    /// What a file holds, or why it cannot be shown.
    pub(super) async fn read(&self, path: &str, opinion: Opinion) -> Result<String, String> {
        let outcome = self.outcome_of("Read", &json!({ "file_path": path }), opinion).await?;
        Ok(texts(outcome))
    }

    /// What a resource of a server holds, if this names one. The user named it, so only what is
    /// forbidden is not read.
    pub(super) async fn resource(&self, mention: &str) -> Option<Result<String, String>> {
        let (server, uri) = mention.split_once(':').filter(|(name, _)| self.remote.has(name))?;
        let input = json!({ "server": server, "uri": uri });
        let mut present = self.clone();
        present.policy.can_ask = true;
        match present.judged("ReadMcpResourceTool", &input, Opinion::None) {
            Ruling::Deny { why, .. } => Some(Err(why)),
            Ruling::Allow(_) | Ruling::Ask(_) => self.remote.mentioned(mention).await,
        }
    }

    /// May this be read without a question? Says why not.
    pub(crate) fn may_read(&self, path: &str) -> Result<(), String> {
        match self.judged("Read", &json!({ "file_path": path }), Opinion::None) {
            Ruling::Allow(_) => Ok(()),
            Ruling::Ask(question) => Err(question.view().why.clone()),
            Ruling::Deny { why, .. } => Err(why),
        }
    }

    /// The session's tools. Reading for the user needs none of them: a session whose model has no
    /// tools is still told what he names.
    fn tools(&self, name: &str) -> &Registry {
        match name {
            "Read" if self.registry.get(name).is_none() => &BUILTIN,
            _ => &self.registry,
        }
    }

    fn judged(&self, name: &str, input: &Value, opinion: Opinion) -> Ruling {
        let input = Json::from_checked(&input.to_string());
        let inspection = self.tools(name).inspect(name, &input);
        let (id, name) = (ToolCallId::from("prompt"), ToolName::from(name));
        let call = ToolCall { id, name, input, signature: None };
        decide_in(&self.policy, call, &inspection, opinion, &Disk::new())
    }

    /// What a command of the user's own prints. Nobody has to be asked; what is denied stays so.
    pub(crate) async fn run_for_user(&self, command: &str) -> Result<String, String> {
        let mut hands = self.clone();
        hands.policy.mode = Mode::BypassPermissions;
        hands.run(command).await
    }

    /// The images a file holds.
    pub(crate) async fn media(&self, path: &str) -> Vec<Media> {
        let outcome = self.outcome("Read", &json!({ "file_path": path })).await;
        let parts = outcome.map(|outcome| outcome.content).unwrap_or_default().into_iter();
        let media = parts.filter_map(|part| match part {
            ResultPart::Media(media) => Some(media),
            ResultPart::Text(_) => None,
        });
        media.collect()
    }

    async fn call(&self, name: &str, input: &Value) -> Result<String, String> {
        self.outcome(name, input).await.map(texts)
    }

    async fn outcome(&self, name: &str, input: &Value) -> Result<ToolOutcome, String> {
        self.outcome_of(name, input, Opinion::None).await
    }

    async fn outcome_of(
        &self,
        name: &str,
        input: &Value,
        opinion: Opinion,
    ) -> Result<ToolOutcome, String> {
        let Some(tool) = self.tools(name).get(name) else {
            return Err(format!("the tool {name} is not offered in this session"));
        };
        let granted = match self.judged(name, input, opinion) {
            Ruling::Allow(granted) => granted,
            Ruling::Ask(question) => return Err(question.view().why.clone()),
            Ruling::Deny { why, .. } => return Err(why),
        };
        Ok(tool.run(granted, Job::new(Arc::clone(&self.surroundings))).await)
    }
}

fn texts(outcome: ToolOutcome) -> String {
    let texts = outcome.content.into_iter().filter_map(|part| match part {
        ResultPart::Text(text) => Some(text),
        ResultPart::Media(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// How long a command in a page may take.
const COMMAND_MILLIS_MAX: u64 = 60_000;
