//! What a caller wants of a sandbox, and how the launcher finds its way back into our code.

use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxProbeOptions {
    /// How a new process reaches [`enter`](crate::enter).
    pub entry: EntryProgram,
    /// Only this one. Otherwise the best that works.
    pub backend: Option<SandboxBackend>,
    /// Where bubblewrap is. Otherwise where systems put it.
    pub bubblewrap: Option<PathBuf>,
}

/// A program of ours and the arguments after which it calls [`enter`](crate::enter) with the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryProgram {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxBackend {
    /// Namespaces and mounts made by `bwrap`, and seccomp.
    Bubblewrap,
    /// Landlock and seccomp, applied by our own entry.
    Landlock,
}

impl SandboxProbeOptions {
    /// The best that works, entered through this program and these arguments.
    pub fn best_available(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        let arguments = arguments.into_iter().map(OsString::from).collect();
        let entry = EntryProgram { program: program.into(), arguments };
        Self { entry, backend: None, bubblewrap: None }
    }
}
