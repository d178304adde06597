//! Reads lines of limited length. Of a longer line only the request id is kept.
//!
//! Reading is cancel-safe.

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use super::PeerDisconnect;

/// Queues a message for writing.
pub(crate) async fn send_line(
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    message: impl Serialize,
) -> Result<(), PeerDisconnect> {
    let mut line = serde_json::to_vec(&message).map_err(|_| PeerDisconnect)?;
    line.push(b'\n');
    outgoing.ok_or(PeerDisconnect)?.send(line).await.map_err(|_| PeerDisconnect)
}

/// A line without its line ending.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CappedLine {
    Whole(Vec<u8>),
    /// A line over the limit, with the value of its top-level `id` if there was one.
    TooLong(Option<String>),
}

/// Splits a stream into lines.
pub(crate) struct CappedLines<R> {
    stream: R,
    chunk: Box<[u8]>,
    /// The part of the chunk that is not scanned yet.
    unread: std::ops::Range<usize>,
    line: Vec<u8>,
    bytes_max: usize,
    /// Set while the line is over the limit: it is only scanned for its id.
    scan: Option<IdScanner>,
}

impl<R: AsyncRead + Unpin> CappedLines<R> {
    pub(crate) fn new(stream: R, bytes_max: usize) -> Self {
        let chunk = vec![0; 64 * 1024].into_boxed_slice();
        Self { stream, chunk, unread: 0..0, line: Vec::new(), bytes_max, scan: None }
    }

    /// The next line; `None` at the end of the stream. A last line without a line ending is
    /// dropped.
    pub(crate) async fn next_line(&mut self) -> Option<CappedLine> {
        loop {
            while let Some(bytes) =
                self.chunk.get(self.unread.clone()).filter(|left| !left.is_empty())
            {
                let end = memchr::memchr(b'\n', bytes);
                let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
                match &mut self.scan {
                    Some(scan) => scan.push(part),
                    None => self.line.extend_from_slice(part),
                }
                self.unread.start += part.len() + usize::from(end.is_some());
                if self.scan.is_none() && self.line.len() > self.bytes_max {
                    let mut scan = IdScanner::default();
                    scan.push(&std::mem::take(&mut self.line));
                    self.scan = Some(scan);
                }
                if end.is_some() {
                    return Some(self.finish_line());
                }
            }
            let read = self.stream.read(&mut self.chunk).await.ok().filter(|read| *read > 0)?;
            self.unread = 0..read;
        }
    }

    fn finish_line(&mut self) -> CappedLine {
        let mut line = std::mem::take(&mut self.line);
        match self.scan.take() {
            Some(scan) => CappedLine::TooLong(scan.into_id()),
            None => {
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                CappedLine::Whole(line)
            }
        }
    }
}

/// Writes lines until the queue is closed, or the reader closes the pipe.
pub(crate) async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Vec<u8>>,
) {
    while let Some(line) = lines.recv().await {
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

/// Finds the top-level `id` of an object in constant memory.
#[derive(Default)]
struct IdScanner {
    depth: u32,
    in_text: bool,
    is_escaped: bool,
    /// The last top-level string or number, if it is short.
    token: Vec<u8>,
    is_key: bool,
    id: Option<Vec<u8>>,
}

/// Limit on the length of an `id`.
const TOKEN_MAX: usize = 64;

impl IdScanner {
    fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            self.scan_byte(*byte);
            rest = after;
            // A long message is mostly one long string, so skip it fast.
            if self.in_text && !self.is_escaped && self.depth != 1 {
                let end = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                rest = rest.get(end..).unwrap_or_default();
            }
        }
    }

    fn scan_byte(&mut self, byte: u8) {
        if self.in_text {
            if self.depth == 1 {
                self.push_token_byte(byte);
            }
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => {
                self.end_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_value(),
            b':' if self.depth == 1 => {
                self.is_key = self.token == b"\"id\"";
                self.token.clear();
            }
            b'"' => {
                self.in_text = true;
                if self.depth == 1 {
                    self.push_token_byte(byte);
                }
            }
            byte if self.depth == 1 && !byte.is_ascii_whitespace() => self.push_token_byte(byte),
            _ => {}
        }
    }

    fn push_token_byte(&mut self, byte: u8) {
        if self.token.len() < TOKEN_MAX {
            self.token.push(byte);
        }
    }

    /// A top-level value has ended.
    fn end_value(&mut self) {
        if self.depth == 1 {
            let token = std::mem::take(&mut self.token);
            if std::mem::take(&mut self.is_key) && self.id.is_none() {
                self.id = Some(token);
            }
        }
    }

    fn into_id(self) -> Option<String> {
        self.id.and_then(|id| String::from_utf8(id).ok()).filter(|id| !id.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &[u8], bytes_max: usize) -> Vec<CappedLine> {
        let mut lines = CappedLines::new(text, bytes_max);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().await {
            found.push(line);
        }
        found
    }

    #[tokio::test]
    async fn a_line_too_long_leaves_its_id() {
        let cases: &[(&str, Option<&str>)] = &[
            (r#"{"jsonrpc":"2.0","id":7,"result":{"id":8,"x":"aaaaaaaaaaaa"}}"#, Some("7")),
            (r#"{"result":{"id":8,"x":["]}\"}{"]},"id":"a:,b"}"#, Some("\"a:,b\"")),
            (r#"{"jsonrpc":"2.0","method":"id","params":{"id":1}}        "#, None),
            (r#"["id",4,"id",5,{"id":6}]                            "#, None),
            (r#"{"x":"id" , "id" : -12 , "y":1, "z":"aaaaaaaaaaaaaaaa"}"#, Some("-12")),
        ];
        for (text, id) in cases {
            let text = format!("first\r\n{text}\nlast\nno end");
            let found = all(text.as_bytes(), 20).await;
            let whole = |text: &str| CappedLine::Whole(text.as_bytes().to_vec());
            let wanted =
                [whole("first"), CappedLine::TooLong(id.map(str::to_owned)), whole("last")];
            assert_eq!(found, wanted, "{text}");
        }
    }
}
