//! Truncates long output of a hook, and writes all of it to a file.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const CHARS_MAX: usize = 10_000;
const PREVIEW_CHARS: usize = 2_000;

/// The text or its beginning with the file's path. Blocks for a moment if it is long.
pub(crate) fn shorten_long_text(text: String, spill: &Path) -> String {
    if text.len() <= CHARS_MAX || text.chars().count() <= CHARS_MAX {
        return text;
    }
    let preview: String = text.chars().take(PREVIEW_CHARS).collect();
    let count = text.chars().count();
    let place = match save_to_file(&text, spill) {
        Ok(path) => format!("all of it is in {path}"),
        Err(error) => format!("the rest is lost: {error}"),
    };
    format!("{preview}\n[the hook wrote {count} characters; {place}]")
}

fn save_to_file(text: &str, spill: &Path) -> std::io::Result<String> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::create_dir_all(spill)?;
    let number = SAVED_FILE_COUNT.fetch_add(1, Ordering::Relaxed);
    let path = spill.join(format!("hook-{}-{number}.txt", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(path.to_string_lossy().into_owned())
}

/// Sessions may share the directory, so file names are numbered per process.
static SAVED_FILE_COUNT: AtomicU64 = AtomicU64::new(0);
