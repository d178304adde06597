//! The file of certificates that the user trusts besides those of the system.

use std::path::Path;

use crate::environment::{EnvLookup, read_variable};
use crate::regular_file::read_regular;
use crate::words;

/// Hands what is in the file to `trust`. Returns a warning if it cannot be used: a client without it
/// still reaches every server of the world.
pub fn load_extra_certificates(
    lookup: &impl EnvLookup,
    trust: impl FnOnce(&[u8]) -> Result<(), String>,
) -> Option<String> {
    let path = read_variable(lookup, EXTRA_CERTIFICATES).ok().flatten()?;
    let read = read_regular(Path::new(&path), CERTIFICATES_BYTES_MAX);
    let trusted = read.map_err(|error| error.to_string()).and_then(|pem| trust(&pem));
    trusted
        .err()
        .map(|problem| words::describe_unused_certificates(EXTRA_CERTIFICATES, &path, &problem))
}

const EXTRA_CERTIFICATES: &str = "NODE_EXTRA_CA_CERTS";
const CERTIFICATES_BYTES_MAX: u64 = 16 * 1024 * 1024;
