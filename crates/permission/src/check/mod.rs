//! Policies tested like code: a case in, a decision with its reasons out.
//!
//! [`answer`] takes one line of JSON and gives one line back; [`explain`] tells the same to people.
//! Neither grants anything. The form of a case:
//!
//! ```json
//! {"id": "a", "tool": "Bash", "input": {"command": "ls"}, "rules": {"allow": [], "ask": [], "deny": []},
//!  "mode": "default", "cwd": "/w/repo", "roots": ["/w/repo"], "home": "/home/u", "interactive": true,
//!  "files": {"/w/repo/x": {"file": "text"}, "/w/repo/y": {"symlink": "/etc"}}}
//! ```
//!
//! Only `tool` and `input` are needed. With `files` nothing else exists; without it the caller's
//! world is asked.

mod case;
mod part;
mod people;

use serde::Serialize;
use serde_json::{Value, json};
use windlass_vocabulary::{EffectClass, Inspection, Mode, ToolCall};

use crate::decide::{Opinion, Verdict, verdict};
use crate::explain as words;
use crate::ground::Ground;
use crate::policy::Policy;
use crate::subject::{Matter, Subject};
use crate::suggest::suggestions;
use crate::world::World;
use case::Case;
pub use case::NO_AUTO;
use part::judged;
pub use people::explain;

/// What comes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It runs.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It does not run.
    Deny,
}

/// A decision with everything that led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What comes of the call.
    pub decision: Decision,
    /// Why, in words.
    pub reason: String,
    /// The rule that decided, or one that was needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The commands in it, for a shell line; otherwise the call itself.
    pub parts: Vec<PartReport>,
    /// Rules that would allow it, together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

/// What is said of one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartReport {
    /// As written.
    pub text: String,
    /// What it would do: `run git`, `read /w/repo/a`, `write /w/repo/b`.
    pub effects: Vec<String>,
    /// What would come of it alone.
    pub decision: Decision,
    /// The rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// Judges a call and says why, granting nothing.
#[must_use]
pub fn report(policy: &Policy, call: &ToolCall, world: &dyn World) -> Report {
    let ground = Ground::new(policy, world);
    let subject = Subject::new(policy, &ground, call);
    let inspection = inspection(&subject);
    let said = verdict(policy, &ground, &subject, &inspection, Opinion::None);
    let parts = judged(policy, &ground, &subject, &said);
    let (decision, reason, rule, suggestions) = match said {
        Verdict::Allow { why, rule } => (Decision::Allow, why, rule, Vec::new()),
        Verdict::Deny { why, rule } => (Decision::Deny, why, rule, Vec::new()),
        Verdict::Ask { demand } => {
            let suggestions = match demand.is_default {
                true => suggestions(policy, &ground, &subject),
                false => Vec::new(),
            };
            let rule = demand.rule.clone();
            if policy.mode == Mode::DontAsk {
                (
                    Decision::Deny,
                    words::dont_ask(&subject, &demand, &suggestions),
                    rule,
                    suggestions,
                )
            } else if !policy.can_ask {
                (
                    Decision::Deny,
                    words::nobody_to_ask(&subject, &demand, &suggestions),
                    rule,
                    suggestions,
                )
            } else {
                (Decision::Ask, demand.why, rule, suggestions)
            }
        }
    };
    Report { decision, reason, rule, parts, suggestions }
}

/// What a tool of this name does, as far as its name and input tell.
fn inspection(subject: &Subject) -> Inspection {
    let reads = match &subject.matter {
        Matter::Command(command) => command.only_reads(),
        Matter::Address(_) => true,
        _ => READING_TOOLS.contains(&subject.tool.as_str()),
    };
    let class = if reads { EffectClass::Pure } else { EffectClass::Effect };
    Inspection { class, ..Inspection::SHARED_READ }
}

const READING_TOOLS: &[&str] =
    &["Read", "Glob", "Grep", "LS", "TodoWrite", "TodoRead", "WebFetch", "WebSearch"];

/// One line in, one line out. The second says whether the line was a case at all.
#[must_use]
pub fn answer(line: &str, world: &dyn World) -> (String, bool) {
    let value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => return (refusal(&Value::Null, &format!("not JSON: {error}")), false),
    };
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let case = match Case::read(&value) {
        Ok(case) => case,
        Err(problem) => return (refusal(&id, &problem), false),
    };
    let report = case.judge(world);
    let mut answer = json!({ "id": id });
    if let (Some(answer), Ok(Value::Object(fields))) =
        (answer.as_object_mut(), serde_json::to_value(&report))
    {
        answer.extend(fields);
    }
    (answer.to_string(), true)
}

fn refusal(id: &Value, problem: &str) -> String {
    json!({ "id": id, "error": problem }).to_string()
}
