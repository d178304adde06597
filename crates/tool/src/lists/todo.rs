//! Writes the list of steps at hand, whole.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Inspection, Json, ToolOutcome};

use super::{ENTRIES_MAX, Status, TEXT_CHARS_MAX, Todo};
use crate::action::{Action, Doing};
use crate::input::Wrong;
use crate::tool::Job;

/// The tool.
#[derive(Debug)]
pub(crate) struct TodoWrite;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The whole list.
    todos: Vec<Todo>,
}

const DESCRIPTION: &str = "Keeps a list of the steps of work that has more than two, so that \
nothing is forgotten and people can follow. Give the whole list each time. Have one step \
in_progress, and mark each completed as soon as it is.";

const RESULT_BYTES_MAX: usize = 10_000;

impl Action for TodoWrite {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        ("TodoWrite", DESCRIPTION, RESULT_BYTES_MAX)
    }

    fn check(&self, input: &Input) -> Result<Inspection, Wrong> {
        if input.todos.len() > ENTRIES_MAX {
            return Err(Wrong::field("todos", format!("more than {ENTRIES_MAX} entries")));
        }
        let is_long = |todo: &Todo| todo.content.chars().count() > TEXT_CHARS_MAX;
        if input.todos.iter().any(is_long) {
            let why = format!("an entry of more than {TEXT_CHARS_MAX} characters");
            return Err(Wrong::field("todos", why));
        }
        if input.todos.iter().any(|todo| todo.content.trim().is_empty()) {
            return Err(Wrong::field("todos", "an entry without content"));
        }
        // It changes nothing but the list, yet two at a time would race for it.
        Ok(Inspection {
            concurrency: windlass_vocabulary::Concurrency::Exclusive,
            ..Inspection::SHARED_READ
        })
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(async move {
            let before = job
                .surroundings
                .change_lists(|lists| std::mem::replace(&mut lists.todos, input.todos.clone()));
            let done = input.todos.iter().filter(|todo| todo.status == Status::Completed).count();
            let structured = json!({"oldTodos": before, "newTodos": input.todos});
            Ok(ToolOutcome {
                structured: Some(Json::from_checked(&structured.to_string())),
                ..ToolOutcome::text(format!("Noted: {done} of {} done.", input.todos.len()))
            })
        })
    }
}
