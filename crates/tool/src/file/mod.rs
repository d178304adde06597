//! File access of the tools: opens, remembers and replaces files.
//!
//! A path is opened exactly as its permission was checked: no symlink below the working directory
//! is followed. Only regular files are opened, without ever blocking on a pipe. Files are replaced
//! atomically.

mod backup;
mod changed_files;
mod diff;
mod editor_files;
mod file_content;
mod file_context;
mod file_state;
mod known_files;
mod line_ends;
mod open;
mod replace;
mod system_calls;
mod text_encoding;

pub use backup::{FileBackupStore, PendingFileChange};
pub use changed_files::FileChange;
pub use diff::count_changed_lines;
pub(crate) use diff::diff_hunks;
pub(crate) use editor_files::open_current_text;
pub use editor_files::{EditorFiles, EditorWrite};
pub(crate) use file_content::{FileContent, ORIGINAL_BYTES_MAX, read_bounded, read_for_change};
pub use file_context::FileContext;
pub(crate) use file_state::FileState;
pub(crate) use known_files::{KnownFile, LineOffset, TEXT_BYTES_MAX, known_file_from_content};
pub(crate) use line_ends::{convert_line_ends, has_only_crlf};
pub(crate) use open::{
    OpenedFile, open_beneath, open_regular_file, open_search_root, resolve_path,
};
pub(crate) use replace::{render_hard_link_note, replace_file, write_file};
pub(crate) use system_calls::PATH_ONLY;
pub(crate) use text_encoding::{DETECTION_BYTES_MAX, TextEncoding};
