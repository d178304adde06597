//! Guesses from the output of a command whether the sandbox caused its failure.
//!
//! Programs print the kernel's errors, so this is only a guess, but a useful one: the model can
//! request to run the command without the sandbox, instead of trying variants of it. Only the end
//! of a failed command's output is examined.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::plan::{SandboxNetwork, SandboxPlan};
use crate::probe_options::SandboxBackend;
use crate::protected_names::{self, HELD_FILES};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxFailure {
    pub cause: SandboxFailureCause,
    /// What happened and what can be done, for users and models.
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxFailureCause {
    /// The sandbox could not be entered; the command did not run.
    NotEntered,
    ReadOnly,
    /// A path or a system call was refused.
    Refused,
    /// The network is off, or the host is not allowed.
    Network,
    Processes,
    Memory,
}

/// Bytes of output examined.
const TAIL: usize = 16 * 1024;

/// The exit code if the sandbox could not be entered.
const NOT_ENTERED: i32 = 125;

const READ_ONLY: &[&str] = &["Read-only file system", "EROFS", "os error 30"];
const DENIED: &[&str] = &["Permission denied", "EACCES", "os error 13"];
const IS_DIRECTORY: &[&str] = &["Is a directory", "EISDIR", "os error 21"];
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

pub(crate) fn explain_failure(
    backend: SandboxBackend,
    plan: &SandboxPlan,
    exit: Option<i32>,
    stderr: &str,
) -> Option<SandboxFailure> {
    let exit = exit.filter(|code| *code != 0)?;
    let mut from = stderr.len().saturating_sub(TAIL);
    while !stderr.is_char_boundary(from) {
        from += 1;
    }
    let tail = stderr.get(from..).unwrap_or_default();
    tail.lines().rev().find_map(|line| explain_line(backend, plan, exit, line))
}

/// Did a command in a read-only cell fail because of it? Guesses from the output, with any exit
/// code, because in a pipe the last program sets that.
#[must_use]
pub fn explain_cell_failure(exit: Option<i32>, stderr: &str) -> Option<String> {
    let signs = [READ_ONLY, DENIED, FORBIDDEN, NETWORK].concat();
    let mut lines = stderr.lines().rev().take(TAIL_LINES);
    let line = lines.find(|line| signs.iter().any(|sign| line.contains(sign)))?;
    let line: String = line.trim().chars().take(LINE_CHARS_MAX).collect();
    let failed = if exit == Some(0) { "Part of it" } else { "It" };
    Some(format!(
        "{failed} may have failed (\"{line}\") because it was judged to only read and ran without a \
         question: then it can write nothing, reach no network, and of the home directory see only \
         toolchains and the working directories."
    ))
}

/// Limits on the lines examined, and on what is shown of one.
const TAIL_LINES: usize = 200;
const LINE_CHARS_MAX: usize = 300;

fn explain_line(
    backend: SandboxBackend,
    plan: &SandboxPlan,
    exit: i32,
    line: &str,
) -> Option<SandboxFailure> {
    let has = |signs: &[&str]| signs.iter().any(|sign| line.contains(sign));
    let ours = line.starts_with("bwrap: ") || line.starts_with("windlass sandbox: ");
    if ours && (exit == 1 || exit == NOT_ENTERED) {
        return Some(build_failure(
            SandboxFailureCause::NotEntered,
            "The sandbox could not be entered",
            line,
        ));
    }
    if has(READ_ONLY) {
        return Some(build_failure(
            SandboxFailureCause::ReadOnly,
            "The sandbox lets nothing be written there",
            line,
        ));
    }
    if has(NETWORK) && plan.network != SandboxNetwork::Open {
        let words = match plan.network {
            SandboxNetwork::ViaProxy(_) => "The sandbox lets only listed hosts be reached",
            SandboxNetwork::Off | SandboxNetwork::Open => "The network is off in the sandbox",
        };
        return Some(build_failure(SandboxFailureCause::Network, words, line));
    }
    if has(PROCESSES) {
        return Some(build_failure(
            SandboxFailureCause::Processes,
            "The sandbox bounds the number of processes",
            line,
        ));
    }
    if has(MEMORY) {
        return Some(build_failure(
            SandboxFailureCause::Memory,
            "The sandbox bounds the memory of a process",
            line,
        ));
    }
    if has(DENIED) && names_protected_directory(line) || has(IS_DIRECTORY) && names_held_file(line)
    {
        return Some(build_failure(
            SandboxFailureCause::Refused,
            "This name is protected, so the sandbox lets nothing be made there",
            line,
        ));
    }
    if has(DENIED) && names_unreachable_path(plan, line) {
        return Some(build_failure(
            SandboxFailureCause::Refused,
            "The sandbox keeps this path out of reach",
            line,
        ));
    }
    let names_calls = match backend {
        SandboxBackend::Landlock | SandboxBackend::Seatbelt => true,
        SandboxBackend::Bubblewrap => names_unreachable_path(plan, line),
    };
    if has(FORBIDDEN) && names_calls {
        return Some(build_failure(
            SandboxFailureCause::Refused,
            "The sandbox refuses this call",
            line,
        ));
    }
    None
}

fn build_failure(cause: SandboxFailureCause, words: &str, line: &str) -> SandboxFailure {
    let line = line.trim();
    let again = match cause {
        SandboxFailureCause::NotEntered => "The command did not run.",
        SandboxFailureCause::ReadOnly
        | SandboxFailureCause::Refused
        | SandboxFailureCause::Network
        | SandboxFailureCause::Processes
        | SandboxFailureCause::Memory => {
            "If it is needed, ask for the command to be run without the sandbox."
        }
    };
    SandboxFailure { cause, words: format!("{words} (\"{line}\"). {again}") }
}

/// A placeholder for a missing protected directory causes "Permission denied".
fn names_protected_directory(line: &str) -> bool {
    let is_protected = |name: &OsStr| {
        protected_names::list_protected_directories().any(|one| OsStr::new(one) == name)
    };
    split_into_words(line).any(|word| Path::new(word).iter().any(is_protected))
}

/// A placeholder for a missing protected file is a directory.
fn names_held_file(line: &str) -> bool {
    split_into_words(line).any(|word| {
        let name = Path::new(word).file_name();
        name.is_some_and(|name| HELD_FILES.iter().any(|one| OsStr::new(one) == name))
    })
}

fn split_into_words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || "'\"`:;,()‘’".contains(c))
}

