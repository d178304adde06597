//! Tool calls in progress, as a session's frames show them. A process without any can be ended
//! without losing work.

use std::collections::BTreeSet;

use serde_json::Value;

#[derive(Debug, Default)]
pub(crate) struct RunningCalls {
    ids: BTreeSet<String>,
    /// A background command was started, which may outlive its call.
    has_background: bool,
}

impl RunningCalls {
    pub(crate) fn is_idle(&self) -> bool {
        self.ids.is_empty() && !self.has_background
    }

    /// Whether nothing runs but calls that wait for an answer.
    pub(crate) fn are_all_among(&self, asked: &BTreeSet<&str>) -> bool {
        !self.has_background && self.ids.iter().all(|id| asked.contains(id.as_str()))
    }

    /// Records the calls that a message starts or ends.
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
