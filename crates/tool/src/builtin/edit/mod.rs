//! Replaces exact text in a file. All other bytes stay the same.
//!
//! Fails if the file was not read in this session, has changed since, or does not contain the text
//! exactly once (unless all occurrences are to be replaced). In a file whose lines all end in CR
//! LF, line endings in both texts count as CR LF, because that is how they were shown. The encoding
//! of the file is kept.

mod near_match;
mod substitute;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Json, ToolInspection, ToolOutcome};

use crate::file::{self, ORIGINAL_BYTES_MAX, TextEncoding};
use crate::input::{self, InputError};
use crate::tool::ToolCallContext;
use crate::typed_tool::{
    ToolDescription, TypedTool, TypedToolFuture, TypedToolResult, run_to_completion,
};
use substitute::{Replacement, Substitution, substitute};

#[derive(Debug)]
pub(crate) struct EditTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditInput {
    /// Absolute path of the file.
    file_path: String,
    /// The text to replace, exactly as it stands in the file. Empty to create a new file.
    old_string: String,
    /// What to put in its place.
    new_string: String,
    /// Replace it wherever it stands.
    #[serde(default, deserialize_with = "input::flag")]
    replace_all: bool,
}

const DESCRIPTION: &str = "Replaces text in a file you have read. old_string must match the file \
exactly, without the line numbers Read shows, and only once: add lines around it until it does, or \
set replace_all. An empty old_string creates the file.";

const RESULT_BYTES_MAX: usize = 10_000;

impl TypedTool for EditTool {
    type Input = EditInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription { name: "Edit", text: DESCRIPTION, result_bytes_max: RESULT_BYTES_MAX }
    }

    fn check_input(&self, input: &EditInput) -> Result<ToolInspection, InputError> {
        if input.old_string == input.new_string {
            let why = "it is the same as `old_string`, so there is nothing to change";
            return Err(InputError::field("new_string", why));
        }
        Ok(ToolInspection::EXCLUSIVE_EFFECT)
    }

    fn run(&self, input: EditInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(run_to_completion(call, move |call| perform(&input, &call)))
    }
}

fn perform(input: &EditInput, call: &ToolCallContext) -> TypedToolResult {
    let path = file::resolve_path(&call.tool_context.files, &input.file_path)?;
    if input.old_string.is_empty() {
        return create_file(input, call, &path);
    }
    let content = file::read_for_change(&call.tool_context.files, &path)?;
    let encoding = TextEncoding::detect(&content.bytes);
    let replacement = Replacement {
        old: &input.old_string,
        new: &input.new_string,
        replace_all: input.replace_all,
    };
    let done = substitute(&content.bytes, encoding, &replacement)
        .map_err(|problem| problem.explain(&path, &content.bytes, encoding, &input.old_string))?;
    let metadata = file::replace_file(
        &call.tool_context.files,
        &path,
        Some(&content.metadata),
        &done.content,
    )?;
    call.tool_context
        .files
        .remember_file(path.clone(), file::known_file_from_content(&metadata, &done.content));
    let summary =
        summarize_change(&path, &done) + &file::render_hard_link_note(Some(&content.metadata));
    Ok(ToolOutcome {
        changed_workspace: true,
        structured: Some(build_structured_output(
            input,
            &path,
            encoding,
            &content.bytes,
            &done.content,
        )),
        ..ToolOutcome::from_text(summary)
    })
}

/// An existing file must be changed by naming what to replace, unless it is empty.
fn create_file(input: &EditInput, call: &ToolCallContext, path: &Path) -> TypedToolResult {
    let old = match std::fs::symlink_metadata(path) {
        Err(_) => None,
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => Some(metadata),
        Ok(_) => {
            return Err(format!(
                "`{}` exists. Give the text to replace in `old_string`, or use Write to replace \
                 all of it.",
                path.display()
            ));
        }
    };
    let content = input.new_string.as_bytes();
    call.tool_context.processes.accept_file(path);
    let metadata = file::write_file(&call.tool_context.files, path, old.as_ref(), content)?;
    call.tool_context
        .files
        .remember_file(path.to_path_buf(), file::known_file_from_content(&metadata, content));
    Ok(ToolOutcome {
        changed_workspace: true,
        structured: Some(build_structured_output(input, path, TextEncoding::Utf8, b"", content)),
        ..ToolOutcome::from_text(format!(
            "Created `{}`.{}",
            path.display(),
            file::render_hard_link_note(old.as_ref())
        ))
    })
}

fn summarize_change(path: &Path, done: &Substitution) -> String {
    match done.line_numbers.as_slice() {
        [line] => format!("Changed `{}` at line {line}.", path.display()),
        [line, ..] => {
            let places = done.line_numbers.len();
            format!("Changed `{}` in {places} places, the first at line {line}.", path.display())
        }
        [] => format!("Changed `{}`.", path.display()),
    }
}

fn build_structured_output(
    input: &EditInput,
    path: &Path,
    encoding: TextEncoding,
    old: &[u8],
    new: &[u8],
) -> Json {
    let original = encoding.decode(old).into_owned();
    let patch = file::diff_hunks(&original, &encoding.decode(new));
    let original = (original.len() <= ORIGINAL_BYTES_MAX).then_some(original);
    let structured = json!({
        "filePath": path.to_string_lossy(),
        "oldString": input.old_string,
        "newString": input.new_string,
        "originalFile": original,
        "structuredPatch": patch,
        "userModified": false,
        "replaceAll": input.replace_all,
    });
    Json::from_checked(&structured.to_string())
}
