//! Files for results that are too long for a conversation.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_tool::ToolSessionContext;

/// Writes a long text to a file, and returns its beginning, its end and the path for the model.
pub(crate) fn spill_to_file(text: &str, tool_context: &ToolSessionContext) -> String {
    let path = next_spill_path(tool_context, "txt");
    let place = match write_spill_file(&path, text.as_bytes()) {
        Ok(()) => format!("The whole of it is in {}; read it in parts.", path.display()),
        Err(problem) => format!("The rest is lost: {problem}."),
    };
    let head = text.get(..text.floor_char_boundary(PREVIEW_BYTES)).unwrap_or(text);
    let tail_start = text.ceil_char_boundary(text.len().saturating_sub(PREVIEW_BYTES));
    let tail = text.get(tail_start..).unwrap_or_default();
    format!("The result has {} bytes. {place}\n{head}\n[…]\n{tail}", text.len())
}

pub(crate) fn next_spill_path(tool_context: &ToolSessionContext, kind: &str) -> PathBuf {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    tool_context
        .processes
        .spill_directory
        .join(format!("mcp-{}-{number}.{kind}", std::process::id()))
}

pub(crate) fn write_spill_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let describe = |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(describe)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(describe)
}

/// Bytes shown of each end of a long text.
const PREVIEW_BYTES: usize = 2_000;
