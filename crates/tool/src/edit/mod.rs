//! Replaces exact text in a file. Every byte outside the replaced text stays as it is.
//!
//! Refuses when the file was not read in this session, has changed since, or does not hold the
//! text exactly once (unless all of it is to be replaced). In a file whose lines all end in CR LF,
//! the line ends of both texts are taken as CR LF, because that is how they were shown; a file in
//! another encoding than UTF-8 stays in it.

mod near;
mod substitute;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Inspection, Json, ToolOutcome};

use crate::action::{Action, Doing, Done};
use crate::file::{self, Encoding};
use crate::input::{self, Wrong};
use crate::tool::{Job, finished};
use substitute::{Substituted, substitute};
pub(crate) use substitute::{has_only_crlf, line_ends};

/// The tool.
#[derive(Debug)]
pub(crate) struct Edit;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
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
/// Clients get the old content up to this size.
pub(crate) const ORIGINAL_BYTES_MAX: usize = 256 * 1024;

impl Action for Edit {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        ("Edit", DESCRIPTION, RESULT_BYTES_MAX)
    }

    fn check(&self, input: &Input) -> Result<Inspection, Wrong> {
        if input.old_string == input.new_string {
            let why = "it is the same as `old_string`, so there is nothing to change";
            return Err(Wrong::field("new_string", why));
        }
        Ok(Inspection::EXCLUSIVE_EFFECT)
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(finished(job, move |job| perform(&input, &job)))
    }
}

fn perform(input: &Input, job: &Job) -> Done {
    let path = file::path_of(&job.surroundings, &input.file_path)?;
    if input.old_string.is_empty() {
        return create(input, job, &path);
    }
    let content = file::known_content(&job.surroundings, &path)?;
    let encoding = Encoding::of(&content.bytes);
    let texts = (input.old_string.as_str(), input.new_string.as_str());
    let done = substitute(&content.bytes, encoding, texts, input.replace_all)
        .map_err(|problem| problem.explain(&path, &content.bytes, encoding, texts.0))?;
    let metadata = file::replace(&job.surroundings, &path, Some(&content.metadata), &done.content)?;
    job.surroundings.remember(path.clone(), file::written(&metadata, &done.content));
    let said = said(&path, &done) + &file::parted(Some(&content.metadata));
    Ok(ToolOutcome {
        changed_workspace: true,
        structured: Some(structured(input, &path, encoding, (&content.bytes, &done.content))),
        ..ToolOutcome::text(said)
    })
}

/// A file that is there is changed by naming what to change, unless there is nothing in it.
fn create(input: &Input, job: &Job, path: &Path) -> Done {
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
    let metadata = file::write(&job.surroundings, path, old.as_ref(), content)?;
    job.surroundings.remember(path.to_path_buf(), file::written(&metadata, content));
    Ok(ToolOutcome {
        changed_workspace: true,
        structured: Some(structured(input, path, Encoding::Utf8, (b"", content))),
        ..ToolOutcome::text(format!("Created `{}`.{}", path.display(), file::parted(old.as_ref())))
    })
}

fn said(path: &Path, done: &Substituted) -> String {
    match done.lines.as_slice() {
        [line] => format!("Changed `{}` at line {line}.", path.display()),
        [line, ..] => {
            let places = done.lines.len();
            format!("Changed `{}` in {places} places, the first at line {line}.", path.display())
        }
        [] => format!("Changed `{}`.", path.display()),
    }
}

fn structured(input: &Input, path: &Path, encoding: Encoding, (old, new): (&[u8], &[u8])) -> Json {
    let original = encoding.decode(old).into_owned();
    let patch = file::hunks(&original, &encoding.decode(new));
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
