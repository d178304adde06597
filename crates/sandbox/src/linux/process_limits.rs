//! Resource limits that a process sets on itself, inherited by its children.

use rustix::process::{Resource, Rlimit};

use crate::plan::SandboxLimits;

/// Sets the limits. `others` is the number of the user's other processes and threads, which count
/// too; zero in a user namespace.
pub(super) fn set_limits(limits: &SandboxLimits, others: u64) -> Result<(), String> {
    let mut list = vec![(Resource::Core, 0), (Resource::Data, limits.memory)];
    list.extend(limits.processor_seconds.map(|seconds| (Resource::Cpu, seconds)));
    // The kernel does not count root's processes.
    if !rustix::process::geteuid().is_root() {
        list.push((Resource::Nproc, limits.processes.saturating_add(others)));
    }
    for (resource, most) in list {
        // Keeps a limit that is already lower.
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        rustix::process::setrlimit(resource, limit)
            .map_err(|error| format!("{resource:?} cannot be limited to {most}: {error}"))?;
    }
    Ok(())
}

/// The same as bash commands, to prepend to a script's first line.
pub(super) fn render_ulimits(limits: &SandboxLimits) -> String {
    let SandboxLimits { processes, memory, processor_seconds, .. } = limits;
    let mut words = format!("ulimit -c 0 && ulimit -d {}", memory / 1024);
    if let Some(seconds) = processor_seconds {
        words.push_str(&format!(" && ulimit -t {seconds}"));
    }
    if !rustix::process::geteuid().is_root() {
        words.push_str(&format!(" && ulimit -u {processes}"));
    }
    words.push_str(" || exit 125; ");
    words
}
