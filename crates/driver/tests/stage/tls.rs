//! Servers that speak TLS, and the process that trusts one of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Runs a test of this program again in a process that trusts the certificate `known`, and no
/// other. Inside, gives the directory of the certificates.
pub(crate) fn trusting(test: &str) -> Option<PathBuf> {
    if super::is_again() {
        return Some(std::env::var_os("CERTIFICATES").unwrap().into());
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
    super::again(test, "unset SSL_CERT_DIR", &variables);
    None
}

/// A server's side of TLS with the certificate of this name.
pub(crate) fn acceptor(directory: &Path, name: &str, protocols: &[&str]) -> TlsAcceptor {
    let chain = vec![CertificateDer::from_pem_file(directory.join(format!("{name}.pem"))).unwrap()];
    let key = PrivateKeyDer::from_pem_file(directory.join(format!("{name}.key"))).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}
