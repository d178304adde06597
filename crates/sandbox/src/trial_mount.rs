//! A directory on trial: programs see an overlay at its path, and everything else read-only.
//! Changes are collected in a folder of ours, and applied or discarded later.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::probe_options::EntryProgram;

/// The parts of one trial. All paths are absolute and canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialMount {
    /// The directory on trial.
    pub root: PathBuf,
    /// Collects changes. On the same file system as `work`, outside of the root.
    pub upper: PathBuf,
    /// Used by the kernel; empty when the trial begins.
    pub work: PathBuf,
    /// Folders and files that remain writable on the host.
    pub writable: Vec<PathBuf>,
    /// Folders in which entries may be created, but existing ones are read-only.
    pub shared_folders: Vec<PathBuf>,
    /// The prefix of existing entries there that are writable.
    pub own_name: Option<OsString>,
    /// End the command when the thread ends that started it. Only for a thread that outlives the
    /// command.
    pub ends_with_parent: bool,
}

/// The entry's role for mounting a trial.
pub(crate) const TRIAL_ROLE: &str = "trial";

impl TrialMount {
    /// Wraps a command so that it runs on the trial. Its environment must be set completely.
    /// Descriptors are inherited.
    #[must_use]
    pub fn wrap_command(&self, entry: &EntryProgram, command: &Command) -> Command {
        let mut wrapped = Command::new(&entry.program);
        wrapped.args(&entry.arguments).arg(TRIAL_ROLE);
        let paths = [("root", &self.root), ("upper", &self.upper), ("work", &self.work)];
        for (word, path) in paths {
            wrapped.arg(word).arg(path);
        }
        for path in &self.writable {
            wrapped.arg("write").arg(path);
        }
        for path in &self.shared_folders {
            wrapped.arg("share").arg(path);
        }
        if let Some(name) = &self.own_name {
            wrapped.arg("own").arg(name);
        }
        if self.ends_with_parent {
            wrapped.arg("parent").arg(std::process::id().to_string());
        }
        wrapped.arg("--").arg(command.get_program()).args(command.get_args());
        wrapped.env_clear();
        let environment = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        wrapped.envs(environment);
        if let Some(directory) = command.get_current_dir() {
            wrapped.current_dir(directory);
        }
        wrapped
    }

    /// Mounts once, to check whether that works. Blocks for a moment.
    ///
    /// # Errors
    /// Why it does not work, as a message.
    pub fn check(&self, entry: &EntryProgram) -> Result<(), String> {
        let mut nothing = Command::new("/bin/true");
        nothing.env_clear().current_dir(&self.root);
        let mut command = self.wrap_command(entry, &nothing);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut words = String::new();
        if let Some(stderr) = child.stderr.take() {
            // The entry only mounts and exits, so this ends.
            let _ = stderr.take(WORDS_MAX).read_to_string(&mut words);
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        match status.success() {
            true => Ok(()),
            false => Err(strip_prefix(&words)),
        }
    }
}

const WORDS_MAX: u64 = 4 << 10;

/// The entry's message, without its prefix.
fn strip_prefix(words: &str) -> String {
    let line = words.lines().next().unwrap_or("it ended without saying why");
    line.split_once(": ").map_or(line, |(_, rest)| rest).to_owned()
}

/// The arguments of the entry: pairs of a name and a path up to `--`, then the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrialArguments {
    pub(crate) mount: TrialMount,
    /// The id of the parent.
    pub(crate) parent_pid: Option<i32>,
    pub(crate) command: Vec<OsString>,
}

impl TrialArguments {
    pub(crate) fn parse(arguments: &[OsString]) -> Result<Self, String> {
        let mut list = arguments.iter();
        let [mut root, mut upper, mut work] = [None, None, None];
        let [mut writable, mut shared_folders] = [Vec::new(), Vec::new()];
        let mut own_name = None;
        let mut parent_pid = None;
        while let Some(word) = list.next().filter(|word| *word != "--") {
            let path = list.next().map(PathBuf::from);
            match word.to_str() {
                Some("root") => root = path,
                Some("upper") => upper = path,
                Some("work") => work = path,
                Some("write") => writable.extend(path),
                Some("share") => shared_folders.extend(path),
                Some("own") => own_name = path.map(PathBuf::into_os_string),
                Some("parent") => {
                    let text = path.as_deref().and_then(|pid| pid.to_str());
                    parent_pid = text.and_then(|pid| pid.parse().ok());
                }
                _ => return Err(format!("`{}` is no part of a trial", word.display())),
            }
        }
        let (Some(root), Some(upper), Some(work)) = (root, upper, work) else {
            return Err("a trial needs a root, an upper and a work folder".to_owned());
        };
        let command: Vec<OsString> = list.cloned().collect();
        if command.is_empty() {
            return Err("no command after `--`".to_owned());
        }
        let ends_with_parent = parent_pid.is_some();
        let mount =
            TrialMount { root, upper, work, writable, shared_folders, own_name, ends_with_parent };
        Ok(Self { mount, parent_pid, command })
    }
}
