//! What each mode allows when no rule speaks.

use windlass_vocabulary::{EffectClass, Inspection, Mode};

use crate::ground::Ground;
use crate::policy::Policy;
use crate::subject::{Access, Matter, Subject};
use crate::world::Entry;

/// Reads inside the working directories in every mode; edits there in one. Commands are judged part
/// by part elsewhere.
pub(crate) fn allows_by_itself(
    policy: &Policy,
    ground: &Ground<'_>,
    subject: &Subject,
    inspection: &Inspection,
) -> bool {
    let is_pure = inspection.class == EffectClass::Pure;
    match &subject.matter {
        Matter::Command(_) | Matter::Unreadable => false,
        Matter::File { meant, access: Access::Read } => {
            is_pure && ground.is_inside(meant) && meant.entry != Entry::Special
        }
        Matter::File { meant, access: Access::Write } => {
            policy.mode == Mode::AcceptEdits
                && ground.is_inside(meant)
                && meant.entry != Entry::Special
        }
        // An agent does nothing by being asked: each of its own calls is judged like ours.
        Matter::Name(_) | Matter::Other if is_agent(&subject.tool) => true,
        Matter::Name(_) => is_pure,
        // Somebody else's word that a tool only reads, or a look into the network, is not enough.
        Matter::Address(_) => false,
        Matter::Other => is_pure && !is_foreign(&subject.tool),
    }
}

fn is_agent(tool: &str) -> bool {
    matches!(tool, "Agent" | "Task")
}

fn is_foreign(tool: &str) -> bool {
    tool.starts_with("mcp__") || matches!(tool, "WebFetch" | "WebSearch")
}

/// Does the call change nothing? Of commands we know better than whoever offers them.
pub(crate) fn is_pure(subject: &Subject, inspection: &Inspection) -> bool {
    match &subject.matter {
        Matter::Command(command) => command.only_reads(),
        _ => inspection.class == EffectClass::Pure,
    }
}
