//! Shared by the four task tools.

use serde_json::{Value, json};
use windlass_vocabulary::{Concurrency, EffectClass, ToolInspection};

use crate::input::InputError;
use crate::task_lists::TaskItem;

pub(super) const RESULT_BYTES_MAX: usize = 60_000;
pub(super) const TOO_LONG: &str = "longer than 10000 characters";

/// Changes only the list, but must not run concurrently.
pub(super) const EXCLUSIVE_PURE: ToolInspection = ToolInspection {
    problem: None,
    concurrency: Concurrency::Exclusive,
    class: EffectClass::Pure,
    spends: false,
    seen: Vec::new(),
    doubt: None,
    limits_itself: false,
};

/// Parses the number, with or without `#`.
pub(super) fn parse_task_number(field: &'static str, text: &str) -> Result<u64, InputError> {
    let digits = text.trim().trim_start_matches('#');
    digits.parse().map_err(|_| InputError::field(field, format!("`{text}` is not a task number")))
}

pub(super) fn explain_unknown_task(number: u64) -> String {
    format!("There is no task #{number}. TaskList shows which there are.")
}

pub(super) fn task_to_json(number: u64, task: &TaskItem) -> Value {
    let mut view = json!(task);
    if let Value::Object(fields) = &mut view {
        fields.insert("id".to_owned(), json!(number.to_string()));
        for name in ["blocks", "blockedBy"] {
            if let Some(Value::Array(numbers)) = fields.get_mut(name) {
                numbers.iter_mut().for_each(|number| *number = json!(number.to_string()));
            }
        }
    }
    view
}
