//! Output of a background task since it was last shown, up to a limit.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::process_output::HeadAndTail;

const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct NewOutput {
    pub(crate) text: String,
    pub(crate) bytes: u64,
    pub(crate) end: u64,
}

pub(crate) fn read_output_since(
    path: &Path,
    from: u64,
    bytes_max: usize,
) -> Result<NewOutput, String> {
    let mut ends = HeadAndTail::new(bytes_max);
    let end = visit_output_since(path, from, |chunk| {
        ends.push(chunk);
        true
    })?;
    let text = ends.render(bytes_max).trim_end_matches('\n').to_owned();
    Ok(NewOutput { text, bytes: ends.total(), end })
}

/// Reads the output from an offset on. Returns where it stopped.
pub(crate) fn visit_output_since(
    path: &Path,
    from: u64,
    mut visit: impl FnMut(&[u8]) -> bool,
) -> Result<u64, String> {
    let failed = |error: std::io::Error| format!("`{}`: {error}.", path.display());
    let mut file = File::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    // Output written from now on is left for the next time.
    let bytes = file.metadata().map_err(failed)?.len().saturating_sub(from);
    let mut left = file.take(bytes);
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = from;
    loop {
        let read = left.read(&mut chunk).map_err(failed)?;
        let Some(new) = chunk.get(..read).filter(|new| !new.is_empty()) else {
            return Ok(at);
        };
        at += read as u64;
        if !visit(new) {
            return Ok(at);
        }
    }
}
