//! One request over HTTP as a server of the tests reads it, and a reply to it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// What was asked: the head and the body.
#[derive(Clone, Debug)]
pub(crate) struct HttpTestRequest {
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl HttpTestRequest {
    /// The next request; `None` when there is none any more.
    pub(crate) async fn read(stream: &mut TcpStream) -> std::io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        let (head, mut body) = loop {
            let read = stream.read(&mut chunk).await?;
            bytes.extend_from_slice(&chunk[..read]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                break (head.to_owned(), body.to_owned());
            }
            if read == 0 {
                return Ok(None);
            }
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().ok())?
        });
        while body.len() < length.unwrap_or(0) {
            let read = stream.read(&mut chunk).await?;
            body.push_str(&String::from_utf8_lossy(&chunk[..read]));
        }
        Ok(Some(Self { head, body: serde_json::from_str(&body).unwrap_or_default() }))
    }

    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn has(&self, words: &str) -> bool {
        self.head.to_lowercase().contains(&words.to_lowercase())
    }
}

pub(crate) fn reply(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
        body.len()
    )
}
