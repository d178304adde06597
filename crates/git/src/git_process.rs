//! Runs one git process: its environment, its deadline, its output.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::{GitError, GitOutput, GitRunner, safe_config};

pub(super) fn run_git(
    git: &GitRunner,
    words: &[OsString],
    settings: &[(String, String)],
) -> Result<GitOutput, GitError> {
    let deadline = Instant::now() + git.timeout;
    let mut command = Command::new(&git.program);
    command
        .args(words)
        .current_dir(&git.directory)
        .env_clear()
        .envs(build_environment(settings))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut group = GitProcessGroup(command.spawn().map_err(GitError::NotStarted)?);
    let printed = spawn_reader(group.0.stdout.take(), git.output_bytes_max);
    let complained = spawn_reader(group.0.stderr.take(), STDERR_BYTES_MAX);
    let left = || deadline.saturating_duration_since(Instant::now());
    let late = |_| GitError::TimedOut(git.timeout);
    let stdout = printed.recv_timeout(left()).map_err(late)?;
    if stdout.len() > git.output_bytes_max {
        return Err(GitError::OutputTooLong(git.output_bytes_max));
    }
    let mut stderr = complained.recv_timeout(left()).map_err(late)?;
    stderr.truncate(STDERR_BYTES_MAX);
    let status = group.wait(deadline).ok_or(GitError::TimedOut(git.timeout))?;
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    Ok(GitOutput { code: status.code(), stdout, stderr })
}

/// Leads a process group, which is ended with it.
struct GitProcessGroup(Child);

impl GitProcessGroup {
    /// It has closed its outputs, so it is about to exit.
    fn wait(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => thread::sleep(POLL_INTERVAL),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for GitProcessGroup {
    fn drop(&mut self) {
        // After it is reaped, its id may be reused.
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// Reads a pipe on a separate thread, so that waiting can time out; reads one byte more than the
/// limit, to detect that there is more.
fn spawn_reader(pipe: Option<impl Read + Send + 'static>, most: usize) -> mpsc::Receiver<Vec<u8>> {
    let (done, over) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let most = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
            let _ = pipe.by_ref().take(most).read_to_end(&mut bytes);
            let _ = done.send(bytes);
        });
    }
    over
}

/// The user's own settings apply, plus these.
fn build_environment(settings: &[(String, String)]) -> Vec<(OsString, OsString)> {
    let passed_on = ["HOME", "XDG_CONFIG_HOME", "TMPDIR"];
    let passed_on =
        passed_on.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    let fixed = FIXED_ENVIRONMENT.iter().map(|(name, value)| (name.into(), value.into()));
    let mut all: Vec<(OsString, OsString)> = passed_on.chain(fixed).collect();
    all.extend(render_settings(settings));
    all
}

/// Settings that keep git from running other programs, as environment variables for a process that
/// may start git. Also disables the named programs.
#[must_use]
pub fn build_safe_variables(named: &[String]) -> Vec<(OsString, OsString)> {
    render_settings(&safe_config::build_settings(named))
}

fn render_settings(settings: &[(String, String)]) -> Vec<(OsString, OsString)> {
    let mut all = vec![("GIT_CONFIG_COUNT".into(), settings.len().to_string().into())];
    for (number, (key, value)) in settings.iter().enumerate() {
        all.push((format!("GIT_CONFIG_KEY_{number}").into(), OsStr::new(key).into()));
        all.push((format!("GIT_CONFIG_VALUE_{number}").into(), OsStr::new(value).into()));
    }
    all
}

const FIXED_ENVIRONMENT: &[(&str, &str)] = &[
    ("PATH", "/usr/bin:/bin"),
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    // No transport has this name, so all are forbidden.
    ("GIT_ALLOW_PROTOCOL", "none"),
];

const STDERR_BYTES_MAX: usize = 4 * 1024;
const POLL_INTERVAL: Duration = Duration::from_millis(1);
