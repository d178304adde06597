//! A paste under way: everything up to the sign of its end, however it is cut.

/// What was pasted so far.
#[derive(Debug, Default)]
pub(super) struct BracketedPaste {
    bytes: Vec<u8>,
}

impl BracketedPaste {
    /// Takes bytes in. Gives the whole paste and what came behind it, once it is over.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Option<(String, Vec<u8>)> {
        // The sign may have begun in what was there before; nothing else is looked at twice.
        let from = self.bytes.len().saturating_sub(PASTE_END.len());
        self.bytes.extend_from_slice(bytes);
        let fresh = self.bytes.get(from..).unwrap_or_default();
        let found = fresh.windows(PASTE_END.len()).position(|window| window == PASTE_END);
        if let Some(at) = found {
            let rest = self.bytes.split_off(from + at).split_off(PASTE_END.len());
            let text = String::from_utf8(std::mem::take(&mut self.bytes))
                .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned());
            return Some((text, rest));
        }
        // What nobody could mean to paste is not kept; the end of it still ends it.
        if self.bytes.len() > BYTES_MAX {
            self.bytes.drain(BYTES_MAX - PASTE_END.len()..self.bytes.len() - PASTE_END.len());
        }
        None
    }
}

const PASTE_END: &[u8] = b"\x1b[201~";
const BYTES_MAX: usize = 64 * 1024 * 1024;
