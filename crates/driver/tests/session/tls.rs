//! Encrypted connections: a certificate somebody vouches for works, any other is refused for good.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use windlass_rehearsal::Answer as Says;
use windlass_vocabulary::{FailureKind, Notice, Terminal};

use crate::stage::{Setting, again, assert_ended, block_on, is_again, rehearse, until};

#[test]
fn trust_decides() {
    if is_again() {
        let directory = std::env::var_os("CERTIFICATES").unwrap();
        return block_on(ask_both(Path::new(&directory)));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for name in ["known", "unknown"] {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(path.join(format!("{name}.pem")), made.cert.pem()).unwrap();
        let key = made.signing_key.serialize_pem();
        std::fs::write(path.join(format!("{name}.key")), key).unwrap();
    }
    // Which certificates the system trusts is read from its environment, once per process.
    let variables = [("SSL_CERT_FILE", path.join("known.pem")), ("CERTIFICATES", path.to_owned())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_path()));
    again("tls::trust_decides", "unset SSL_CERT_DIR", &variables);
}

async fn ask_both(directory: &Path) {
    for (name, terminal) in [("known", Terminal::Completed), ("unknown", Terminal::ModelError)] {
        let rehearsal = rehearse([Says::text("in confidence")]).await;
        let url = encrypted(directory, name, rehearsal.address()).await;
        // Retries are on: a certificate that is not trusted must not use them.
        let (session, mut notices) = Setting::default().builder(&url).start().unwrap();
        session.submit("psst").unwrap();
        let told = until(&mut notices, |notice| matches!(notice, Notice::RunEnded(_))).await;
        let Some(Notice::RunEnded(ending)) = told.last() else { panic!("no ending") };
        assert_ended(ending, terminal);
        let kind = ending.failure.as_ref().map(|failure| failure.kind);
        let expected = (name == "unknown").then_some(FailureKind::Misconfigured);
        assert_eq!(kind, expected);
        assert_eq!(rehearsal.request_count(), usize::from(name == "known"));
    }
}

/// Speaks TLS with the certificate of this name and passes on what it hears.
async fn encrypted(directory: &Path, name: &str, to: std::net::SocketAddr) -> String {
    let chain = vec![CertificateDer::from_pem_file(directory.join(format!("{name}.pem"))).unwrap()];
    let key = PrivateKeyDer::from_pem_file(directory.join(format!("{name}.key"))).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust us hangs up in the middle of the greeting.
            if let Ok(mut client) = acceptor.accept(stream).await {
                let mut server = tokio::net::TcpStream::connect(to).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            }
        }
    });
    url
}
