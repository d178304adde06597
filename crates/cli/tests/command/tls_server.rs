//! A server with a certificate of its own, which answers every request, and may be slow to say who it is.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion,
};

use crate::fixture::{ManualServer, PATIENCE};

pub(crate) struct TlsServer {
    pub(crate) url: String,
    /// The certificate, as a file has it.
    pub(crate) pem: String,
    /// A client has said hello.
    pub(crate) greeted: Receiver<()>,
    /// Lets the server answer the hello.
    pub(crate) go_on: Sender<()>,
}

impl TlsServer {
    pub(crate) fn start(versions: &[&'static SupportedProtocolVersion]) -> Self {
        Self::start_for(versions, None)
    }

    /// Answers only the client with this certificate, if there is one.
    pub(crate) fn start_for(
        versions: &[&'static SupportedProtocolVersion],
        client: Option<&CertificateDer<'static>>,
    ) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
        let made = made.expect("a certificate");
        let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .expect("versions");
        let config = match client {
            None => config.with_no_client_auth(),
            Some(client) => {
                let mut known = RootCertStore::empty();
                known.add(client.clone()).expect("a certificate");
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(known), provider);
                config.with_client_cert_verifier(verifier.build().expect("a verifier"))
            }
        };
        let config = config
            .with_single_cert(vec![made.cert.der().clone()], key.expect("a key"))
            .expect("a server");
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (hello, greeted) = channel();
        let (go_on, gate) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that does not trust the certificate hangs up.
                let _ = serve(stream, &config, &hello, &gate);
            }
        });
        Self { url: format!("https://localhost:{port}"), pem: made.cert.pem(), greeted, go_on }
    }
}

fn serve(
    mut stream: TcpStream,
    config: &Arc<ServerConfig>,
    hello: &Sender<()>,
    gate: &Receiver<()>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut connection = ServerConnection::new(Arc::clone(config)).expect("TLS");
    connection.read_tls(&mut stream)?;
    let _ = hello.send(());
    let _ = gate.recv_timeout(PATIENCE);
    connection.process_new_packets().map_err(std::io::Error::other)?;
    let mut encrypted = StreamOwned::new(connection, stream);
    let mut request = Vec::new();
    let mut chunk = [0; 64 * 1024];
    // The body is JSON, and the last to come.
    while !request.ends_with(b"}") {
        match encrypted.read(&mut chunk)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&chunk[..read]),
        }
    }
    encrypted.write_all(ManualServer::answer_text("ok").as_bytes())?;
    encrypted.conn.send_close_notify();
    encrypted.flush()
}
