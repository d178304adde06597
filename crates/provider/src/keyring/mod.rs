//! The system's key ring, through the system's program: `secret-tool` (libsecret) or, on macOS,
//! `security`.
//!
//! A key is stored under its provider's name and the origin it may be sent to, so a provider whose
//! address was changed does not get it. Searching never opens a dialog and ends after
//! [`SEARCH_TIMEOUT`]; the user may be asked to unlock the key ring only if it is known to contain
//! a key. A key is never an argument of a program, where others could read it, and never shown.

mod secret_tool;
mod security;

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::external_program;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;

/// The name of a stored key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyringSlot<'a> {
    pub provider: &'a str,
    /// The origin to which the key may be sent.
    pub origin: &'a str,
}

/// The result of a search. Has no `Debug`, because it may contain a key.
pub enum KeyringSearchResult {
    Missing,
    /// A key that is returned only by `fetch`, perhaps after unlocking.
    Withheld,
    Key(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyringError {
    /// What is missing, and how to install it.
    Unavailable(&'static str),
    /// The user did not unlock it.
    Locked,
    Failed(String),
}

impl fmt::Display for KeyringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(what) => f.write_str(what),
            Self::Locked if IS_MACOS => {
                f.write_str("it is locked: unlock it with `security unlock-keychain`")
            }
            Self::Locked => f.write_str(
                "it is locked: log in to the desktop, or unlock it with `gnome-keyring-daemon \
                 --unlock` (it reads the password from standard input)",
            ),
            Self::Failed(words) => f.write_str(words),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keyring {
    /// Every key ring of a Linux desktop, through libsecret.
    SecretTool(PathBuf),
    Security,
}

impl Keyring {
    /// The key ring of this system. Starts nothing.
    pub fn detect(lookup: &impl EnvLookup) -> Result<Self, KeyringError> {
        if IS_MACOS {
            return Ok(Self::Security);
        }
        let program = find_on_path(secret_tool::PROGRAM, lookup);
        let program = program.ok_or(KeyringError::Unavailable(secret_tool::NOT_INSTALLED))?;
        match has_session_bus(lookup) {
            true => Ok(Self::SecretTool(program)),
            false => Err(KeyringError::Unavailable(secret_tool::NO_SESSION_BUS)),
        }
    }

    /// Searches without asking the user to unlock it.
    pub fn search(&self, slot: KeyringSlot<'_>) -> Result<KeyringSearchResult, KeyringError> {
        match self {
            Self::SecretTool(program) => {
                let ended = run_keyring_program(
                    program,
                    &secret_tool::search_args(slot),
                    None,
                    SEARCH_TIMEOUT,
                )?;
                secret_tool::parse_search(&ended)
            }
            Self::Security => {
                let ended = run_keyring_program(
                    security::PROGRAM,
                    &security::find_args(slot),
                    None,
                    SEARCH_TIMEOUT,
                )?;
                security::parse_search(&ended)
            }
        }
    }

    /// Returns a stored key, for which the user may have to unlock the key ring.
    pub fn fetch(&self, slot: KeyringSlot<'_>) -> Result<String, KeyringError> {
        match self {
            Self::SecretTool(program) => {
                let ended = run_keyring_program(
                    program,
                    &secret_tool::lookup_args(slot),
                    None,
                    UNLOCK_TIMEOUT,
                )?;
                secret_tool::check_status(&ended)?;
                read_key(&ended)
            }
            Self::Security => {
                let ended = run_keyring_program(
                    security::PROGRAM,
                    &security::read_args(slot),
                    None,
                    UNLOCK_TIMEOUT,
                )?;
                security::check_status(&ended)?;
                read_key(&ended)
            }
        }
    }

    /// Stores a key, and verifies that.
    pub fn store(&self, slot: KeyringSlot<'_>, key: &str) -> Result<(), KeyringError> {
        match self {
            Self::SecretTool(program) => {
                let ended = run_keyring_program(
                    program,
                    &secret_tool::store_args(slot),
                    Some(key),
                    UNLOCK_TIMEOUT,
                )?;
                secret_tool::check_status(&ended)?;
            }
            Self::Security => {
                let command = security::build_add_command(slot, key);
                let ended = run_keyring_program(
                    security::PROGRAM,
                    &["-i"],
                    Some(&command),
                    UNLOCK_TIMEOUT,
                )?;
                security::check_status(&ended)?;
            }
        }
        let stored = match self.search(slot)? {
            KeyringSearchResult::Key(stored) => Some(stored),
            KeyringSearchResult::Withheld => Some(self.fetch(slot)?),
            KeyringSearchResult::Missing => None,
        };
        match stored.as_deref() == Some(key) {
            true => Ok(()),
            false => Err(KeyringError::Failed("it does not return what was stored".to_owned())),
        }
    }

    /// Removes all keys of a provider, for every origin. Returns whether there was one.
    pub fn remove(&self, provider: &str) -> Result<bool, KeyringError> {
        match self {
            Self::SecretTool(program) => {
                let ended = run_keyring_program(
                    program,
                    &secret_tool::search_all_args(provider),
                    None,
                    SEARCH_TIMEOUT,
                )?;
                if matches!(secret_tool::parse_search(&ended)?, KeyringSearchResult::Missing) {
                    return Ok(false);
                }
                let ended = run_keyring_program(
                    program,
                    &secret_tool::clear_args(provider),
                    None,
                    UNLOCK_TIMEOUT,
                )?;
                secret_tool::check_status(&ended).map(|()| true)
            }
            Self::Security => {
                for removed in 0..SLOTS_MAX {
                    let command = security::delete_args(provider);
                    let ended =
                        run_keyring_program(security::PROGRAM, &command, None, UNLOCK_TIMEOUT)?;
                    if matches!(security::parse_search(&ended)?, KeyringSearchResult::Missing) {
                        return Ok(removed > 0);
                    }
                }
                Ok(true)
            }
        }
    }
}

/// Scheme, host and port of an address: where a key may be sent.
pub fn url_origin(base_url: &str) -> Option<String> {
    let (scheme, rest) = base_url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let authority = rest.split(['/', '?', '#']).next()?.to_ascii_lowercase();
    let usual = match scheme.as_str() {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    let authority = authority.strip_suffix(usual).unwrap_or(&authority);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    (!authority.is_empty() && authority.bytes().all(is_plain))
        .then(|| format!("{scheme}://{authority}"))
}

/// The key that a program printed. No output means that the key ring was not unlocked.
fn read_key(ended: &external_program::ProgramOutput) -> Result<String, KeyringError> {
    match String::from_utf8_lossy(&ended.stdout).trim() {
        "" => Err(KeyringError::Locked),
        key => Ok(key.to_owned()),
    }
}

fn run_keyring_program(
    program: impl AsRef<std::ffi::OsStr>,
    arguments: &[impl AsRef<std::ffi::OsStr>],
    input: Option<&str>,
    within: Duration,
) -> Result<external_program::ProgramOutput, KeyringError> {
    external_program::run_program(program, arguments, input, within).map_err(|failure| {
        let words = match failure {
            external_program::ProgramError::TimedOut(limit) => {
                format!("it does not answer within {} seconds", limit.as_secs())
            }
            failure @ external_program::ProgramError::NotStarted(_) => failure.to_string(),
        };
        KeyringError::Failed(words)
    })
}

/// Only absolute paths: a project must not choose the program that gets keys.
fn find_on_path(name: &str, lookup: &impl EnvLookup) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let folders = lookup("PATH")?;
    let mut folders = std::env::split_paths(&folders).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| Some(folder.join(name)).filter(is_program))
}

/// Without one, every request fails or starts a bus without the key ring.
fn has_session_bus(lookup: &impl EnvLookup) -> bool {
    environment::is_set(lookup, "DBUS_SESSION_BUS_ADDRESS")
        || lookup("XDG_RUNTIME_DIR")
            .is_some_and(|folder| PathBuf::from(folder).join("bus").exists())
}

const IS_MACOS: bool = cfg!(target_os = "macos");
/// A slower search is abandoned.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(2);
/// The user may have to type a password.
const UNLOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// Limit on the origins of one provider.
const SLOTS_MAX: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let cases = [
            ("https://api.example.org", Some("https://api.example.org")),
            ("HTTPS://API.example.org:443/v1?x", Some("https://api.example.org")),
            ("http://127.0.0.1:80", Some("http://127.0.0.1")),
            ("http://[::1]:8080/", Some("http://[::1]:8080")),
            ("https://example.org:80", Some("https://example.org:80")),
            ("https://me@example.org", None),
            ("https://exa\"mple.org", None),
            ("ftp://example.org", None),
            ("https:///x", None),
            ("nonsense", None),
        ];
        for (url, expected) in cases {
            assert_eq!(url_origin(url).as_deref(), expected, "{url}");
        }
    }
}
