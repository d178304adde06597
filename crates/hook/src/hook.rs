//! One configured hook.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::callback::Callback;
use crate::counsel::{Judge, ServerTool};
use crate::event::HookEvent;
use crate::matcher::Matcher;

/// A hook as it was configured.
#[derive(Debug)]
pub(crate) struct Hook {
    pub(crate) event: HookEvent,
    pub(crate) matcher: Matcher,
    /// The matcher as it was written.
    pub(crate) written: String,
    /// A permission rule that must speak of the call.
    pub(crate) condition: Option<String>,
    pub(crate) kind: Kind,
    /// As configured; the event says otherwise.
    pub(crate) limit: Option<Duration>,
    pub(crate) on_failure: Option<OnFailure>,
    /// Runs once in a session.
    pub(crate) once: bool,
    pub(crate) has_run: AtomicBool,
    /// Somebody switched it off for this session.
    pub(crate) is_off: AtomicBool,
    /// Nobody waits for it.
    pub(crate) is_async: bool,
    /// Should it object when nobody waits any more, the model is told.
    pub(crate) wakes: bool,
    pub(crate) source: Arc<str>,
}

/// What is asked.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A program.
    Command(Command),
    /// A server.
    Http(Http),
    /// Whoever embeds us.
    Callback { id: String, callback: Arc<dyn Callback> },
    /// A model, or an agent.
    Judge(Judge),
    /// A tool of a server.
    Tool(ServerTool),
}

impl Kind {
    /// Its name in the configuration.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Http(_) => "http",
            Self::Callback { .. } => "callback",
            Self::Judge(judge) if judge.is_agent => "agent",
            Self::Judge(_) => "prompt",
            Self::Tool(_) => "mcp_tool",
        }
    }
}

/// A program of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) line: String,
    /// With arguments it is run as it is; without, by a shell.
    pub(crate) arguments: Option<Vec<String>>,
    pub(crate) shell: Shell,
    /// More that its environment holds: the directories of a plugin.
    pub(crate) variables: Arc<[(String, PathBuf)]>,
}

/// Who reads a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shell {
    #[default]
    Sh,
    Bash,
    Power,
}

/// A server of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Http {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    /// Variables that may stand in headers.
    pub(crate) variables: Vec<String>,
}

/// What a hook that fails means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// As if it had said nothing.
    Continue,
    /// As if it had objected.
    Block,
}

impl Hook {
    /// How people call it.
    pub(crate) fn name(&self) -> String {
        let text = match &self.kind {
            Kind::Command(command) => match &command.arguments {
                None => command.line.clone(),
                Some(arguments) => format!("{} {}", command.line, arguments.join(" ")),
            },
            Kind::Http(http) => http.url.split(['?', '#']).next().unwrap_or_default().to_owned(),
            Kind::Callback { id, .. } => format!("callback {id}"),
            Kind::Judge(judge) => judge.prompt.clone(),
            Kind::Tool(tool) => tool.name(),
        };
        let line = text.lines().next().unwrap_or_default();
        match line.chars().count() > NAME_CHARS_MAX || line.len() < text.len() {
            true => format!("{}…", line.chars().take(NAME_CHARS_MAX).collect::<String>()),
            false => text,
        }
    }

    /// Would both do the same? Then one is enough.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Command(one), Kind::Command(two)) => one == two,
            (Kind::Http(one), Kind::Http(two)) => one == two,
            (Kind::Judge(one), Kind::Judge(two)) => one == two,
            (Kind::Tool(one), Kind::Tool(two)) => one == two,
            (Kind::Callback { id: one, .. }, Kind::Callback { id: two, .. }) => one == two,
            _ => false,
        }
    }

    /// Is it configured in the same way, for the same moments?
    pub(crate) fn is_unchanged(&self, other: &Self) -> bool {
        let how = |hook: &Self| (hook.limit, hook.on_failure, hook.once, hook.is_async, hook.wakes);
        self.is_same(other)
            && how(self) == how(other)
            && self.event == other.event
            && self.written == other.written
            && self.condition == other.condition
    }

    /// How long it may take.
    pub(crate) fn limit(&self) -> Duration {
        match (self.limit, self.event) {
            (Some(limit), HookEvent::SessionEnd) => limit.min(PARTING_TIME_MAX),
            (Some(limit), _) => limit,
            (None, event) => match &self.kind {
                Kind::Judge(judge) if judge.is_agent => event.limit().min(AGENT_TIME),
                Kind::Judge(_) => event.limit().min(JUDGE_TIME),
                _ => event.limit(),
            },
        }
    }
}

/// How long a model that judges may take, and an agent, where the configuration does not say.
const JUDGE_TIME: Duration = Duration::from_secs(30);
const AGENT_TIME: Duration = Duration::from_secs(60);
/// Characters of a name.
const NAME_CHARS_MAX: usize = 100;
/// The longest a hook may hold up the end of a session.
const PARTING_TIME_MAX: Duration = Duration::from_secs(60);
