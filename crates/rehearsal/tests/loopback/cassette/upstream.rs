//! A server that sends exactly the bytes it is told to, piece by piece, and keeps what it was sent.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// One thing to do on a connection after the request has come.
#[derive(Clone, Debug)]
pub(super) enum Do {
    /// Send these bytes at once.
    Send(Vec<u8>),
    /// Wait for [`Upstream::go_on`].
    Wait,
    /// Send chunks until nobody takes them any more, say so, and wait for [`Upstream::go_on`].
    Flood(Sender<()>),
}

/// The server. It ends when every connection it was told to serve is over.
pub(super) struct Upstream {
    pub(super) url: String,
    go: Sender<()>,
    thread: JoinHandle<Vec<String>>,
}

impl Upstream {
    /// Serves one connection for each list, one request on each, then closes it.
    pub(super) fn new(connections: Vec<Vec<Do>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (go, going) = channel();
        let thread = std::thread::spawn(move || {
            connections.into_iter().map(|todo| serve(&listener, todo, &going)).collect()
        });
        Self { url, go, thread }
    }

    /// A server that gives one answer, whole.
    pub(super) fn answering(head: &str, body: &[u8]) -> Self {
        let mut bytes = format!("{head}content-length: {}\r\n\r\n", body.len()).into_bytes();
        bytes.extend_from_slice(body);
        Self::new(vec![vec![Do::Send(bytes)]])
    }

    pub(super) fn go_on(&self) {
        self.go.send(()).expect("somebody waits");
    }

    /// What it was sent, one text for each connection.
    pub(super) fn requests(self) -> Vec<String> {
        drop(self.go);
        self.thread.join().expect("a server")
    }
}

fn serve(listener: &TcpListener, todo: Vec<Do>, going: &Receiver<()>) -> String {
    let (mut stream, _) = listener.accept().expect("a connection");
    stream.set_nodelay(true).expect("send at once");
    stream.set_read_timeout(Some(Duration::from_secs(240))).expect("set a deadline");
    let request = read(&mut stream);
    for one in todo {
        match one {
            Do::Send(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    break;
                }
            }
            Do::Wait => {
                if going.recv_timeout(Duration::from_secs(120)).is_err() {
                    break;
                }
            }
            Do::Flood(full) => {
                let taken_within = Some(Duration::from_millis(300));
                stream.set_write_timeout(taken_within).expect("set a deadline");
                let chunk = [&b"10000\r\n"[..], &[b' '; 0x10000], b"\r\n"].concat();
                while stream.write_all(&chunk).is_ok() {}
                full.send(()).expect("somebody waits");
                let _ = going.recv_timeout(Duration::from_secs(120));
            }
        }
    }
    request
}

fn read(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut part = [0; 16 * 1024];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |text| text.parse().expect("a length"));
            if body.len() >= length {
                return text;
            }
        }
        match stream.read(&mut part).expect("a request") {
            0 => return text,
            read => bytes.extend_from_slice(&part[..read]),
        }
    }
}

/// An answer in these chunks, each sent alone, with or without its end.
pub(super) fn chunked(chunks: &[&[u8]], is_ended: bool) -> Vec<Do> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut todo = vec![Do::Send(head.into())];
    for chunk in chunks {
        let mut bytes = format!("{:x}\r\n", chunk.len()).into_bytes();
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
        todo.push(Do::Send(bytes));
    }
    if is_ended {
        todo.push(Do::Send(b"0\r\n\r\n".to_vec()));
    }
    todo
}
