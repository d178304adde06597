//! What one command may access, as data: the kernel's part of the policy.
//!
//! Nothing is decided here and nothing is read from a project. Writable roots come from the user
//! (working and added directories), never from files inside them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What one command may access. Everything else on the machine is read-only or hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxPlan {
    /// The command's directory; absolute.
    pub directory: PathBuf,
    /// Writable directories, chosen by the user. Names that [`windlass_permission`] protects cannot
    /// be changed at the top of each, nor created.
    pub roots: Vec<PathBuf>,
    /// Further writable directories of ours, in which nothing is protected.
    pub scratch: Vec<PathBuf>,
    /// Files and directories that it may read inside the directories for sockets and temporary
    /// files: `/tmp`, `/run`.
    pub readable: Vec<PathBuf>,
    /// Further protected files and directories inside the roots.
    pub protected: Vec<PathBuf>,
    /// Files and directories that it must not read. See [`secrets`](crate::secrets).
    pub hidden: Vec<PathBuf>,
    pub environment: Vec<(OsString, OsString)>,
    pub network: SandboxNetwork,
    pub limits: SandboxLimits,
    /// May it change modes, owners and times? Only used with Landlock, which cannot distinguish
    /// files inside the roots from others there, so these calls are refused without permission.
    pub may_change_metadata: bool,
    /// Will it run in the background, like a server? Then missing protected directories cannot be
    /// created as placeholders, and it is unknown afterwards who created a file: new protected ones
    /// are only reported.
    pub is_background: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SandboxNetwork {
    #[default]
    Off,
    /// Only hosts that the [`Proxy`](crate::Proxy) at this socket allows.
    ViaProxy(PathBuf),
    /// The host's network.
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxLimits {
    pub processes: u64,
    /// Limit on the memory of one process, and of all together if there is a control group.
    pub memory: u64,
    /// Size of the private `/tmp`.
    pub scratch: u64,
    /// Limit on the processor time of one process, in seconds.
    pub processor_seconds: Option<u64>,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            processes: 2048,
            memory: 16 * 1024 * 1024 * 1024,
            scratch: 4 * 1024 * 1024 * 1024,
            processor_seconds: None,
        }
    }
}

impl SandboxPlan {
    /// A plan for a command with one writable directory: no network, no environment, and the usual
    /// secrets of this home hidden.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, home: Option<&Path>) -> Self {
        let directory = directory.into();
        Self {
            roots: vec![directory.clone()],
            directory,
            scratch: Vec::new(),
            readable: Vec::new(),
            protected: Vec::new(),
            hidden: home.map(crate::secrets::list_home_secrets).unwrap_or_default(),
            environment: Vec::new(),
            network: SandboxNetwork::Off,
            limits: SandboxLimits::default(),
            may_change_metadata: false,
            is_background: false,
        }
    }
}
