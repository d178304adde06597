//! The gateway's end of live text: follows a session at the worker that runs it.

use std::net::SocketAddr;

use reqwest::header::AUTHORIZATION;
use reqwest::{Certificate, Client};

use super::owner_server::{OWNER_NAME, SILENCE};
use super::session_tail::SessionTail;
use crate::store::LiveEndpoint;

/// Copies the items of a session until the worker ends the stream or the connection breaks.
pub(crate) async fn copy_from_owner(
    endpoint: &LiveEndpoint,
    session: &str,
    tail: &SessionTail,
) -> Result<(), String> {
    let address: SocketAddr =
        endpoint.address.parse().map_err(|_| "its address is not one".to_owned())?;
    let words = |error: reqwest::Error| error.to_string();
    let certificate = Certificate::from_pem(endpoint.certificate.as_bytes()).map_err(words)?;
    // Fails if a provider is already installed, which is then the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .no_proxy()
        .https_only(true)
        .redirect(reqwest::redirect::Policy::none())
        .tls_certs_only([certificate])
        .resolve(OWNER_NAME, address)
        .connect_timeout(SILENCE)
        .read_timeout(SILENCE * 3)
        .build()
        .map_err(words)?;
    let port = address.port();
    let url = format!("https://{OWNER_NAME}:{port}/live/{session}/{}", tail.epoch);
    let request = client.get(url).header(AUTHORIZATION, format!("Bearer {}", endpoint.key));
    let mut response = request.send().await.and_then(reqwest::Response::error_for_status);
    let response = response.as_mut().map_err(|error| error.to_string())?;
    let mut buffer = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(words)? {
        buffer.extend_from_slice(&piece);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            if line.len() > 1 {
                let item = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
                tail.insert(item);
            }
        }
        if buffer.len() > LINE_BYTES_MAX {
            return Err("it sends a line that is too long".to_owned());
        }
    }
    Ok(())
}

/// A frame of the largest size, every character of it escaped.
const LINE_BYTES_MAX: usize = 4 << 20;
