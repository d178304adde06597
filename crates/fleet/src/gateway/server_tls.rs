//! TLS of the gateway: the certificate and key from files, read again when they change, so that a
//! renewed certificate is used without a restart.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::worker::report_line;

/// PEM files: the certificate with its chain, and its private key.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug)]
pub(crate) struct ServerTls {
    files: TlsFiles,
    loaded: Mutex<LoadedTls>,
}

#[derive(Debug)]
struct LoadedTls {
    config: Arc<ServerConfig>,
    /// When the files were changed last.
    stamps: [Option<SystemTime>; 2],
    checked: Instant,
}

impl ServerTls {
    pub(crate) fn load(files: TlsFiles) -> Result<Self, String> {
        // Read first: a change meanwhile is noticed later.
        let stamps = files.read_stamps();
        let config = files.load()?;
        let loaded = LoadedTls { config, stamps, checked: Instant::now() };
        Ok(Self { files, loaded: Mutex::new(loaded) })
    }

    /// `None` if the client does not complete the handshake in time.
    pub(crate) async fn accept(&self, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        let acceptor = TlsAcceptor::from(self.current_config());
        tokio::time::timeout(HANDSHAKE_WAIT, acceptor.accept(stream)).await.ok()?.ok()
    }

    fn current_config(&self) -> Arc<ServerConfig> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.checked.elapsed() > CHECK_INTERVAL {
            loaded.checked = Instant::now();
            let stamps = self.files.read_stamps();
            if stamps != loaded.stamps {
                match self.files.load() {
                    Ok(config) => {
                        loaded.config = config;
                        loaded.stamps = stamps;
                        report_line("the certificate was read again");
                    }
                    // Perhaps only one of the files is new yet: tried again at the next check.
                    Err(words) => report_line(&format!("the old certificate stays: {words}")),
                }
            }
        }
        Arc::clone(&loaded.config)
    }
}

impl TlsFiles {
    fn read_stamps(&self) -> [Option<SystemTime>; 2] {
        let stamp = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
        [stamp(&self.certificate), stamp(&self.key)]
    }

    fn load(&self) -> Result<Arc<ServerConfig>, String> {
        let cert = self.certificate.display();
        let key = self.key.display();
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| format!("--tls-cert {cert} cannot be read: {error}"))?;
        if chain.is_empty() {
            return Err(format!("--tls-cert {cert} has no certificate; it must be a PEM file"));
        }
        let private = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| format!("--tls-key {key} cannot be read: {error}"))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(|error| format!("--tls-cert {cert} and --tls-key {key}: {error}"))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
