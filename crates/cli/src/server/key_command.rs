//! Asks a program of the user's for a key: a password manager, the system's key ring.
//!
//! No shell is involved. The program gets no input, is given [`WAIT_MAX`], and is ended with all its
//! children when that is over. What it prints is a secret: it is returned and never shown. What it
//! complains is shown, shortened.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::refusal::one_line;

/// Runs it, and gives the first line it prints.
pub(super) fn run(command: &[String]) -> Result<String, String> {
    let Some((program, arguments)) = command.split_first() else {
        return Err("it names no program".to_owned());
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    let deadline = Instant::now() + WAIT_MAX;
    let printed = read(child.stdout.take(), BYTES_MAX);
    let complained = read(child.stderr.take(), COMPLAINT_MAX);
    let printed = printed.recv_timeout(left(deadline));
    let complaint = complained.recv_timeout(left(deadline)).unwrap_or_default();
    let status = ended(&mut child, deadline);
    let printed = printed.map_err(|_| late())?;
    match status {
        None => return Err(late()),
        Some(status) if !status.success() => {
            let said = one_line(&String::from_utf8_lossy(&complaint));
            let said = if said.is_empty() { String::new() } else { format!(" and says: {said}") };
            return Err(format!("it ends with {status}{said}"));
        }
        Some(_) => {}
    }
    let text = String::from_utf8(printed).map_err(|_| "it prints no text".to_owned())?;
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(key) => Ok(key.to_owned()),
        None => Err("it prints nothing".to_owned()),
    }
}

/// Reads a pipe to its end on a thread of its own, so that waiting for it can end.
fn read(pipe: Option<impl Read + Send + 'static>, most: u64) -> mpsc::Receiver<Vec<u8>> {
    let (done, over) = mpsc::channel();
    if let Some(pipe) = pipe {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.take(most).read_to_end(&mut bytes);
            let _ = done.send(bytes);
        });
    }
    over
}

/// Waits for it, and ends it with its whole group when it is late.
fn ended(child: &mut Child, deadline: Instant) -> Option<std::process::ExitStatus> {
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            let _ = child.wait();
            return None;
        }
        thread::sleep(LOOK_AGAIN);
    }
}

fn late() -> String {
    format!("it takes longer than {} seconds", WAIT_MAX.as_secs())
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Somebody may have to unlock something first.
const WAIT_MAX: Duration = Duration::from_secs(25);
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const BYTES_MAX: u64 = 64 * 1024;
const COMPLAINT_MAX: u64 = 300;
