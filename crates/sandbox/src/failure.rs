//! Did a command fail because of the sandbox? Told from what it wrote.
//!
//! Programs print the kernel's words, so this is a guess, but a useful one: the command can be asked
//! for again without the sandbox instead of being tried in five other ways. Only a failed command
//! is looked at, and only the end of what it wrote.

use std::path::{Path, PathBuf};

use crate::plan::{Network, Plan};
use crate::wanted::Backend;

/// Why it failed, most likely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What stood in the way.
    pub cause: Cause,
    /// For people and models: what happened and what can be done.
    pub words: String,
}

/// What stood in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The sandbox itself could not be entered; the command did not run.
    NotEntered,
    /// A path that may not be written.
    ReadOnly,
    /// A path or a call that is refused.
    Refused,
    /// The network is off, or the host is not on the list.
    Network,
    /// Too many processes.
    Processes,
    /// Too much memory.
    Memory,
}

/// How much of the end is looked at.
const TAIL: usize = 16 * 1024;

/// The exit code when the sandbox could not be entered.
const NOT_ENTERED: i32 = 125;

const READ_ONLY: &[&str] = &["Read-only file system", "EROFS", "os error 30"];
const DENIED: &[&str] = &["Permission denied", "EACCES", "os error 13"];
const FORBIDDEN: &[&str] = &["Operation not permitted", "EPERM", "os error 1)"];
const NETWORK: &[&str] = &[
    "Network is unreachable",
    "ENETUNREACH",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "EAI_AGAIN",
    "failed to lookup address information",
    "unable to resolve host address",
    "not on the list of hosts",
];
const PROCESSES: &[&str] = &[
    "fork: retry",
    "fork: Resource temporarily unavailable",
    "Cannot fork",
    "pthread_create failed",
];

const MEMORY: &[&str] = &[
    "Cannot allocate memory",
    "ENOMEM",
    "os error 12",
    "ut of memory",
    "ReserveShadowMemoryRange",
];

pub(crate) fn explain(
    backend: Backend,
    plan: &Plan,
    exit: Option<i32>,
    stderr: &str,
) -> Option<Reason> {
    let exit = exit.filter(|code| *code != 0)?;
    let mut from = stderr.len().saturating_sub(TAIL);
    while !stderr.is_char_boundary(from) {
        from += 1;
    }
    let tail = stderr.get(from..).unwrap_or_default();
    tail.lines().rev().find_map(|line| of_line(backend, plan, exit, line))
}

fn of_line(backend: Backend, plan: &Plan, exit: i32, line: &str) -> Option<Reason> {
    let has = |signs: &[&str]| signs.iter().any(|sign| line.contains(sign));
    let ours = line.starts_with("bwrap: ") || line.starts_with("windlass sandbox: ");
    if ours && (exit == 1 || exit == NOT_ENTERED) {
        return Some(reason(Cause::NotEntered, "The sandbox could not be entered", line));
    }
    if has(READ_ONLY) {
        return Some(reason(Cause::ReadOnly, "The sandbox lets nothing be written there", line));
    }
    if has(NETWORK) && plan.network != Network::Open {
        let words = match plan.network {
            Network::Through(_) => "The sandbox lets only listed hosts be reached",
            _ => "The network is off in the sandbox",
        };
        return Some(reason(Cause::Network, words, line));
    }
    if has(PROCESSES) {
        return Some(reason(Cause::Processes, "The sandbox bounds the number of processes", line));
    }
    if has(MEMORY) {
        return Some(reason(Cause::Memory, "The sandbox bounds the memory of a process", line));
    }
    if has(DENIED) && is_outside(plan, line) {
        return Some(reason(Cause::Refused, "The sandbox keeps this path out of reach", line));
    }
    if has(FORBIDDEN) && (backend == Backend::Landlock || is_outside(plan, line)) {
        return Some(reason(Cause::Refused, "The sandbox refuses this call", line));
    }
    None
}

fn reason(cause: Cause, words: &str, line: &str) -> Reason {
    let line = line.trim();
    let again = match cause {
        Cause::NotEntered => "The command did not run.",
        _ => "If it is needed, ask for the command to be run without the sandbox.",
    };
    Reason { cause, words: format!("{words} (\"{line}\"). {again}") }
}

/// Does the line name a path that may not be written, or no path at all that we could find?
fn is_outside(plan: &Plan, line: &str) -> bool {
    let writable: Vec<&PathBuf> = plan.roots.iter().chain(&plan.scratch).collect();
    let mut words = line.split(|c: char| c.is_whitespace() || "'\"`:;,()‘’".contains(c));
    words.any(|word| {
        let path = Path::new(word);
        path.is_absolute()
            && (!writable.iter().any(|root| path.starts_with(root))
                || plan.hidden.iter().any(|hidden| path.starts_with(hidden)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sandbox_reasons_are_told_from_others() {
        let mut plan = Plan::new("/w/repo", Some(Path::new("/home/u")));
        let cause = |plan: &Plan, backend, exit, line: &str| {
            explain(backend, plan, Some(exit), line).map(|reason| reason.cause)
        };
        use Backend::{Bubblewrap, Landlock};
        for (backend, exit, line, expected) in [
            (
                Bubblewrap,
                1,
                "touch: cannot touch '/etc/x': Read-only file system",
                Some(Cause::ReadOnly),
            ),
            (
                Bubblewrap,
                1,
                "error: Read-only file system (os error 30)\nmake: *** [all] Error 1",
                Some(Cause::ReadOnly),
            ),
            (Bubblewrap, 0, "touch: cannot touch '/etc/x': Read-only file system", None),
            (Bubblewrap, 6, "curl: (6) Could not resolve host: example.org", Some(Cause::Network)),
            (
                Bubblewrap,
                2,
                "bash: fork: retry: Resource temporarily unavailable",
                Some(Cause::Processes),
            ),
            (
                Bubblewrap,
                1,
                "bwrap: No permissions to create a new namespace",
                Some(Cause::NotEntered),
            ),
            (Bubblewrap, 7, "bwrap: said somebody else", None),
            (Bubblewrap, 1, "cat: /home/u/.ssh/id_rsa: Permission denied", Some(Cause::Refused)),
            (Bubblewrap, 1, "bash: line 1: ./run.sh: Permission denied", None),
            (Bubblewrap, 1, "bash: /w/repo/run.sh: Permission denied", None),
            (Landlock, 1, "touch: cannot touch '/etc/x': Permission denied", Some(Cause::Refused)),
            (
                Landlock,
                1,
                "chmod: changing permissions of 'a': Operation not permitted",
                Some(Cause::Refused),
            ),
            (Landlock, 125, "windlass sandbox: no filter", Some(Cause::NotEntered)),
            (Bubblewrap, 1, "Out of memory in perl:util:safesysmalloc", Some(Cause::Memory)),
            (Bubblewrap, 1, "error[E0308]: mismatched types", None),
        ] {
            assert_eq!(cause(&plan, backend, exit, line), expected, "{line}");
        }
        plan.network = Network::Open;
        assert_eq!(cause(&plan, Bubblewrap, 6, "curl: (6) Could not resolve host: a"), None);
    }
}
