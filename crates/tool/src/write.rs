//! Creates a file or replaces all of one.
//!
//! A file that is there must have been read in this session and not changed since. Directories on
//! the way are made.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_permission::Granted;
use windlass_vocabulary::{Inspection, Json, ToolCall, ToolOutcome, ToolSpec};

use crate::edit::ORIGINAL_BYTES_MAX;
use crate::file::{self, Content, FileState};
use crate::input;
use crate::output::text_of;
use crate::tool::{Job, Running, Tool, finished};

/// The tool.
#[derive(Debug)]
pub struct Write {
    spec: ToolSpec,
}

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Absolute path of the file.
    file_path: String,
    /// All of its new content.
    content: String,
}

const DESCRIPTION: &str = "Creates a file with the given content, or replaces all of a file you \
have read. Prefer Edit for changing a part.";

const RESULT_BYTES_MAX: usize = 10_000;

impl Write {
    /// The tool.
    #[must_use]
    pub fn new() -> Self {
        Self { spec: input::spec::<Input>("Write", DESCRIPTION, RESULT_BYTES_MAX) }
    }
}

impl Default for Write {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, input: &Json) -> Inspection {
        match input::parse::<Input>("Write", input) {
            Ok(_) => Inspection::EXCLUSIVE_EFFECT,
            Err(problem) => Inspection::refused(problem),
        }
    }

    fn run<'a>(&'a self, call: Granted<ToolCall>, job: Job) -> Running<'a> {
        Box::pin(async move {
            match input::parse::<Input>("Write", &call.get().input) {
                Ok(input) => {
                    finished(job, move |job| {
                        perform(&input, &job).unwrap_or_else(ToolOutcome::failure)
                    })
                    .await
                }
                Err(problem) => ToolOutcome::failure(problem),
            }
        })
    }
}

fn perform(input: &Input, job: &Job) -> Result<ToolOutcome, String> {
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
