//! What a command in a read-only cell may see, as data.
//!
//! A cell writes only its temporary directory and uses no sockets, so this has fewer fields than a
//! [`SandboxPlan`](crate::SandboxPlan).

use std::path::{Path, PathBuf};

/// What one command in a read-only cell may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellPlan {
    /// The only directory it may write to; exists, and is used by no other command.
    pub temporary_directory: PathBuf,
    /// Files and directories that it must not read. They need not exist.
    pub hidden: Vec<PathBuf>,
    /// A home directory, which is hidden too.
    pub home: Option<PathBuf>,
    /// Exceptions below hidden directories, such as the working directories.
    pub shown: Vec<PathBuf>,
}

/// Homes of other users, and of root unless we are root.
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

/// Machines with more users usually have their homes elsewhere.
const HOMES_MAX: usize = 1_000;

/// Keys of the machine, which only root can read anyway.
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
