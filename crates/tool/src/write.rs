//! Creates a file or replaces all of one.
//!
//! A file that is there must have been read in this session and not changed since. Directories on
//! the way are made.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Inspection, Json, ToolOutcome};

use crate::action::{Action, Doing, Done};
use crate::edit::ORIGINAL_BYTES_MAX;
use crate::file::{self, Content, FileState};
use crate::input::Wrong;
use crate::output::text_of;
use crate::tool::{Job, finished};

/// The tool.
#[derive(Debug)]
pub(crate) struct Write;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Absolute path of the file.
    file_path: String,
    /// All of its new content.
    content: String,
}

const DESCRIPTION: &str = "Creates a file with the given content, or replaces all of a file you \
have read. Prefer Edit for changing a part.";

const RESULT_BYTES_MAX: usize = 10_000;

impl Action for Write {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        ("Write", DESCRIPTION, RESULT_BYTES_MAX)
    }

    fn check(&self, _: &Input) -> Result<Inspection, Wrong> {
        Ok(Inspection::EXCLUSIVE_EFFECT)
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(finished(job, move |job| perform(&input, &job)))
    }
}

fn perform(input: &Input, job: &Job) -> Done {
    let surroundings = &job.surroundings;
    let path = file::path_of(surroundings, &input.file_path)?;
    let old: Option<Content> = match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        _ => Some(file::known_content(surroundings, &path)?),
    };
    let content = input.content.as_bytes();
    let metadata =
        file::write(surroundings, &path, old.as_ref().map(|old| &old.metadata), content)?;
    let digest = file::digest(content);
    surroundings.remember(path.clone(), FileState::new(&metadata, Some(digest)));
    let original = old.map(|old| text_of(&old.bytes));
    let (kind, said) = match original {
        Some(_) => ("update", "Replaced"),
        None => ("create", "Created"),
    };
    let patch = original.as_deref().map(|old| file::hunks(old, &input.content));
    let structured = json!({
        "type": kind,
        "filePath": path.to_string_lossy(),
        "content": input.content,
        "structuredPatch": patch.unwrap_or_default(),
        "originalFile": original.filter(|original| original.len() <= ORIGINAL_BYTES_MAX),
    });
    Ok(ToolOutcome {
        changed_workspace: true,
        structured: Some(Json::from_checked(&structured.to_string())),
        ..ToolOutcome::text(format!("{said} `{}`.", path.display()))
    })
}