/// Does the line name a path that must not be written, or no path that was found?
fn names_unreachable_path(plan: &SandboxPlan, line: &str) -> bool {
    let writable: Vec<&PathBuf> = plan.roots.iter().chain(&plan.scratch).collect();
    split_into_words(line).any(|word| {
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
        let mut plan = SandboxPlan::new("/w/repo", Some(Path::new("/home/u")));
        let cause = |plan: &SandboxPlan, backend, exit, line: &str| {
            explain_failure(backend, plan, Some(exit), line).map(|reason| reason.cause)
        };
        use SandboxBackend::{Bubblewrap, Landlock};
        for (backend, exit, line, expected) in [
            (
                Bubblewrap,
                1,
                "touch: cannot touch '/etc/x': Read-only file system",
                Some(SandboxFailureCause::ReadOnly),
            ),
            (
                Bubblewrap,
                1,
                "error: Read-only file system (os error 30)\nmake: *** [all] Error 1",
                Some(SandboxFailureCause::ReadOnly),
            ),
            (Bubblewrap, 0, "touch: cannot touch '/etc/x': Read-only file system", None),
            (
                Bubblewrap,
                6,
                "curl: (6) Could not resolve host: example.org",
                Some(SandboxFailureCause::Network),
            ),
            (
                Bubblewrap,
                2,
                "bash: fork: retry: Resource temporarily unavailable",
                Some(SandboxFailureCause::Processes),
            ),
            (
                Bubblewrap,
                1,
                "bwrap: No permissions to create a new namespace",
                Some(SandboxFailureCause::NotEntered),
            ),
            (Bubblewrap, 7, "bwrap: said another program", None),
            (
                Bubblewrap,
                1,
                "/w/repo/.git/hooks: Permission denied",
                Some(SandboxFailureCause::Refused),
            ),
            (Bubblewrap, 1, "bash: .envrc: Is a directory", Some(SandboxFailureCause::Refused)),
            (Bubblewrap, 1, "cat: src: Is a directory", None),
            (Bubblewrap, 1, "cat: ./mine: Permission denied", None),
            (
                Bubblewrap,
                1,
                "cat: /home/u/.ssh/id_rsa: Permission denied",
                Some(SandboxFailureCause::Refused),
            ),
            (Bubblewrap, 1, "bash: line 1: ./run.sh: Permission denied", None),
            (Bubblewrap, 1, "bash: /w/repo/run.sh: Permission denied", None),
            (
                Landlock,
                1,
                "touch: cannot touch '/etc/x': Permission denied",
                Some(SandboxFailureCause::Refused),
            ),
            (
                Landlock,
                1,
                "chmod: changing permissions of 'a': Operation not permitted",
                Some(SandboxFailureCause::Refused),
            ),
            (Landlock, 125, "windlass sandbox: no filter", Some(SandboxFailureCause::NotEntered)),
            (
                Bubblewrap,
                1,
                "Out of memory in perl:util:safesysmalloc",
                Some(SandboxFailureCause::Memory),
            ),
            (Bubblewrap, 1, "error[E0308]: mismatched types", None),
        ] {
            assert_eq!(cause(&plan, backend, exit, line), expected, "{line}");
        }
        plan.network = SandboxNetwork::Open;
        assert_eq!(cause(&plan, Bubblewrap, 6, "curl: (6) Could not resolve host: a"), None);
    }
}
