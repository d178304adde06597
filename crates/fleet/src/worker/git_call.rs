//! Runs git for a session: with a deadline, with one protocol, and without what a repository or its
//! configuration would run.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use windlass_workspace::CancelFlag;

/// Runs git without the configuration, hooks and programs of the repository and the user.
pub(crate) struct GitCall {
    pub(crate) directory: PathBuf,
    /// The only protocol it may use.
    pub(crate) protocol: &'static str,
    pub(crate) cancel: CancelFlag,
}

impl GitCall {
    /// Runs git to its end. On timeout or cancellation, kills it with all its children. Returns its
    /// stdout.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String, String> {
        self.run_with_input(arguments, |_| Ok(()))
    }

    /// The same, with what `write` writes as its stdin.
    pub(crate) fn run_with_input(
        &self,
        arguments: &[&str],
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<String, String> {
        let mut group = self.spawn(arguments)?;
        let stdin = group.0.stdin.take();
        let output = spawn_reader(group.0.stdout.take());
        let errors = spawn_reader(group.0.stderr.take());
        let (status, written) = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| self.wait(group));
            // Git reads its input to the end, or ends or is killed, which ends the writing.
            let written = stdin.map_or(Ok(()), |mut stdin| write(&mut stdin));
            (waiting.join(), written)
        });
        let status = status.map_err(|_| "git cannot be waited for".to_owned())??;
        if !status.success() {
            let errors = errors.join().unwrap_or_default();
            let name = arguments.iter().find(|word| !word.starts_with(['-', '/']));
            let name = name.unwrap_or(&"");
            return Err(format!("git {name}: {}; check --git and --commit", find_reason(&errors)));
        }
        written.map_err(|error| format!("git takes no input: {error}"))?;
        Ok(output.join().unwrap_or_default())
    }

    /// Waits for the end of git. Otherwise kills it.
    fn wait(&self, mut group: CheckoutProcessGroup) -> Result<ExitStatus, String> {
        let deadline = Instant::now() + GIT_TIMEOUT;
        loop {
            match group.0.try_wait().map_err(|error| error.to_string())? {
                Some(status) => return Ok(status),
                None if self.cancel.is_cancelled() => return Err(cancelled()),
                None if Instant::now() > deadline => {
                    return Err(format!("git took longer than {} seconds", GIT_TIMEOUT.as_secs()));
                }
                None => std::thread::sleep(GIT_POLL),
            }
        }
    }

    fn spawn(&self, arguments: &[&str]) -> Result<CheckoutProcessGroup, String> {
        let program = ["/usr/bin/git", "/bin/git", "/usr/local/bin/git"];
        let program = program.into_iter().map(Path::new).find(|path| path.is_file());
        let program = program.ok_or("there is no git here; install it")?;
        let mut command = Command::new(program);
        command
            // A redirect could lead to a host that the session may not access.
            .args(["-c", "http.followRedirects=false"])
            .args(arguments)
            .current_dir(&self.directory)
            .envs(windlass_git::build_safe_variables(&[]))
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", self.protocol)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if self.protocol == "ssh" && std::env::var_os("GIT_SSH_COMMAND").is_none() {
            // The settings above forbid every program that a repository could name for this.
            command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        }
        let child = command.spawn().map_err(|error| format!("git cannot be started: {error}"))?;
        Ok(CheckoutProcessGroup(child))
    }
}

/// The line in which git says why it failed; the others are progress and advice.
fn find_reason(errors: &str) -> &str {
    let mut lines = errors.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines.clone().find_map(|line| line.strip_prefix("fatal: "));
    fatal.or_else(|| lines.next_back()).unwrap_or("it does not say why")
}

/// The leader of a process group, which is killed on drop.
struct CheckoutProcessGroup(Child);

impl Drop for CheckoutProcessGroup {
    fn drop(&mut self) {
        // Only if it was not reaped yet, since its pid may have been reused.
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// Keeps the beginning of the output; the rest is read and discarded, so that git does not block.
fn spawn_reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(OUTPUT_BYTES_MAX).read_to_end(&mut text);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}

pub(crate) fn cancelled() -> String {
    "it is not waited for any more".to_owned()
}

pub(crate) const GIT_TIMEOUT: Duration = Duration::from_secs(600);
pub(crate) const GIT_POLL: Duration = Duration::from_millis(20);
const OUTPUT_BYTES_MAX: u64 = 64 << 10;
