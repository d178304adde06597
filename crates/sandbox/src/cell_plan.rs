//! What a command that runs unasked may see while it reads, as a value.
//!
//! A cell writes nothing but its temporary directory and reaches no socket, so there is less to say
//! than in a [`SandboxPlan`](crate::SandboxPlan).

use std::path::{Path, PathBuf};

/// What one command in a read-only cell may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellPlan {
    /// The one directory it may write to; exists, and is the command's alone.
    pub temporary_directory: PathBuf,
    /// Files and directories whose content it must not see. What does not exist may stand here.
    pub hidden: Vec<PathBuf>,
    /// Directories to be seen although they lie below a hidden one: where the session works.
    pub shown: Vec<PathBuf>,
}

/// Homes of other users, and of root where we are not root.
#[must_use]
pub fn list_other_homes(home: Option<&Path>) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = ["/home", "/Users"]
        .iter()
        .filter_map(|parent| std::fs::read_dir(parent).ok())
        .flat_map(|entries| entries.flatten().take(HOMES_MAX))
        .map(|entry| entry.path())
        .collect();
    homes.push("/root".into());
    homes.retain(|other| home.is_none_or(|home| !home.starts_with(other)));
    homes
}

/// A machine with more users than this has its homes elsewhere.
const HOMES_MAX: usize = 1_000;

/// Keys of the machine itself, which only root could read anyway.
pub const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/var/lib/sss/secrets",
    "/var/run/secrets",
    "/run/secrets",
    "/run/credentials",
];
