//! What one command may touch: the kernel's side of the policy, as a value.
//!
//! Nothing is decided here and nothing is read from a project. Writable roots come from the user
//! (where the session works, directories added by hand), never from files inside them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What one command may touch. Everything else on the machine is read-only or out of reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxPlan {
    /// Where the command starts; absolute.
    pub directory: PathBuf,
    /// Directories it may write to, chosen by the user. What [`windlass_permission`] protects by
    /// name stays as it is at the top of each, files that do not exist yet included.
    pub roots: Vec<PathBuf>,
    /// More directories it may write to, ours and not the user's: nothing in them is protected.
    pub scratch: Vec<PathBuf>,
    /// Files and directories that it may read although they lie where the host's sockets and
    /// temporary files are: `/tmp`, `/run`.
    pub readable: Vec<PathBuf>,
    /// More files and directories that stay as they are, inside the roots.
    pub protected: Vec<PathBuf>,
    /// Files and directories whose content the command must not see. See [`secrets`](crate::secrets).
    pub hidden: Vec<PathBuf>,
    pub environment: Vec<(OsString, OsString)>,
    pub network: SandboxNetwork,
    pub limits: SandboxLimits,
    /// May it change modes, owners and times? Only Landlock asks: it cannot tell a file inside the
    /// roots from one outside there, so without leave it refuses all of these calls.
    pub may_change_metadata: bool,
    /// Will it go on running beside other work, like a server? Then protected directories that do not
    /// exist cannot be made, and it is unknown afterwards who made a file: new protected ones are told.
    pub is_background: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SandboxNetwork {
    #[default]
    Off,
    /// The hosts that a [`Proxy`](crate::Proxy) listening on this socket lets through.
    ViaProxy(PathBuf),
    /// The network of the machine.
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxLimits {
    pub processes: u64,
    /// Bytes of memory that one process may have for itself, and all of them together where there
    /// is a control group to count them.
    pub memory: u64,
    /// Bytes of the private `/tmp`.
    pub scratch: u64,
    /// Seconds of processor time of one process.
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
    /// A plan for a command in a directory that it may write to: no network, no environment, and
    /// the usual secrets of this home hidden.
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
