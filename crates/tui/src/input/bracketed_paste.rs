//! A bracketed paste under way: everything up to its end marker, however the bytes are cut.

#[derive(Debug, Default)]
pub(super) struct BracketedPaste {
    bytes: Vec<u8>,
}

impl BracketedPaste {
    /// Returns the text and the bytes after it, once the paste has ended.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Option<(String, Vec<u8>)> {
        // The marker may have begun in the bytes before; no others are searched twice.
        let from = self.bytes.len().saturating_sub(PASTE_END.len());
        self.bytes.extend_from_slice(bytes);
        let fresh = self.bytes.get(from..).unwrap_or_default();
        let end = fresh.windows(PASTE_END.len()).position(|window| window == PASTE_END);
        if let Some(at) = end {
            let rest = self.bytes.split_off(from + at).split_off(PASTE_END.len());
            let text = String::from_utf8(std::mem::take(&mut self.bytes))
                .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned());
            return Some((text, rest));
        }
        // Text over the limit is dropped, but its end marker must still be seen.
        if self.bytes.len() > BYTES_MAX {
            self.bytes.drain(BYTES_MAX - PASTE_END.len()..self.bytes.len() - PASTE_END.len());
        }
        None
    }
}

const PASTE_END: &[u8] = b"\x1b[201~";
const BYTES_MAX: usize = 64 * 1024 * 1024;
