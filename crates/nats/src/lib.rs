//! A client of the NATS protocol for what live text needs: publish, subscribe, TLS, and no more. What
//! is sent and what it means is decided by the caller.
//! <https://docs.nats.io/reference/reference-protocols/nats-protocol>

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter,
    ReadHalf, WriteHalf,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A server, and who connects to it.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsServer {
    host: String,
    port: u16,
    user: Option<String>,
    /// The password, or a token if there is no user.
    secret: Option<String>,
    /// Speak TLS, or nothing.
    must_encrypt: bool,
    /// The certificates to trust; without them those of the system.
    authorities: Option<Vec<CertificateDer<'static>>>,
}

impl std::fmt::Debug for NatsServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

impl NatsServer {
    /// Parses `nats://HOST`, `nats://HOST:PORT`, the same with `tls://`, with `USER:PASSWORD@` or `TOKEN@` before the host.
    pub fn parse(url: &str) -> Result<Self, String> {
        let (must_encrypt, rest) = match url.split_once("://") {
            Some(("nats", rest)) => (false, rest),
            Some(("tls", rest)) => (true, rest),
            _ => return Err("it must begin with nats:// or tls://".to_owned()),
        };
        let rest = rest.trim_end_matches('/');
        let (login, place) = rest.rsplit_once('@').map_or((None, rest), |(l, p)| (Some(l), p));
        let decode = |text: &str| {
            percent_decode_str(text)
                .decode_utf8()
                .map(|text| text.into_owned())
                .map_err(|_| "its login is not UTF-8".to_owned())
        };
        let (user, secret) = match login.map(|login| login.split_once(':').ok_or(login)) {
            None => (None, None),
            Some(Ok((user, password))) => (Some(decode(user)?), Some(decode(password)?)),
            Some(Err(token)) => (None, Some(decode(token)?)),
        };
        let is_port =
            |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let (host, port) = match place.rsplit_once(':').filter(|(_, port)| is_port(port)) {
            Some((host, port)) => (host, port.parse().map_err(|_| format!("{port} is no port"))?),
            None => (place, DEFAULT_PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains(['/', '?', '#', ' ', ',']) {
            return Err(format!("`{host}` is not the name of one host"));
        }
        let host = host.to_owned();
        Ok(Self { host, port, user, secret, must_encrypt, authorities: None })
    }

    /// With the certificates of this PEM file.
    pub fn with_authorities(self, path: &Path) -> Result<Self, String> {
        let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        let found: Vec<_> = read.map_err(|error| format!("it cannot be read: {error}"))?;
        match found.is_empty() {
            true => Err("it has no certificate; it must be a PEM file".to_owned()),
            false => Ok(Self { authorities: Some(found), ..self }),
        }
    }

    /// Connects and logs in.
    pub async fn connect(&self) -> Result<NatsConnection, String> {
        tokio::time::timeout(CONNECT_WAIT, self.connect_unbounded())
            .await
            .unwrap_or_else(|_| Err("it does not answer".to_owned()))
    }

    async fn connect_unbounded(&self) -> Result<NatsConnection, String> {
        let words = |error: std::io::Error| error.to_string();
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(words)?;
        stream.set_nodelay(true).map_err(words)?;
        let mut reader = NatsReader { reader: BufReader::new(stream), payload_max: 0 };
        let Some(NatsMessage::Info(info)) = reader.next().await? else {
            return Err("it is not a NATS server".to_owned());
        };
        let has = |name: &str| info.get(name).and_then(Value::as_bool) == Some(true);
        let is_encrypted = has("tls_required") || self.must_encrypt;
        if is_encrypted && !has("tls_required") && !has("tls_available") {
            return Err("it does not offer TLS; name it with nats:// if that is wanted".to_owned());
        }
        let stream: NatsStream = match is_encrypted {
            true => self.encrypt(reader.reader).await?,
            false => Box::new(reader.reader),
        };
        let (reader, writer) = tokio::io::split(stream);
        let mut reader = NatsReader { reader: BufReader::new(reader), payload_max: 0 };
        let payload_max = info.get("max_payload").and_then(Value::as_u64);
        let payload_max = payload_max.and_then(|most| usize::try_from(most).ok());
        reader.payload_max = PAYLOAD_BYTES_MAX;
        let mut writer = NatsWriter {
            writer: BufWriter::new(writer),
            payload_max: payload_max.unwrap_or(0).min(PAYLOAD_BYTES_MAX),
        };
        let mut login = json!({ "verbose": false, "pedantic": false, "tls_required": is_encrypted,
            "name": "windlass-fleet", "lang": "rust", "version": env!("CARGO_PKG_VERSION"),
            "protocol": 1 });
        if let Some(fields) = login.as_object_mut() {
            let name = if self.user.is_some() { "pass" } else { "auth_token" };
            for (name, value) in [("user", &self.user), (name, &self.secret)] {
                if let Some(value) = value {
                    fields.insert(name.to_owned(), json!(value));
                }
            }
        }
        writer.write(format!("CONNECT {login}\r\nPING\r\n").as_bytes()).await?;
        writer.flush().await?;
        // An error about the login comes before the answer to the ping.
        loop {
            match reader.next().await? {
                Some(NatsMessage::Pong) => return Ok(NatsConnection { reader, writer }),
                Some(NatsMessage::Error(words)) => return Err(words),
                Some(NatsMessage::Ping | NatsMessage::Info(_) | NatsMessage::Delivery(_)) => {}
                None => return Err("it closed the connection".to_owned()),
            }
        }
    }

    /// Nothing was sent before: the login is for the server whose certificate is trusted.
    async fn encrypt(&self, stream: BufReader<TcpStream>) -> Result<NatsStream, String> {
        // It would be taken for a part of what comes encrypted.
        if !stream.buffer().is_empty() {
            return Err("it sends more than it may before TLS".to_owned());
        }
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            Some(own) => own.iter().cloned().for_each(|one| drop(roots.add(one))),
            None => {
                let system = rustls_native_certs::load_native_certs().certs;
                system.into_iter().for_each(|one| drop(roots.add(one)));
            }
        }
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(self.host.clone()).map_err(|error| error.to_string())?;
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream.into_inner());
        let stream = connecting.await.map_err(|error| {
            format!("TLS: {error}; name the file of its authority with --live-ca")
        })?;
        Ok(Box::new(stream))
    }
}

