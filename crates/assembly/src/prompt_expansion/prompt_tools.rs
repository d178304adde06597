//! The tools for expanding a prompt: the session's own, under its own rules. Whatever would need a
//! permission prompt is not done; reading a file that the user names is allowed unless a rule
//! denies it.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use windlass_driver::mcp::McpServers;
use windlass_driver::{ToolCallContext, ToolRegistry, ToolSessionContext};
use windlass_permission::{PermissionDecision, Policy, PriorDecision};
use windlass_project::call_judgement::{judge_call, judge_read};
use windlass_settings::TrustedPages;
use windlass_vocabulary::{MediaContent, PermissionMode, ToolOutcome, ToolResultPart};

static BUILTIN_TOOLS: LazyLock<ToolRegistry> = LazyLock::new(ToolRegistry::with_builtin_tools);

#[derive(Clone, Debug)]
pub struct PromptTools {
    pub registry: ToolRegistry,
    pub tool_context: Arc<ToolSessionContext>,
    pub policy: Policy,
    /// The servers whose prompts and resources it may name.
    pub mcp_servers: McpServers,
    pub trusted_pages: Arc<TrustedPages>,
    pub may_run_snippets: bool,
}

impl PromptTools {
    pub(super) async fn run_command(&self, command: &str) -> Result<String, String> {
        let input = json!({"command": command, "timeout": COMMAND_MILLIS_MAX});
        self.call_for_text("Bash", &input).await.map(|outcome| outcome.trim_end().to_owned())
    }

    pub(super) async fn read_file(
        &self,
        path: &str,
        opinion: PriorDecision,
    ) -> Result<String, String> {
        let outcome =
            self.call_tool_with_opinion("Read", &json!({ "file_path": path }), opinion).await?;
        Ok(ToolResultPart::join_texts(&outcome.content))
    }

    /// Reads a server's resource if the mention names one. The user named it, so it is read unless
    /// a rule denies it.
    pub(super) async fn read_resource(&self, mention: &str) -> Option<Result<String, String>> {
        let (server, uri) =
            mention.split_once(':').filter(|(name, _)| self.mcp_servers.has(name))?;
        let input = json!({ "server": server, "uri": uri });
        let mut present = self.clone();
        present.policy.can_ask = true;
        match present.decide("ReadMcpResourceTool", &input, PriorDecision::None) {
            PermissionDecision::Deny { why, .. } => Some(Err(why)),
            PermissionDecision::Allow(_) | PermissionDecision::Ask(_) => {
                self.mcp_servers.read_mentioned_resource(mention).await
            }
        }
    }

    /// May this be read without a question? Says why not.
    pub fn may_read(&self, path: &str) -> Result<(), String> {
        judge_read(&self.policy, self.registry_for("Read"), path)
    }

    /// The session's tools. A file that the user names is read even if the session offers no tools.
    fn registry_for(&self, name: &str) -> &ToolRegistry {
        match name {
            "Read" if self.registry.get(name).is_none() => &BUILTIN_TOOLS,
            _ => &self.registry,
        }
    }

    fn decide(&self, name: &str, input: &Value, opinion: PriorDecision) -> PermissionDecision {
        judge_call(&self.policy, self.registry_for(name), (name, input), opinion)
    }

    /// Runs a command the user typed. It needs no permission prompt; deny rules still apply.
    pub async fn run_user_command(&self, command: &str) -> Result<String, String> {
        let mut prompt_tools = self.clone();
        prompt_tools.policy.mode = PermissionMode::BypassPermissions;
        prompt_tools.run_command(command).await
    }

    pub async fn read_media(&self, path: &str) -> Vec<MediaContent> {
        let outcome = self.call_tool("Read", &json!({ "file_path": path })).await;
        let parts = outcome.map(|outcome| outcome.content).unwrap_or_default().into_iter();
        let media = parts.filter_map(|part| match part {
            ToolResultPart::Media(media) => Some(media),
            ToolResultPart::Text(_) => None,
        });
        media.collect()
    }

    async fn call_for_text(&self, name: &str, input: &Value) -> Result<String, String> {
        let outcome = self.call_tool(name, input).await?;
        Ok(ToolResultPart::join_texts(&outcome.content))
    }

    async fn call_tool(&self, name: &str, input: &Value) -> Result<ToolOutcome, String> {
        self.call_tool_with_opinion(name, input, PriorDecision::None).await
    }

    async fn call_tool_with_opinion(
        &self,
        name: &str,
        input: &Value,
        opinion: PriorDecision,
    ) -> Result<ToolOutcome, String> {
        let Some(tool) = self.registry_for(name).get(name) else {
            return Err(format!("the tool {name} is not offered in this session"));
        };
        let granted = match self.decide(name, input, opinion) {
            PermissionDecision::Allow(granted) => granted,
            PermissionDecision::Ask(question) => return Err(question.view().why.clone()),
            PermissionDecision::Deny { why, .. } => return Err(why),
        };
        Ok(tool.run(granted, ToolCallContext::new(Arc::clone(&self.tool_context))).await)
    }
}

/// How long a shell snippet may take.
const COMMAND_MILLIS_MAX: u64 = 60_000;
