//! One process of a session, and what befalls it.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use windlass_lab::sim::seeded_random::SeededRandom;

/// What befalls a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LifeFault {
    Nothing,
    /// Killed after so many milliseconds.
    Killed(u64),
    /// Stopped after the first, continued after the second number of milliseconds.
    Stopped(u64, u64),
    Interrupted(u64),
    InterruptedTwice(u64),
    Terminated(u64),
    /// Its files may have so many bytes.
    FilesLimited(u64),
    /// So many bytes are left on the disk. Where no disk of its own can be had, its files may have so
    /// many.
    DiskFull(u64),
    /// So many files may be open.
    DescriptorsLimited(u64),
    /// Its output is read only when so many milliseconds are over.
    OutputUnread(u64),
    /// Its reader goes away at once.
    OutputClosed,
}

impl LifeFault {
    pub(crate) fn draw(random: &mut SeededRandom) -> Self {
        let moment = random.draw_between(5, 2_500);
        match random.draw_below(16) {
            0..=3 => Self::Killed(moment),
            4 | 5 => Self::Stopped(moment, random.draw_between(50, 1_500)),
            6 => Self::Interrupted(moment),
            7 => Self::InterruptedTwice(moment),
            8 => Self::Terminated(moment),
            9 => Self::FilesLimited(random.draw_between(2_000, 400_000)),
            10 => Self::DescriptorsLimited(random.draw_between(16, 64)),
            11 => Self::OutputUnread(moment),
            12 => Self::OutputClosed,
            13 | 14 => Self::DiskFull(random.choose([0, 4_096, 20_000, 90_000, 300_000])),
            _ => Self::Nothing,
        }
    }

    /// Must the process end with an exit code of its own? A signal may come before the process listens
    /// to it, most of all on a busy machine; then it ends as every process does.
    pub(crate) fn leaves_a_code(self) -> bool {
        !matches!(
            self,
            Self::Killed(_)
                | Self::Interrupted(_)
                | Self::InterruptedTwice(_)
                | Self::Terminated(_)
        )
    }
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct EndedLife {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command to its end under a fault. `None` if it does not end.
pub(crate) fn live(plain: &Command, fault: LifeFault) -> Option<EndedLife> {
    let mut command = limited(plain, fault);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut output = child.stdout.take();
    let stderr = child.stderr.take().map(read_aside);
    if fault == LifeFault::OutputClosed {
        drop(output.take());
    }
    let unread = match fault {
        LifeFault::OutputUnread(_) => output.take(),
        _ => None,
    };
    let mut stdout = output.map(read_aside);
    befall(&mut child, fault);
    stdout = stdout.or_else(|| unread.map(read_aside));
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().expect("a child") {
            Some(status) => break status,
            None if Instant::now() >= deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let text = |reader: Option<std::thread::JoinHandle<String>>| {
        reader.map(|reader| reader.join().expect("a reader")).unwrap_or_default()
    };
    Some(EndedLife { code: status.code(), stdout: text(stdout), stderr: text(stderr) })
}

fn limited(plain: &Command, fault: LifeFault) -> Command {
    let limit = match fault {
        LifeFault::FilesLimited(bytes) => Some(format!("--fsize={bytes}")),
        LifeFault::DescriptorsLimited(files) => Some(format!("--nofile={files}")),
        _ => None,
    };
    let mut command = match limit {
        Some(limit) => {
            let mut command = Command::new("prlimit");
            command.arg(limit).arg("--core=0").arg("--").arg(plain.get_program());
            command
        }
        None => Command::new(plain.get_program()),
    };
    command.args(plain.get_args()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(plain.get_current_dir().expect("a folder"));
    command
}

/// Does to the process what befalls it, unless it is gone before.
fn befall(child: &mut Child, fault: LifeFault) {
    let pid = Pid::from_child(child);
    let mut wait = |millis: u64| {
        let deadline = Instant::now() + Duration::from_millis(millis);
        while Instant::now() < deadline && child.try_wait().expect("a child").is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        child.try_wait().expect("a child").is_none()
    };
    // It may be gone by itself.
    let send = |signal: Signal| {
        let _ = kill_process(pid, signal);
    };
    match fault {
        LifeFault::Killed(after) if wait(after) => send(Signal::KILL),
        LifeFault::Interrupted(after) if wait(after) => send(Signal::INT),
        LifeFault::Terminated(after) if wait(after) => send(Signal::TERM),
        LifeFault::Stopped(after, long) if wait(after) => {
            send(Signal::STOP);
            std::thread::sleep(Duration::from_millis(long));
            send(Signal::CONT);
        }
        LifeFault::InterruptedTwice(after) if wait(after) => {
            send(Signal::INT);
            if wait(50) {
                send(Signal::INT);
            }
        }
        LifeFault::OutputUnread(after) => {
            wait(after);
        }
        LifeFault::Nothing
        | LifeFault::Killed(_)
        | LifeFault::Interrupted(_)
        | LifeFault::Terminated(_)
        | LifeFault::Stopped(_, _)
        | LifeFault::InterruptedTwice(_)
        | LifeFault::FilesLimited(_)
        | LifeFault::DiskFull(_)
        | LifeFault::DescriptorsLimited(_)
        | LifeFault::OutputClosed => {}
    }
}

fn read_aside(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Longer than any life takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(400);
