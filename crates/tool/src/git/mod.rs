//! The one door for git calls of our own: worktrees, the state of a project, what changed.
//!
//! A repository can name programs that git runs by itself: hooks, a file system monitor, external
//! diffs, filters, editors, signers, transports. None of them runs through this door. The binary is
//! an absolute path out of a fixed list, arguments are words and never a shell's text, the
//! environment is made anew, the network is out of reach, and every call has a deadline and a cap.
//! What the model runs through its shell is not this; that goes through the permission policy.

mod config;
mod run;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Git in one directory.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    directory: PathBuf,
    /// How long a call may take.
    pub within: Duration,
    /// Bytes of output taken of a call.
    pub output_max: usize,
}

/// What a call left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitEnd {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained, its beginning.
    pub stderr: String,
}

/// Why there is nothing to tell.
#[derive(Debug)]
pub enum GitFailure {
    /// There is no git in any of the places where systems keep it.
    Missing,
    /// Only a few sub-commands go through this door.
    Unknown(String),
    /// The repository's configuration names more programs than can be turned off.
    Crowded,
    /// The repository's configuration cannot be read, so what it names is not known.
    Unreadable(String),
    /// It could not be started.
    NotStarted(io::Error),
    /// It took too long, and was ended with everything it had started.
    Late(Duration),
    /// It printed more than is taken, and was ended.
    TooLong(usize),
}

impl fmt::Display for GitFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "there is no git here; looked at {}", PLACES.join(", ")),
            Self::Unknown(name) => write!(f, "`git {name}` is not among the calls made here"),
            Self::Crowded => write!(f, "the repository's git configuration is too large"),
            Self::Unreadable(why) => write!(f, "git cannot read its configuration: {why}"),
            Self::NotStarted(error) => write!(f, "git cannot be started: {error}"),
            Self::Late(limit) => write!(f, "git took longer than {} seconds", limit.as_secs()),
            Self::TooLong(most) => write!(f, "git printed more than {most} bytes"),
        }
    }
}

impl std::error::Error for GitFailure {}

impl Git {
    /// Git in this directory.
    ///
    /// # Errors
    /// There is none on this system.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Result<Self, GitFailure> {
        let program = PLACES.iter().map(PathBuf::from).find(|path| path.is_file());
        let program = program.ok_or(GitFailure::Missing)?;
        let (within, output_max) = (WITHIN, OUTPUT_MAX);
        Ok(Self { program, directory: directory.into(), within, output_max })
    }

    /// Runs `git sub arguments…` to its end. Blocks, at most as long as it may take.
    ///
    /// # Errors
    /// It did not come to its end. A code other than zero is no error here.
    pub fn run(&self, sub: &str, arguments: &[impl AsRef<OsStr>]) -> Result<GitEnd, GitFailure> {
        let known = SUBS.iter().find(|(name, _)| *name == sub);
        let Some((_, shape)) = known else {
            return Err(GitFailure::Unknown(sub.to_owned()));
        };
        let named = config::programs(self)?;
        let mut words = vec![OsString::from("--no-pager"), OsString::from(sub)];
        let guards: &[&str] = match shape {
            Shape::Plain => &[],
            Shape::Status => &["--ignore-submodules=all"],
            Shape::Diff => &["--no-ext-diff", "--no-textconv", "--ignore-submodules=all"],
        };
        // The last one of contradicting options counts, but what follows `--` is no option.
        let ours = arguments.iter().take_while(|word| word.as_ref() != "--").count();
        let (before, after) = arguments.split_at(ours);
        words.extend(before.iter().map(|word| word.as_ref().to_owned()));
        words.extend(guards.iter().map(OsString::from));
        words.extend(after.iter().map(|word| word.as_ref().to_owned()));
        run::run(self, &words, &config::settings(&named))
    }

    /// The first line it prints, if it ends well.
    #[must_use]
    pub fn line(&self, sub: &str, arguments: &[impl AsRef<OsStr>]) -> Option<String> {
        let end = self.run(sub, arguments).ok().filter(|end| end.code == Some(0))?;
        String::from_utf8(end.stdout).ok()?.lines().next().map(str::to_owned)
    }

    /// Where it runs.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// What guards a sub-command needs besides settings.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Plain,
    Status,
    /// Prints differences.
    Diff,
}

/// Where systems keep git. `PATH` is not asked: it may lead into the project.
const PLACES: &[&str] = &[
    "/usr/bin/git",
    "/bin/git",
    "/usr/local/bin/git",
    "/opt/homebrew/bin/git",
    "/run/current-system/sw/bin/git",
];

/// The sub-commands that may be called. Another name could be an alias, which is a program.
const SUBS: &[(&str, Shape)] = &[
    ("add", Shape::Plain),
    ("branch", Shape::Plain),
    ("cat-file", Shape::Plain),
    ("check-ignore", Shape::Plain),
    ("checkout", Shape::Plain),
    ("clean", Shape::Plain),
    ("commit", Shape::Plain),
    ("commit-tree", Shape::Plain),
    ("config", Shape::Plain),
    ("diff", Shape::Diff),
    ("diff-files", Shape::Diff),
    ("diff-index", Shape::Diff),
    ("diff-tree", Shape::Diff),
    ("for-each-ref", Shape::Plain),
    ("hash-object", Shape::Plain),
    ("init", Shape::Plain),
    ("log", Shape::Diff),
    ("ls-files", Shape::Plain),
    ("ls-tree", Shape::Plain),
    ("merge-base", Shape::Plain),
    ("read-tree", Shape::Plain),
    ("reset", Shape::Plain),
    ("restore", Shape::Plain),
    ("rev-list", Shape::Plain),
    ("rev-parse", Shape::Plain),
    ("show", Shape::Diff),
    ("status", Shape::Status),
    ("symbolic-ref", Shape::Plain),
    ("update-index", Shape::Plain),
    ("update-ref", Shape::Plain),
    ("worktree", Shape::Plain),
    ("write-tree", Shape::Plain),
];

const WITHIN: Duration = Duration::from_secs(30);
const OUTPUT_MAX: usize = 8 * 1024 * 1024;
