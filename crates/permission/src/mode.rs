//! What each mode allows when no rule speaks.

use windlass_vocabulary::{EffectClass, Inspection, Mode};

use crate::command::reading;
use crate::path::{is_inside, may_lead_outside};
use crate::policy::Policy;
use crate::subject::{Access, Command, Matter, Subject};

/// Reads inside the working directories in every mode; edits there in one.
pub(crate) fn allows_by_itself(
    policy: &Policy,
    subject: &Subject,
    inspection: &Inspection,
) -> bool {
    let is_pure = inspection.class == EffectClass::Pure;
    match &subject.matter {
        Matter::Command(command) => reads_inside(policy, command),
        Matter::File { path, access: Access::Read } => {
            is_pure && is_inside(path, &policy.directories)
        }
        Matter::File { path, access: Access::Write } => {
            policy.mode == Mode::AcceptEdits && is_inside(path, &policy.directories)
        }
        Matter::Name(_) => is_pure,
        // Somebody else's word that a tool only reads, or a look into the network, is not enough.
        Matter::Other => is_pure && !is_foreign(&subject.tool),
        Matter::Unreadable => false,
    }
}

fn is_foreign(tool: &str) -> bool {
    tool.starts_with("mcp__") || matches!(tool, "WebFetch" | "WebSearch")
}

/// A command known to read only, about files that can only lie inside.
fn reads_inside(policy: &Policy, command: &Command) -> bool {
    let Some(words) = &command.words else { return false };
    let Some(reading) = reading(words) else { return false };
    let may_meet_denied =
        policy.rules.deny.iter().any(|rule| rule.tool == "Read" && rule.content.is_some())
            && searches_everything(words);
    !may_meet_denied
        && reading.files.iter().all(|word| !may_lead_outside(word, &policy.directories))
}

/// Walks directories, so a rule about one file below cannot be seen in its words.
fn searches_everything(words: &[String]) -> bool {
    let has = |what: &str| words.iter().any(|word| word == what);
    let in_cluster = |letter: char| {
        words
            .iter()
            .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    match words.first().map(String::as_str) {
        Some("rg") => true,
        Some("grep" | "egrep" | "fgrep" | "diff") => {
            in_cluster('r') || in_cluster('R') || has("--recursive")
        }
        Some("git") => has("grep") || has("show") || has("diff") || has("log") || has("cat-file"),
        _ => false,
    }
}
