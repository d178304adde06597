//! The one door for git calls of our own: worktrees, the state of a project, what changed.
//!
//! A repository can name programs that git runs by itself: hooks, a file system monitor, external
//! diffs, filters, editors, signers, transports. None of them runs through this door. The binary is
//! an absolute path out of a fixed list, arguments are words and never a shell's text, the
//! environment is made anew, the network is out of reach, and every call has a deadline and a cap.
//! What the model runs through its shell is not this; that goes through the permission policy, and
//! `held_git` says how it is kept from running anything of the repository's.

mod git_process;
mod held_git;
mod safe_config;
pub mod worktree;

pub use git_process::build_safe_variables;
pub use held_git::{GitNeutralization, HeldGit};

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct GitRunner {
    program: PathBuf,
    directory: PathBuf,
    pub timeout: Duration,
    pub output_bytes_max: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitOutput {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    /// What it complained, its beginning.
    pub stderr: String,
}

#[derive(Debug)]
pub enum GitError {
    /// There is no git in any of the places where systems keep it.
    Missing,
    /// Only a few sub-commands go through this door.
    UnknownSubcommand(String),
    /// The repository's configuration names more programs than can be turned off.
    TooManyPrograms,
    /// The repository's configuration cannot be read, so what it names is not known.
    UnreadableConfig(String),
    NotStarted(io::Error),
    /// It took too long, and was ended with everything it had started.
    TimedOut(Duration),
    /// It printed more than is taken, and was ended.
    OutputTooLong(usize),
}

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "there is no git here; looked at {}", GIT_PATHS.join(", ")),
            Self::UnknownSubcommand(name) => {
                write!(f, "`git {name}` is not among the calls made here")
            }
            Self::TooManyPrograms => write!(f, "the repository's git configuration is too large"),
            Self::UnreadableConfig(why) => write!(f, "git cannot read its configuration: {why}"),
            Self::NotStarted(error) => write!(f, "git cannot be started: {error}"),
            Self::TimedOut(limit) => write!(f, "git took longer than {} seconds", limit.as_secs()),
            Self::OutputTooLong(most) => write!(f, "git printed more than {most} bytes"),
        }
    }
}

impl std::error::Error for GitError {}

impl GitRunner {
    /// Git in this directory.
    ///
    /// # Errors
    /// There is none on this system.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Result<Self, GitError> {
        let program = GIT_PATHS.iter().map(PathBuf::from).find(|path| path.is_file());
        let program = program.ok_or(GitError::Missing)?;
        Ok(Self {
            program,
            directory: directory.into(),
            timeout: TIMEOUT_DEFAULT,
            output_bytes_max: OUTPUT_BYTES_MAX,
        })
    }

    /// Runs `git sub arguments…` to its end. Blocks, at most as long as it may take.
    ///
    /// # Errors
    /// It did not come to its end. A code other than zero is no error here.
    pub fn run(&self, sub: &str, arguments: &[impl AsRef<OsStr>]) -> Result<GitOutput, GitError> {
        let known = SUBCOMMANDS.iter().find(|(name, _)| *name == sub);
        let Some((_, shape)) = known else {
            return Err(GitError::UnknownSubcommand(sub.to_owned()));
        };
        let named = safe_config::list_configured_programs(self)?;
        let mut words = vec![OsString::from("--no-pager"), OsString::from(sub)];
        let guards: &[&str] = match shape {
            GitGuards::Plain => &[],
            GitGuards::Status => &["--ignore-submodules=all"],
            GitGuards::Diff => &["--no-ext-diff", "--no-textconv", "--ignore-submodules=all"],
        };
        // The last one of contradicting options counts, but what follows `--` is no option.
        let ours = arguments.iter().take_while(|word| word.as_ref() != "--").count();
        let (before, after) = arguments.split_at(ours);
        words.extend(before.iter().map(|word| word.as_ref().to_owned()));
        words.extend(guards.iter().map(OsString::from));
        words.extend(after.iter().map(|word| word.as_ref().to_owned()));
        git_process::run_git(self, &words, &safe_config::build_settings(&named))
    }

    /// The first line it prints, if it ends well.
    #[must_use]
    pub fn first_line(&self, sub: &str, arguments: &[impl AsRef<OsStr>]) -> Option<String> {
        let end = self.run(sub, arguments).ok().filter(|end| end.code == Some(0))?;
        String::from_utf8(end.stdout).ok()?.lines().next().map(str::to_owned)
    }

    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

#[derive(Clone, Copy, Debug)]
enum GitGuards {
    Plain,
    Status,
    Diff,
}

/// Where systems keep git. `PATH` is not asked: it may lead into the project.
const GIT_PATHS: &[&str] = &[
    "/usr/bin/git",
    "/bin/git",
    "/usr/local/bin/git",
    "/opt/homebrew/bin/git",
    "/run/current-system/sw/bin/git",
];

/// The sub-commands that may be called. Another name could be an alias, which is a program.
const SUBCOMMANDS: &[(&str, GitGuards)] = &[
    ("add", GitGuards::Plain),
    ("branch", GitGuards::Plain),
    ("cat-file", GitGuards::Plain),
    ("check-ignore", GitGuards::Plain),
    ("checkout", GitGuards::Plain),
    ("clean", GitGuards::Plain),
    ("commit", GitGuards::Plain),
    ("commit-tree", GitGuards::Plain),
    ("config", GitGuards::Plain),
    ("diff", GitGuards::Diff),
    ("diff-files", GitGuards::Diff),
    ("diff-index", GitGuards::Diff),
    ("diff-tree", GitGuards::Diff),
    ("for-each-ref", GitGuards::Plain),
    ("hash-object", GitGuards::Plain),
    ("init", GitGuards::Plain),
    ("log", GitGuards::Diff),
    ("ls-files", GitGuards::Plain),
    ("ls-tree", GitGuards::Plain),
    ("merge-base", GitGuards::Plain),
    ("read-tree", GitGuards::Plain),
    ("reset", GitGuards::Plain),
    ("restore", GitGuards::Plain),
    ("rev-list", GitGuards::Plain),
    ("rev-parse", GitGuards::Plain),
    ("show", GitGuards::Diff),
    ("status", GitGuards::Status),
    ("symbolic-ref", GitGuards::Plain),
    ("update-index", GitGuards::Plain),
    ("update-ref", GitGuards::Plain),
    ("worktree", GitGuards::Plain),
    ("write-tree", GitGuards::Plain),
];

const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
const OUTPUT_BYTES_MAX: usize = 8 * 1024 * 1024;
