//! One configured hook.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::callback::HookCallback;
use crate::command_hook::CommandHook;
use crate::event::HookEvent;
use crate::http_hook::HttpHook;
use crate::matcher::HookMatcher;
use crate::mcp_tool_hook::McpToolHook;
use crate::prompt_hook::PromptHook;

#[derive(Debug)]
pub(crate) struct Hook {
    pub(crate) event: HookEvent,
    pub(crate) matcher: HookMatcher,
    pub(crate) matcher_text: String,
    /// A permission rule that must match the call.
    pub(crate) condition: Option<String>,
    pub(crate) kind: HookKind,
    /// As configured; `None` means the event's default.
    pub(crate) timeout: Option<Duration>,
    pub(crate) on_failure: Option<OnFailure>,
    pub(crate) once: bool,
    pub(crate) has_run: AtomicBool,
    /// Disabled for this session.
    pub(crate) is_off: AtomicBool,
    /// The session does not wait for it.
    pub(crate) is_async: bool,
    /// A block that arrives when the session no longer waits is passed to the model.
    pub(crate) wakes_model: bool,
    pub(crate) source: Arc<str>,
}

#[derive(Debug)]
pub(crate) enum HookKind {
    Command(CommandHook),
    Http(HttpHook),
    /// A function of the embedding program or of the client.
    Callback {
        id: String,
        callback: Arc<dyn HookCallback>,
    },
    Prompt(PromptHook),
    McpTool(McpToolHook),
}

impl HookKind {
    pub(crate) fn hook_type(&self) -> HookType {
        match self {
            Self::Command(_) => HookType::Command,
            Self::Http(_) => HookType::Http,
            Self::Callback { .. } => HookType::Callback,
            Self::Prompt(prompt) if prompt.is_agent => HookType::Agent,
            Self::Prompt(_) => HookType::Prompt,
            Self::McpTool(_) => HookType::McpTool,
        }
    }
}

/// What a hook does, as settings say in `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookType {
    Command,
    Http,
    Callback,
    Prompt,
    Agent,
    McpTool,
}

impl HookType {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Http => "http",
            Self::Callback => "callback",
            Self::Prompt => "prompt",
            Self::Agent => "agent",
            Self::McpTool => "mcp_tool",
        }
    }
}

/// How a failure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    Continue,
    /// The guarded call does not happen, as if the hook had refused it.
    Block,
}

impl Hook {
    pub(crate) fn name(&self) -> String {
        let text = match &self.kind {
            HookKind::Command(command) => match &command.arguments {
                None => command.line.clone(),
                Some(arguments) => format!("{} {}", command.line, arguments.join(" ")),
            },
            HookKind::Http(http) => {
                http.url.split(['?', '#']).next().unwrap_or_default().to_owned()
            }
            HookKind::Callback { id, .. } => format!("callback {id}"),
            HookKind::Prompt(prompt) => prompt.prompt.clone(),
            HookKind::McpTool(tool) => tool.name(),
        };
        let line = text.lines().next().unwrap_or_default();
        match line.chars().count() > NAME_CHARS_MAX || line.len() < text.len() {
            true => format!("{}…", line.chars().take(NAME_CHARS_MAX).collect::<String>()),
            false => text,
        }
    }

    /// Do both have the same action? Then only one of them runs.
    pub(crate) fn runs_same_action(&self, other: &Self) -> bool {
        let kind = &other.kind;
        match &self.kind {
            HookKind::Command(one) => matches!(kind, HookKind::Command(two) if one == two),
            HookKind::Http(one) => matches!(kind, HookKind::Http(two) if one == two),
            HookKind::Prompt(one) => matches!(kind, HookKind::Prompt(two) if one == two),
            HookKind::McpTool(one) => matches!(kind, HookKind::McpTool(two) if one == two),
            HookKind::Callback { id, .. } => {
                matches!(kind, HookKind::Callback { id: other, .. } if id == other)
            }
        }
    }

    /// Do both have the same configuration and event?
    pub(crate) fn is_unchanged(&self, other: &Self) -> bool {
        let how = |hook: &Self| {
            (hook.timeout, hook.on_failure, hook.once, hook.is_async, hook.wakes_model)
        };
        self.runs_same_action(other)
            && how(self) == how(other)
            && self.event == other.event
            && self.matcher_text == other.matcher_text
            && self.condition == other.condition
    }

    pub(crate) fn timeout(&self) -> Duration {
        match (self.timeout, self.event) {
            (Some(limit), HookEvent::SessionEnd) => limit.min(SESSION_END_TIMEOUT_MAX),
            (Some(limit), _) => limit,
            (None, event) => match &self.kind {
                HookKind::Prompt(prompt) if prompt.is_agent => {
                    event.default_timeout().min(AGENT_TIMEOUT)
                }
                HookKind::Prompt(_) => event.default_timeout().min(PROMPT_TIMEOUT),
                HookKind::Command(_)
                | HookKind::Http(_)
                | HookKind::Callback { .. }
                | HookKind::McpTool(_) => event.default_timeout(),
            },
        }
    }
}

/// Default timeouts of prompt hooks and agent hooks.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(30);
const AGENT_TIMEOUT: Duration = Duration::from_secs(60);
const NAME_CHARS_MAX: usize = 100;
/// Limit for session end hooks.
const SESSION_END_TIMEOUT_MAX: Duration = Duration::from_secs(60);
