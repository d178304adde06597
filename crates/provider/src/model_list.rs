//! Requests the list of models from a server on this machine, within a deadline.
//!
//! Plain HTTP over a plain socket, without a key: only servers on this machine are queried, and the
//! list is only displayed. Anything that is not a list of names counts as no answer.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The names, or `None` if the server sent no list.
pub fn fetch_model_list(host: &str, port: u16, within: Duration) -> Option<Vec<String>> {
    let deadline = Instant::now() + within;
    PATHS.iter().find_map(|path| parse_model_names(&http_get(host, port, path, deadline)?))
}

fn http_get(host: &str, port: u16, path: &str, deadline: Instant) -> Option<Vec<u8>> {
    let address = (host, port).to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&address, time_left(deadline)?).ok()?;
    stream.set_write_timeout(Some(time_left(deadline)?)).ok()?;
    let request = format!(
        "GET {path} HTTP/1.0\r\nhost: {host}:{port}\r\naccept: application/json\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut reply = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        stream.set_read_timeout(Some(time_left(deadline)?)).ok()?;
        match stream.read(&mut chunk).ok()? {
            0 => break,
            count => reply.extend_from_slice(chunk.get(..count)?),
        }
        if reply.len() > REPLY_MAX {
            return None;
        }
        // A server that keeps the connection open nevertheless has sent the length.
        if is_complete(&reply) {
            break;
        }
    }
    reply.starts_with(b"HTTP/1.").then_some(reply)
}

/// Is the body as long as the header announces?
fn is_complete(reply: &[u8]) -> bool {
    let Some((head, body)) = split_response(reply) else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    length.is_some_and(|length| body.len() >= length)
}

fn split_response(reply: &[u8]) -> Option<(&str, &[u8])> {
    let end = reply.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(reply.get(..end)?).ok()?;
    Some((head, reply.get(end + 4..)?))
}

/// `{"data": [{"id": …}]}` or `{"models": [{"name": …}]}`.
fn parse_model_names(reply: &[u8]) -> Option<Vec<String>> {
    let (head, body) = split_response(reply)?;
    if !head.split_whitespace().nth(1)?.starts_with("200") {
        return None;
    }
    // A chunked body has lengths outside of the braces; a small list is a single chunk.
    let start = body.iter().position(|byte| *byte == b'{')?;
    let end = body.iter().rposition(|byte| *byte == b'}')?;
    let json: Value = serde_json::from_slice(body.get(start..=end)?).ok()?;
    let list = json.get("data").or_else(|| json.get("models"))?.as_array()?;
    let name = |item: &Value| {
        let name = item.get("id").or_else(|| item.get("name"))?.as_str()?;
        Some(name.chars().take(NAME_MAX).collect::<String>())
    };
    Some(list.iter().filter_map(name).take(NAMES_MAX).collect())
}

fn time_left(deadline: Instant) -> Option<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    (!left.is_zero()).then_some(left)
}

const PATHS: &[&str] = &["/v1/models", "/api/tags"];
const REPLY_MAX: usize = 256 * 1024;
const NAMES_MAX: usize = 200;
const NAME_MAX: usize = 200;
