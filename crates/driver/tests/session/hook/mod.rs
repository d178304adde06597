//! Users' hooks in a session: real programs, asked at the moments of a real loop.

mod change;
mod door;
mod end;
mod fault;
mod key;
mod tool;

use std::path::Path;

use serde_json::{Value, json};
use windlass_driver::hooks::HookSource;
use windlass_driver::{HookSet, SubagentConfig};
use windlass_rehearsal::ScriptedAnswer as Says;
use windlass_vocabulary::WireFormat;

use crate::fixture::{FixtureOptions, SessionFixture, rehearse};

/// A session with these hooks.
async fn play(options: FixtureOptions, hooks: Value, answers: Vec<Says>) -> SessionFixture {
    let (set, problems) = HookSet::parse(&hooks, &HookSource::new("test"));
    assert_eq!(problems, Vec::<String>::new());
    let rehearsal = rehearse(answers).await;
    let builder = options.builder(&rehearsal.url()).hooks(set).identity("the-session", None);
    let builder = builder.subagents(SubagentConfig::default());
    let (session, notices) = builder.start().unwrap();
    let wire = WireFormat::AnthropicMessages;
    SessionFixture { rehearsal, session, notices, directory: options.directory, wire }
}

/// One hook at an event.
fn at(event: &str, command: &str) -> Value {
    json!({ event: [{ "hooks": [{ "type": "command", "command": command, "timeout": 60 }] }] })
}

/// Hooks at several events.
fn all(parts: impl IntoIterator<Item = Value>) -> Value {
    let mut hooks = serde_json::Map::new();
    for part in parts {
        hooks.extend(part.as_object().unwrap().clone());
    }
    hooks.into()
}

/// A command that keeps what it is told in `log`, one line each, and then does this.
fn logged(then: &str) -> String {
    format!("printf '%s\\n' \"$(cat)\" >> log; {then}")
}

/// A command that answers with this JSON.
fn says(value: &Value) -> String {
    format!("cat > /dev/null; printf '%s' '{value}'")
}

/// What `logged` hooks were told.
fn log(directory: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(directory.join("log")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Everything the last request says, as text.
fn last(fixture: &SessionFixture) -> String {
    crate::fixture::last_request(&fixture.rehearsal).to_string()
}

fn bash(command: &str) -> Says {
    Says::call("Bash", json!({ "command": command }))
}
