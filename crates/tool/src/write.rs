//! Creates a file or replaces all of one.
//!
//! A file that is there must have been read in this session and not changed since; it keeps what
//! reading does not show: its encoding, its byte order mark, lines that all end in CR LF.
//! Directories on the way are made.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Inspection, Json, ToolOutcome};

use crate::action::{Action, Doing, Done};
use crate::edit::{ORIGINAL_BYTES_MAX, has_only_crlf, line_ends};
use crate::file::{self, Content, Encoding};
use crate::input::Wrong;
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
    let parted = file::parted(old.as_ref().map(|old| &old.metadata));
    let kept = match &old {
        Some(old) => Kept::of(&old.bytes),
        None => Kept { encoding: Encoding::Utf8, mark: &[], crlf: false },
    };
    let (content, note) = kept.written(&input.content);
    let content = content.as_slice();
    let metadata =
        file::write(surroundings, &path, old.as_ref().map(|old| &old.metadata), content)?;
    surroundings.remember(path.clone(), file::written(&metadata, content));
    let original = old.as_ref().map(|old| kept.encoding.decode(&old.bytes).into_owned());
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
        ..ToolOutcome::text(format!("{said} `{}`.{note}{parted}", path.display()))
    })
}

/// What of a file a reader is not shown, and who replaces all of it cannot mean to change.
struct Kept<'a> {
    encoding: Encoding,
    mark: &'a [u8],
    crlf: bool,
}

impl<'a> Kept<'a> {
    fn of(old: &'a [u8]) -> Self {
        let encoding = Encoding::of(old);
        let crlf = has_only_crlf(&encoding.decode(old));
        Self { encoding, mark: encoding.mark(old), crlf }
    }

    /// The bytes of the new content, and what was kept, in words.
    fn written(&self, content: &str) -> (Vec<u8>, String) {
        let crlf = self.crlf && !content.contains('\r') && content.contains('\n');
        let content = line_ends(content, crlf);
        let Ok(encoded) = self.encoding.encode(&content) else {
            let note = format!(" It is UTF-8 now: not all of it fits {}.", self.encoding.name());
            return (content.as_bytes().to_vec(), note);
        };
        let mut kept = Vec::new();
        if self.encoding != Encoding::Utf8 {
            kept.push(format!("encoding {}", self.encoding.name()));
        }
        if crlf {
            kept.push("line ends CR LF".to_owned());
        }
        let note = match kept.is_empty() {
            true => String::new(),
            false => format!(" Kept: {}.", kept.join(", ")),
        };
        let has_mark = self.mark.is_empty() || encoded.starts_with(self.mark);
        let mark = if has_mark { &[] } else { self.mark };
        ([mark, &encoded].concat(), note)
    }
}
