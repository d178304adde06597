//! The system's key ring, asked through the system's own program: `secret-tool` (libsecret) or, on
//! macOS, `security`.
//!
//! A key is kept under its provider's name and the origin it may go to, so a provider that was moved
//! to another address does not get it. Looking never opens a window and ends after [`LOOK_MAX`];
//! only where a key is known to be there may the user be asked to unlock it. No key is ever an
//! argument of a program, where others could read it, and none is shown.

mod secret_tool;
mod security;

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::environment::{self, Lookup};
use crate::program;

/// What a key is kept under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot<'a> {
    /// Whose it is.
    pub(crate) provider: &'a str,
    /// Where it may go.
    pub(crate) origin: &'a str,
}

/// What a look finds. Has no `Debug`, because it may hold a key.
pub(crate) enum Found {
    /// No key.
    Nothing,
    /// A key that is given only when it is asked for, perhaps after unlocking.
    Kept,
    /// The key.
    Key(String),
}

/// Why the key ring is of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// There is none here; what is missing, and how to get it.
    Absent(&'static str),
    /// It is locked, and nobody unlocked it.
    Locked,
    /// Its program's own words.
    Failed(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(what) => f.write_str(what),
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

/// A key ring that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ring {
    /// Every key ring of a Linux desktop, through libsecret's program.
    SecretTool(PathBuf),
    /// The keychain of macOS.
    Security,
}

impl Ring {
    /// The one of this system. Starts nothing.
    pub(crate) fn here(lookup: &impl Lookup) -> Result<Self, Trouble> {
        if IS_MACOS {
            return Ok(Self::Security);
        }
        let program = on_path(secret_tool::PROGRAM, lookup);
        let program = program.ok_or(Trouble::Absent(secret_tool::MISSING))?;
        match has_session_bus(lookup) {
            true => Ok(Self::SecretTool(program)),
            false => Err(Trouble::Absent(secret_tool::NO_BUS)),
        }
    }

    /// Looks without disturbing anybody.
    pub(crate) fn look(&self, slot: Slot<'_>) -> Result<Found, Trouble> {
        match self {
            Self::SecretTool(program) => {
                let ended = run(program, &secret_tool::search(slot), None, LOOK_MAX)?;
                secret_tool::found(&ended)
            }
            Self::Security => {
                let ended = run(security::PROGRAM, &security::find(slot), None, LOOK_MAX)?;
                security::found(&ended)
            }
        }
    }

    /// Gets a key that is kept there, for which the user may have to unlock something.
    pub(crate) fn fetch(&self, slot: Slot<'_>) -> Result<String, Trouble> {
        match self {
            Self::SecretTool(program) => {
                let ended = run(program, &secret_tool::lookup(slot), None, ASK_MAX)?;
                secret_tool::given(&ended)
            }
            Self::Security => {
                let ended = run(security::PROGRAM, &security::read(slot), None, ASK_MAX)?;
                security::given(&ended)
            }
        }
    }

    /// Keeps a key, and makes sure that it is there.
    pub(crate) fn store(&self, slot: Slot<'_>, key: &str) -> Result<(), Trouble> {
        match self {
            Self::SecretTool(program) => {
                let ended = run(program, &secret_tool::store(slot), Some(key), ASK_MAX)?;
                secret_tool::done(&ended)?;
            }
            Self::Security => {
                let command = security::add(slot, key);
                let ended = run(security::PROGRAM, &["-i"], Some(&command), ASK_MAX)?;
                security::done(&ended)?;
            }
        }
        let kept = match self.look(slot)? {
            Found::Key(kept) => Some(kept),
            Found::Kept => Some(self.fetch(slot)?),
            Found::Nothing => None,
        };
        match kept.as_deref() == Some(key) {
            true => Ok(()),
            false => Err(Trouble::Failed("it does not give back what was put in".to_owned())),
        }
    }

    /// Removes every key of a provider, whatever its origin. Says whether there was one.
    pub(crate) fn remove(&self, provider: &str) -> Result<bool, Trouble> {
        match self {
            Self::SecretTool(program) => {
                let ended = run(program, &secret_tool::search_all(provider), None, LOOK_MAX)?;
                if matches!(secret_tool::found(&ended)?, Found::Nothing) {
                    return Ok(false);
                }
                let ended = run(program, &secret_tool::clear(provider), None, ASK_MAX)?;
                secret_tool::done(&ended).map(|()| true)
            }
            Self::Security => {
                for removed in 0..SLOTS_MAX {
                    let command = security::delete(provider);
                    let ended = run(security::PROGRAM, &command, None, ASK_MAX)?;
                    if matches!(security::found(&ended)?, Found::Nothing) {
                        return Ok(removed > 0);
                    }
                }
                Ok(true)
            }
        }
    }
}

/// Scheme, host and port of an address: whom a key may be shown to.
pub(crate) fn origin(base_url: &str) -> Option<String> {
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

fn run(
    program: impl AsRef<std::ffi::OsStr>,
    arguments: &[impl AsRef<std::ffi::OsStr>],
    input: Option<&str>,
    within: Duration,
) -> Result<program::Ended, Trouble> {
    program::run(program, arguments, input, within).map_err(|failure| {
        let words = match failure {
            program::Failure::Late(limit) => {
                format!("it does not answer within {} seconds", limit.as_secs())
            }
            failure @ program::Failure::NotStarted(_) => failure.to_string(),
        };
        Trouble::Failed(words)
    })
}

/// Only places that do not depend on where we stand: a project must not choose who gets keys.
fn on_path(name: &str, lookup: &impl Lookup) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let folders = lookup("PATH")?;
    let mut folders = std::env::split_paths(&folders).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| Some(folder.join(name)).filter(is_program))
}

/// Without one, every question ends in an error, or starts a bus that nobody else is on.
fn has_session_bus(lookup: &impl Lookup) -> bool {
    environment::is_set(lookup, "DBUS_SESSION_BUS_ADDRESS")
        || lookup("XDG_RUNTIME_DIR")
            .is_some_and(|folder| PathBuf::from(folder).join("bus").exists())
}

const IS_MACOS: bool = cfg!(target_os = "macos");
/// A look that takes longer is not worth its time.
const LOOK_MAX: Duration = Duration::from_secs(2);
/// Somebody may have to type a password.
const ASK_MAX: Duration = Duration::from_secs(30);
/// Addresses one provider may have had.
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
            assert_eq!(origin(url).as_deref(), expected, "{url}");
        }
    }
}
