//! Asks the place of releases: the list of one, then a file of it, whose size and checksum must be right
//! before anything looks inside.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use ring::digest::{Context, SHA256};
use windlass_host::command_error::CommandError;
use windlass_host::environment::{EnvLookup, parse_local_address};
use windlass_host::extra_certificates::load_extra_certificates;
use windlass_tool::http_client::{client_builder_for, trust_certificates, with_connect_limit};
use windlass_vocabulary::to_hex;

use crate::RELEASES_VARIABLE;
use crate::manifest::{ReleaseFile, packed_program_name};
use crate::release_version::ReleaseVersion;

const MANIFEST: &str = "manifest.txt";
const MANIFEST_BYTES_MAX: usize = 256 * 1024;
const CONNECT_MAX: Duration = Duration::from_secs(20);
/// A server that says nothing for so long is gone.
const SILENCE_MAX: Duration = Duration::from_secs(30);
const REDIRECTS_MAX: usize = 5;

pub(crate) struct ReleaseServer {
    base: String,
    client: Client,
}

impl ReleaseServer {
    pub(crate) fn find(lookup: &impl EnvLookup) -> Result<Self, CommandError> {
        let value = lookup(RELEASES_VARIABLE).and_then(|value| value.into_string().ok());
        let Some(base) = value.filter(|value| !value.is_empty()) else {
            return Err(CommandError::failure(format!(
                "there is no address of releases: set {RELEASES_VARIABLE}, see docs/install.md"
            )));
        };
        let wrong = |why: &str| CommandError::usage(format!("{RELEASES_VARIABLE}: {why}"));
        let url = Url::parse(&base).map_err(|error| wrong(&error.to_string()))?;
        let is_local = parse_local_address(&base).is_some();
        if url.scheme() != "https" && !(url.scheme() == "http" && is_local) {
            return Err(wrong("must begin with https://; plain http is only for this machine"));
        }
        if let Some(warning) = load_extra_certificates(lookup, trust_certificates) {
            eprintln!("{warning}");
        }
        let client = build_client(&url)
            .map_err(|error| CommandError::failure(format!("no HTTP client: {error}")))?;
        Ok(Self { base: base.trim_end_matches('/').to_owned(), client })
    }

    pub(crate) async fn fetch_manifest(
        &self,
        wanted: Option<&ReleaseVersion>,
    ) -> Result<ReleaseFile, CommandError> {
        let url = match wanted {
            Some(version) => format!("{}/download/v{version}/{MANIFEST}", self.base),
            None => format!("{}/latest/download/{MANIFEST}", self.base),
        };
        let mut response = self.request(&url).await?;
        let mut body = Vec::new();
        while let Some(piece) = read_piece(&mut response, &url).await? {
            body.extend_from_slice(&piece);
            if body.len() > MANIFEST_BYTES_MAX {
                return Err(CommandError::failure(format!("{url} is no list of a release")));
            }
        }
        let text = String::from_utf8_lossy(&body);
        let release = ReleaseFile::parse(&text, &packed_program_name())
            .map_err(|why| CommandError::failure(format!("{url}: {why}")))?;
        match wanted {
            Some(wanted) if *wanted != release.version => Err(CommandError::failure(format!(
                "{url} is the list of {}, not of {wanted}",
                release.version
            ))),
            _ => Ok(release),
        }
    }

    /// Writes the file of the release to `path`; returns only if every byte is right.
    pub(crate) async fn download(
        &self,
        release: &ReleaseFile,
        path: &Path,
    ) -> Result<(), CommandError> {
        let url = format!("{}/download/v{}/{}", self.base, release.version, release.name);
        let mut response = self.request(&url).await?;
        let refused = |error: &std::io::Error| {
            CommandError::failure(format!("{} cannot be written: {error}", path.display()))
        };
        let mut file = File::create_new(path).map_err(|error| refused(&error))?;
        let mut hash = Context::new(&SHA256);
        let mut written = 0_u64;
        while let Some(piece) = read_piece(&mut response, &url).await? {
            written += piece.len() as u64;
            if written > release.bytes {
                break;
            }
            hash.update(&piece);
            file.write_all(&piece).map_err(|error| refused(&error))?;
        }
        file.sync_all().map_err(|error| refused(&error))?;
        if written != release.bytes {
            return Err(CommandError::failure(format!(
                "{url} has {written} bytes, not {}: the download was cut or is another file; try again",
                release.bytes
            )));
        }
        let sha256 = to_hex(hash.finish().as_ref());
        if sha256 != release.sha256 {
            return Err(CommandError::failure(format!(
                "{url} has the checksum {sha256}, not {}: nothing of it was run",
                release.sha256
            )));
        }
        Ok(())
    }

    async fn request(&self, url: &str) -> Result<Response, CommandError> {
        let sent = tokio::time::timeout(SILENCE_MAX, self.client.get(url).send()).await;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(describe_failure(url, &error)),
            Err(_) => return Err(silence_error(url)),
        };
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(CommandError::failure(format!(
                "{url} answered {status}; is {RELEASES_VARIABLE} right?"
            ))),
        }
    }
}

async fn read_piece(
    response: &mut Response,
    url: &str,
) -> Result<Option<impl AsRef<[u8]> + std::ops::Deref<Target = [u8]>>, CommandError> {
    match tokio::time::timeout(SILENCE_MAX, response.chunk()).await {
        Ok(Ok(piece)) => Ok(piece),
        Ok(Err(error)) => Err(describe_failure(url, &error)),
        Err(_) => Err(silence_error(url)),
    }
}

fn describe_failure(url: &str, error: &reqwest::Error) -> CommandError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    CommandError::failure(format!("{url} cannot be read: {cause}; nothing was changed"))
}

fn silence_error(url: &str) -> CommandError {
    let seconds = SILENCE_MAX.as_secs();
    CommandError::failure(format!("{url}: no byte for {seconds} seconds; nothing was changed"))
}

fn build_client(url: &Url) -> Result<Client, reqwest::Error> {
    let builder = client_builder_for(url)
        .redirect(Policy::limited(REDIRECTS_MAX))
        .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")));
    with_connect_limit(builder, CONNECT_MAX).build()
}
