//! Sends one request over HTTP/1, or as gRPC over HTTP/2.

use std::fs;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Certificate, Client, ClientBuilder, Identity, Response, Url};
use windlass_tool::http_client::{client_builder_for, with_connect_limit};

use super::CONNECT_MAX;
use super::grpc;
use super::headers_program::ProgramHeaders;
use super::send_result::SendResult;
use crate::config::{ClientCertificate, OtlpProtocol, OtlpTarget};

/// A batch to send to a collector.
pub(super) struct OutgoingRequest {
    pub(super) target: Arc<OtlpTarget>,
    pub(super) client: Arc<OnceLock<Result<Client, String>>>,
    pub(super) body: Vec<u8>,
}

impl OutgoingRequest {
    /// Sends it within the target's timeout.
    pub(super) async fn send(self, helper: &ProgramHeaders) -> SendResult {
        let limit = self.target.timeout;
        match tokio::time::timeout(limit, self.send_unbounded(helper)).await {
            Ok(result) => result,
            Err(_) => SendResult::retry(format!("no answer within {} s", limit.as_secs_f32())),
        }
    }

    async fn send_unbounded(self, helper: &ProgramHeaders) -> SendResult {
        let Self { target, client, body } = self;
        let client = match client.get_or_init(|| build_client(&target)) {
            Ok(client) => client,
            Err(why) => return SendResult::Refused { why: why.clone() },
        };
        let mut headers = target.headers.clone();
        if target.protocol != OtlpProtocol::Grpc {
            match helper.current().await {
                Ok(more) => headers = headers.merge(more),
                Err(why) => return SendResult::retry(why),
            }
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers.iter() {
            let parsed =
                HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
            let Some((name, mut value)) = parsed else {
                return SendResult::Refused { why: format!("the header {name} cannot be sent") };
            };
            value.set_sensitive(true);
            map.insert(name, value);
        }
        let (content_type, body) = match target.protocol {
            OtlpProtocol::Grpc => ("application/grpc", grpc::frame(&body)),
            OtlpProtocol::HttpJson => ("application/json", body),
            OtlpProtocol::HttpProtobuf => ("application/x-protobuf", body),
        };
        map.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if target.protocol == OtlpProtocol::Grpc {
            map.insert("te", HeaderValue::from_static("trailers"));
        }
        match client.post(&target.url).headers(map).body(body).send().await {
            Err(error) => SendResult::retry(describe_error(&error)),
            Ok(response) => match target.protocol {
                OtlpProtocol::Grpc => grpc::read_status(response).await,
                OtlpProtocol::HttpJson | OtlpProtocol::HttpProtobuf => read_http(response).await,
            },
        }
    }
}

/// Drains a short response, so that the connection can be reused; a long one is abandoned.
async fn read_http(mut response: Response) -> SendResult {
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let result = SendResult::from_status(response.status().as_u16(), retry_after);
    let mut read = 0;
    let drain = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            read += chunk.len();
            if read > ANSWER_BYTES_MAX {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(ANSWER_MAX, drain).await;
    result
}

fn build_client(target: &OtlpTarget) -> Result<Client, String> {
    let url = Url::parse(&target.url).map_err(|error| error.to_string())?;
    let mut builder = with_connect_limit(client_builder_for(&url), CONNECT_MAX);
    if target.protocol == OtlpProtocol::Grpc {
        builder = builder.http2_prior_knowledge();
    }
    if url.scheme() == "https" {
        builder = with_certificates(builder, &target.certificate)?;
    }
    builder.build().map_err(|error| describe_error(&error))
}

fn with_certificates(
    mut builder: ClientBuilder,
    files: &ClientCertificate,
) -> Result<ClientBuilder, String> {
    let read = |path: &str| fs::read(path).map_err(|error| format!("{path}: {error}"));
    if let Some(path) = &files.trusted {
        let trusted = Certificate::from_pem_bundle(&read(path)?);
        let trusted = trusted.map_err(|_| format!("{path}: no certificates in PEM form"))?;
        builder = builder.tls_certs_merge(trusted);
    }
    match (&files.certificate, &files.key) {
        (None, None) => {}
        (None, Some(key)) => return Err(format!("{key}: a key without a client certificate")),
        // One file may hold both.
        (Some(certificate), key) => {
            let mut pem = read(certificate)?;
            if let Some(key) = key {
                let key_pem = read(key)?;
                if is_encrypted(&key_pem) {
                    return Err(format!(
                        "{key}: keys with a passphrase are not supported; write one without by \
                         `openssl pkey`"
                    ));
                }
                pem.push(b'\n');
                pem.extend(key_pem);
            }
            let identity = Identity::from_pem(&pem);
            let identity = identity
                .map_err(|_| format!("{certificate}: no certificate and key in PEM form"))?;
            builder = builder.identity(identity);
        }
    }
    Ok(builder)
}

fn is_encrypted(pem: &[u8]) -> bool {
    String::from_utf8_lossy(pem).lines().any(|line| {
        line.starts_with("-----BEGIN ENCRYPTED") || line.starts_with("Proc-Type: 4,ENCRYPTED")
    })
}

/// Omits the URL, which may contain a secret.
fn describe_error(error: &reqwest::Error) -> String {
    use std::error::Error;
    let mut words = "the collector cannot be reached".to_owned();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) && !text.contains("http") {
            words = format!("{words}: {text}");
        }
        cause = error.source();
    }
    words
}

/// Limit on the response, whose content is not used.
pub(super) const ANSWER_BYTES_MAX: usize = 64 * 1024;
const ANSWER_MAX: Duration = Duration::from_secs(1);
