//! Files as an editor shows them, with unsaved changes.
//!
//! The file on disk is checked first, by the same rules as without an editor, so an editor is only
//! asked about regular files below a working directory that are reached without symlinks. If the
//! editor does not answer, the disk is used.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use super::file_content::read_bounded;
use super::file_context::FileContext;
use super::line_ends::{convert_line_ends, has_only_crlf};
use super::open::{OpenedFile, open_regular_file};
use super::system_calls::create_memory_file;

/// The editor that a session runs in.
pub trait EditorFiles: core::fmt::Debug + Send + Sync {
    /// The text of a file in the editor; `None` if it does not answer. Blocks.
    fn read_text(&self, path: &Path) -> Option<String>;

    /// Writes a file through the editor. Blocks.
    fn write_text(&self, path: &Path, text: &str) -> EditorWrite;
}

/// The result of a write through the editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditorWrite {
    Written,
    /// The editor does not write files.
    NotOffered,
    /// The editor refused, with the reason.
    Refused(String),
    /// The editor did not answer, and may still write.
    Unanswered,
}

/// Opens a regular file, with the editor's text if that differs from the disk. The metadata is of
/// the file on disk, which is what an edit replaces.
pub(crate) fn open_current_text(files: &FileContext, path: &Path) -> Result<OpenedFile, String> {
    let opened = open_regular_file(files, path)?;
    let Some(editor) = editor_for(files, path) else { return Ok(opened) };
    let failed = |error| format!("`{}` could not be read: {error}.", path.display());
    match find_unsaved_text(&*editor, &opened, path).map_err(failed)? {
        Some(text) => {
            let file = hold_in_memory(text.as_bytes()).map_err(failed)?;
            Ok(OpenedFile { file, metadata: opened.metadata })
        }
        None => Ok(opened),
    }
}

/// The editor's text if it differs from the disk. `None` for files that are not UTF-8 text.
fn find_unsaved_text(
    editor: &dyn EditorFiles,
    opened: &OpenedFile,
    path: &Path,
) -> std::io::Result<Option<String>> {
    if opened.metadata.len() > EDITOR_BYTES_MAX {
        return Ok(None);
    }
    let saved = read_bounded(&opened.file, EDITOR_BYTES_MAX)?;
    (&opened.file).seek(SeekFrom::Start(0))?;
    let Ok(saved) = String::from_utf8(saved) else { return Ok(None) };
    if saved.contains('\0') {
        return Ok(None);
    }
    let text = editor.read_text(path).filter(|text| text.len() as u64 <= EDITOR_BYTES_MAX);
    Ok(text.and_then(|text| {
        // Editors return text without a byte order mark and with their own line endings.
        let mark = if saved.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK } else { "" };
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
        let text = format!("{mark}{}", convert_line_ends(text, has_only_crlf(&saved)));
        (text != saved).then_some(text)
    }))
}

fn hold_in_memory(content: &[u8]) -> std::io::Result<File> {
    let mut file = create_memory_file("editor-text")?;
    file.write_all(content)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// Writes the file through the editor, so that it shows the change and can undo it. Returns whether
/// it was written; otherwise the caller must write it.
pub(super) fn write_through_editor(
    files: &FileContext,
    path: &Path,
    content: &[u8],
) -> Result<bool, String> {
    let Some(editor) = editor_for(files, path) else { return Ok(false) };
    let Ok(text) = std::str::from_utf8(content) else { return Ok(false) };
    if content.len() as u64 > EDITOR_BYTES_MAX {
        return Ok(false);
    }
    let shown = path.display();
    match editor.write_text(path, text) {
        EditorWrite::Written => Ok(true),
        EditorWrite::NotOffered => Ok(false),
        EditorWrite::Unanswered => Err(format!(
            "The editor did not answer, so it is not known whether `{shown}` was changed. Read it \
             again before you change it."
        )),
        EditorWrite::Refused(why) => match has_unsaved_text(&*editor, files, path) {
            true => Err(format!(
                "The editor has unsaved changes in `{shown}` and did not take the new text: {why}. \
                 Nothing was changed. Ask the user to save or discard them."
            )),
            // The editor's text does not differ from the disk, so writing the file loses nothing.
            false => Ok(false),
        },
    }
}

fn has_unsaved_text(editor: &dyn EditorFiles, files: &FileContext, path: &Path) -> bool {
    let opened = open_regular_file(files, path);
    opened.is_ok_and(|opened| matches!(find_unsaved_text(editor, &opened, path), Ok(Some(_))))
}

/// Outside of the working directories only the disk counts: an editor must not provide content
/// there.
fn editor_for(files: &FileContext, path: &Path) -> Option<Arc<dyn EditorFiles>> {
    files.editor().filter(|_| files.is_in_working_directory(path))
}

const BYTE_ORDER_MARK: &str = "\u{feff}";
/// Larger files are read and written on disk.
const EDITOR_BYTES_MAX: u64 = 4 * 1024 * 1024;
