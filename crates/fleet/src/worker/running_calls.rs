//! Calls of a session that are under way, as its frames tell: a process that works on none of them can be
//! ended without a loss.

use std::collections::BTreeSet;

use serde_json::Value;

#[derive(Debug, Default)]
pub(crate) struct RunningCalls {
    ids: BTreeSet<String>,
    /// A command that goes on after its call has ended.
    has_background: bool,
}

impl RunningCalls {
    pub(crate) fn is_idle(&self) -> bool {
        self.ids.is_empty() && !self.has_background
    }

    /// Reads what a message begins and ends.
    pub(crate) fn follow(&mut self, frame: &Value) {
        let blocks = frame.pointer("/message/content").and_then(Value::as_array);
        for block in blocks.into_iter().flatten() {
            let text = |name: &str| block.get(name).and_then(Value::as_str);
            match (text("type"), text("id"), text("tool_use_id")) {
                (Some("tool_use"), Some(id), _) => {
                    let background = block.pointer("/input/run_in_background");
                    self.has_background |= background == Some(&Value::Bool(true));
                    self.ids.insert(id.to_owned());
                }
                (Some("tool_result"), _, Some(id)) => drop(self.ids.remove(id)),
                _ => {}
            }
        }
    }
}
