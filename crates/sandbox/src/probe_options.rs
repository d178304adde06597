//! Options of the probe, and how a launcher starts our entry.

use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxProbeOptions {
    /// How a new process calls [`enter`](crate::enter).
    pub entry: EntryProgram,
    /// Use only this backend. `None` means the best that works.
    pub backend: Option<SandboxBackend>,
    /// The path of bubblewrap. `None` means the usual ones.
    pub bubblewrap: Option<PathBuf>,
}

/// A program of ours, and the arguments with which it calls [`enter`](crate::enter) with the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryProgram {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxBackend {
    /// Namespaces and mounts by `bwrap`, and seccomp.
    Bubblewrap,
    /// Landlock and seccomp, set by our own entry.
    Landlock,
    /// Profiles of macOS, set by `sandbox-exec`.
    Seatbelt,
}

impl SandboxProbeOptions {
    /// The best backend that works, with this entry.
    pub fn best_available(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        let arguments = arguments.into_iter().map(OsString::from).collect();
        let entry = EntryProgram { program: program.into(), arguments };
        Self { entry, backend: None, bubblewrap: None }
    }
}
