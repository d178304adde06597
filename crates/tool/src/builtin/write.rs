//! Creates a file, or replaces all of its content.
//!
//! An existing file must have been read in this session and be unchanged; its encoding, byte order
//! mark and CR LF line endings are kept, because Read does not show them. Missing directories are
//! created.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Json, ToolInspection, ToolOutcome};

use crate::file::{
    self, FileContent, ORIGINAL_BYTES_MAX, TextEncoding, convert_line_ends, has_only_crlf,
};
use crate::input::InputError;
use crate::tool::ToolCallContext;
use crate::typed_tool::{
    ToolDescription, TypedTool, TypedToolFuture, TypedToolResult, run_to_completion,
};

#[derive(Debug)]
pub(crate) struct WriteTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WriteInput {
    /// Absolute path of the file.
    file_path: String,
    /// All of its new content.
    content: String,
}

const DESCRIPTION: &str = "Creates a file with the given content, or replaces all of a file you \
have read. Prefer Edit for changing a part.";

const RESULT_BYTES_MAX: usize = 10_000;

impl TypedTool for WriteTool {
    type Input = WriteInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription { name: "Write", text: DESCRIPTION, result_bytes_max: RESULT_BYTES_MAX }
    }

    fn check_input(&self, _: &WriteInput) -> Result<ToolInspection, InputError> {
        Ok(ToolInspection::EXCLUSIVE_EFFECT)
    }

    fn run(&self, input: WriteInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(run_to_completion(call, move |call| perform(&input, &call)))
    }
}

fn perform(input: &WriteInput, call: &ToolCallContext) -> TypedToolResult {
    let context = &call.tool_context;
    let path = file::resolve_path(&context.files, &input.file_path)?;
    let old: Option<FileContent> = match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        _ => Some(file::read_for_change(&context.files, &path)?),
    };
    let link_note = file::render_hard_link_note(old.as_ref().map(|old| &old.metadata));
    let preserved = match &old {
        Some(old) => FileTextFormat::detect(&old.bytes),
        None => {
            FileTextFormat { encoding: TextEncoding::Utf8, byte_order_mark: &[], has_crlf: false }
        }
    };
    let (content, note) = preserved.encode(&input.content);
    let content = content.as_slice();
    context.processes.accept_file(&path);
    let metadata =
        file::write_file(&context.files, &path, old.as_ref().map(|old| &old.metadata), content)?;
    context.files.remember_file(path.clone(), file::known_file_from_content(&metadata, content));
    let original = old.as_ref().map(|old| preserved.encoding.decode(&old.bytes).into_owned());
    let (kind, verb) = match original {
        Some(_) => ("update", "Replaced"),
        None => ("create", "Created"),
    };
    let patch = original.as_deref().map(|old| file::diff_hunks(old, &input.content));
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
        ..ToolOutcome::from_text(format!("{verb} `{}`.{note}{link_note}", path.display()))
    })
}

/// Properties that Read does not show, so that a replacement should not change them.
struct FileTextFormat<'a> {
    encoding: TextEncoding,
    byte_order_mark: &'a [u8],
    has_crlf: bool,
}

impl<'a> FileTextFormat<'a> {
    fn detect(old: &'a [u8]) -> Self {
        let encoding = TextEncoding::detect(old);
        let has_crlf = has_only_crlf(&encoding.decode(old));
        Self { encoding, byte_order_mark: encoding.byte_order_mark(old), has_crlf }
    }

    fn encode(&self, content: &str) -> (Vec<u8>, String) {
        let crlf = self.has_crlf && !content.contains('\r') && content.contains('\n');
        let content = convert_line_ends(content, crlf);
        let Ok(encoded) = self.encoding.encode(&content) else {
            let note = format!(" It is UTF-8 now: not all of it fits {}.", self.encoding.name());
            return (content.as_bytes().to_vec(), note);
        };
        let mut preserved = Vec::new();
        if self.encoding != TextEncoding::Utf8 {
            preserved.push(format!("encoding {}", self.encoding.name()));
        }
        if crlf {
            preserved.push("line ends CR LF".to_owned());
        }
        let note = match preserved.is_empty() {
            true => String::new(),
            false => format!(" Kept: {}.", preserved.join(", ")),
        };
        let has_mark = self.byte_order_mark.is_empty() || encoded.starts_with(self.byte_order_mark);
        let mark = if has_mark { &[] } else { self.byte_order_mark };
        ([mark, &encoded].concat(), note)
    }
}