pub trait AnyStream: AsyncRead + AsyncWrite + std::fmt::Debug + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + std::fmt::Debug + Send + Unpin> AnyStream for T {}
pub type NatsStream = Box<dyn AnyStream>;

#[derive(Debug)]
pub struct NatsConnection {
    pub reader: NatsReader,
    pub writer: NatsWriter,
}

#[derive(Clone, Debug, PartialEq)]
pub enum NatsMessage {
    Info(Value),
    Ping,
    Pong,
    Error(String),
    Delivery(NatsDelivery),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsDelivery {
    pub subscription: u64,
    pub reply_to: Option<String>,
    pub payload: Vec<u8>,
}

#[derive(Debug)]
pub struct NatsReader<R = ReadHalf<NatsStream>> {
    reader: BufReader<R>,
    payload_max: usize,
}

impl<R: AsyncRead + Unpin> NatsReader<R> {
    /// The next message; `None` at the end. Not cancel safe.
    pub async fn next(&mut self) -> Result<Option<NatsMessage>, String> {
        loop {
            let mut line = Vec::new();
            let mut limited = (&mut self.reader).take(LINE_BYTES_MAX);
            limited.read_until(b'\n', &mut line).await.map_err(|error| error.to_string())?;
            if line.is_empty() {
                return Ok(None);
            }
            let line = line.strip_suffix(b"\r\n").ok_or("it sends no whole line")?;
            let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
            let (verb, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
            let message = match verb.to_ascii_uppercase().as_str() {
                "PING" => NatsMessage::Ping,
                "PONG" => NatsMessage::Pong,
                "INFO" => {
                    let info = serde_json::from_str(rest).map_err(|error| error.to_string())?;
                    NatsMessage::Info(info)
                }
                "-ERR" => NatsMessage::Error(rest.trim_matches('\'').to_owned()),
                "MSG" => NatsMessage::Delivery(self.read_delivery(rest).await?),
                "+OK" => continue,
                _ => return Err("it speaks another protocol".to_owned()),
            };
            return Ok(Some(message));
        }
    }

    async fn read_delivery(&mut self, head: &str) -> Result<NatsDelivery, String> {
        let wrong = || "it sends a message without a length".to_owned();
        let parts: Vec<&str> = head.split_ascii_whitespace().collect();
        let (subscription, reply_to, length) = match parts.as_slice() {
            [_, subscription, length] => (*subscription, None, *length),
            [_, subscription, reply_to, length] => (*subscription, Some(*reply_to), *length),
            _ => return Err(wrong()),
        };
        let length: usize = length.parse().map_err(|_| wrong())?;
        if length > self.payload_max {
            return Err("it sends a message that is too long".to_owned());
        }
        let mut payload = vec![0; length + 2];
        self.reader.read_exact(&mut payload).await.map_err(|error| error.to_string())?;
        payload.truncate(length);
        Ok(NatsDelivery {
            subscription: subscription.parse().map_err(|_| wrong())?,
            reply_to: reply_to.map(str::to_owned),
            payload,
        })
    }
}

#[derive(Debug)]
pub struct NatsWriter {
    writer: BufWriter<WriteHalf<NatsStream>>,
    pub payload_max: usize,
}

impl NatsWriter {
    /// Subjects are made of ids, and have no blanks.
    pub async fn publish(
        &mut self,
        subject: &str,
        reply_to: Option<&str>,
        payload: &[u8],
    ) -> Result<(), String> {
        let reply_to = reply_to.map(|reply_to| format!("{reply_to} ")).unwrap_or_default();
        let head = format!("PUB {subject} {reply_to}{}\r\n", payload.len());
        self.write(head.as_bytes()).await?;
        self.write(payload).await?;
        self.write(b"\r\n").await
    }

    pub async fn subscribe(&mut self, subject: &str, number: u64) -> Result<(), String> {
        self.write(format!("SUB {subject} {number}\r\n").as_bytes()).await
    }

    pub async fn unsubscribe(&mut self, number: u64) -> Result<(), String> {
        self.write(format!("UNSUB {number}\r\n").as_bytes()).await
    }

    pub async fn ping(&mut self) -> Result<(), String> {
        self.write(b"PING\r\n").await?;
        self.flush().await
    }

    pub async fn pong(&mut self) -> Result<(), String> {
        self.write(b"PONG\r\n").await?;
        self.flush().await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        in_time(self.writer.write_all(bytes)).await
    }

    pub async fn flush(&mut self) -> Result<(), String> {
        in_time(self.writer.flush()).await
    }
}

async fn in_time(written: impl Future<Output = std::io::Result<()>>) -> Result<(), String> {
    match tokio::time::timeout(WRITE_WAIT, written).await {
        Ok(written) => written.map_err(|error| error.to_string()),
        Err(_) => Err("it takes nothing".to_owned()),
    }
}

const DEFAULT_PORT: u16 = 4222;
const CONNECT_WAIT: Duration = Duration::from_secs(5);
const WRITE_WAIT: Duration = Duration::from_secs(10);
/// The first line lists all servers of a cluster.
const LINE_BYTES_MAX: u64 = 256 << 10;
const PAYLOAD_BYTES_MAX: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_all(bytes: &[u8]) -> Result<Vec<NatsMessage>, String> {
        let mut reader = NatsReader { reader: BufReader::new(bytes), payload_max: 100 };
        let mut messages = Vec::new();
        while let Some(message) = reader.next().await? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[tokio::test]
    async fn what_a_server_sends_is_read_and_nonsense_is_refused() {
        let bytes = b"INFO {\"max_payload\":7}\r\n+OK\r\nPING\r\nMSG a.b 9 11\r\nhello\r\nyou!\r\n\
            msg a 3 _INBOX.1 0\r\n\r\n-ERR 'Unknown'\r\nPONG\r\n";
        let messages = read_all(bytes).await.unwrap();
        let delivery = |subscription, reply_to: Option<&str>, payload: &[u8]| {
            let reply_to = reply_to.map(str::to_owned);
            let payload = payload.to_vec();
            NatsMessage::Delivery(NatsDelivery { subscription, reply_to, payload })
        };
        let expected = [
            NatsMessage::Info(json!({ "max_payload": 7 })),
            NatsMessage::Ping,
            delivery(9, None, b"hello\r\nyou!"),
            delivery(3, Some("_INBOX.1"), b""),
            NatsMessage::Error("Unknown".to_owned()),
            NatsMessage::Pong,
        ];
        assert_eq!(messages, expected);
        for wrong in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"MSG a 1 101\r\n",
            b"MSG a 1 99999999999999999999\r\n",
            b"MSG a\r\n",
            b"MSG a x 1\r\nx\r\n",
            b"MSG a 1 5\r\nx\r\n",
            b"INFO {\r\n",
            b"PING",
            b"\xff\r\n",
        ] {
            assert!(read_all(wrong).await.is_err(), "{:?}", String::from_utf8_lossy(wrong));
        }
    }

    #[test]
    fn servers_are_named_by_urls() {
        let server = NatsServer::parse("nats://me:s%40cret@[::1]:4333/").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("::1", 4333));
        assert_eq!(server.user.as_deref(), Some("me"));
        assert_eq!(server.secret.as_deref(), Some("s@cret"));
        assert!(!format!("{server:?}").contains("cret"));
        let server = NatsServer::parse("nats://token@nats.example").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("nats.example", 4222));
        assert_eq!((server.user, server.secret.as_deref()), (None, Some("token")));
        assert!(!server.must_encrypt && NatsServer::parse("tls://a").unwrap().must_encrypt);
        for wrong in [
            "nats://",
            "nats://a,b",
            "nats://a/b",
            "http://a",
            "tls://",
            "nats://a:99999",
            "nats://:1",
        ] {
            assert!(NatsServer::parse(wrong).is_err(), "{wrong}");
        }
    }
}
