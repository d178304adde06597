//! Takes a snapshot of an overlay, in a process of ours on it, which prints the snapshot's id.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use windlass_tool::Secrets;
use windlass_workspace::{
    CancelFlag, LookDepth, RestoreConsent, RestoreResult, SnapshotId, WorkspaceError,
};

use crate::snapshot::{SharedWorkspace, SnapshotConfig};

/// A snapshot has limits of its own; this one is for a machine that hangs.
const LOOK_MAX: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const SECRETS_BYTES_MAX: u64 = 1 << 20;
const WORDS_BYTES_MAX: u64 = 16 << 10;

pub(super) fn add_arguments(command: &mut Command, config: &SnapshotConfig, target: Option<&str>) {
    command.arg(&config.store).arg(config.store_bytes_max.unwrap_or_default().to_string());
    command.arg(config.home.clone().unwrap_or_default()).args(target);
}

/// Runs the command. Our keys are passed on its standard input, because files that contain one are
/// not stored.
pub(super) fn run(mut command: Command, secrets: &Secrets) -> Result<SnapshotId, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |error: std::io::Error| format!("the trial cannot be looked at: {error}");
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // If the process has exited already, its status below tells why.
        let _ = input.write_all(secrets.list().join("\n").as_bytes());
    }
    let deadline = Instant::now() + LOOK_MAX;
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("the trial cannot be looked at: it takes too long".to_owned());
            }
            None => std::thread::sleep(POLL_INTERVAL),
        }
    };
    let read = |stream: Option<&mut dyn std::io::Read>| {
        let mut words = String::new();
        if let Some(stream) = stream {
            let _ = stream.take(WORDS_BYTES_MAX).read_to_string(&mut words);
        }
        words
    };
    let output = read(child.stdout.as_mut().map(|stream| stream as &mut dyn std::io::Read));
    if status.success()
        && let Ok(id) = output.trim().parse()
    {
        return Ok(id);
    }
    let words = read(child.stderr.as_mut().map(|stream| stream as &mut dyn std::io::Read));
    Err(words.lines().next().unwrap_or("the trial cannot be looked at").to_owned())
}

/// Entry point of the hidden subcommand; gets the arguments after its name. Returns the exit code.
#[must_use]
pub fn run_trial_look(arguments: &[OsString]) -> i32 {
    match look(arguments) {
        Ok(id) => {
            println!("{id}");
            0
        }
        Err(words) => {
            eprintln!("{words}");
            1
        }
    }
}

fn look(arguments: &[OsString]) -> Result<SnapshotId, String> {
    let [root, store, bytes_max, home, rest @ ..] = arguments else {
        return Err("called without a directory and a store; it is not for people".to_owned());
    };
    let bytes_max = bytes_max.to_str().and_then(|text| text.parse().ok()).filter(|max| *max > 0);
    let config = SnapshotConfig {
        store: PathBuf::from(store),
        home: Some(PathBuf::from(home)).filter(|home| !home.as_os_str().is_empty()),
        store_bytes_max: bytes_max,
        is_overlay: true,
        ..SnapshotConfig::default()
    };
    let secrets = Secrets::default();
    let mut text = String::new();
    let _ = std::io::stdin().take(SECRETS_BYTES_MAX).read_to_string(&mut text);
    text.lines().for_each(|secret| secrets.add(secret));
    let shared = SharedWorkspace::new(root.as_ref(), config).with_secrets(secrets);
    let target = rest.first().and_then(|target| target.to_str());
    let looked = shared.run(|workspace| {
        let cancel = CancelFlag::new();
        let Some(target) = target else {
            return Ok(workspace.look(LookDepth::Quick, &cancel)?.id);
        };
        let target: SnapshotId = target.parse()?;
        // Nothing is lost: the overlay's lower directory is unchanged.
        let plan = workspace.plan(target, &[], &cancel)?;
        let report = workspace.carry_out(&plan, &RestoreConsent::All, &cancel)?;
        // A file that is not stored is left alone, and so is a folder that contains one.
        let is_left = |result: RestoreResult| match result {
            RestoreResult::ChangedMeanwhile
            | RestoreResult::NotReachable
            | RestoreResult::Failed(_)
            | RestoreResult::NotDone => true,
            RestoreResult::Restored
            | RestoreResult::AlreadyThere
            | RestoreResult::Skipped
            | RestoreResult::NotEmpty
            | RestoreResult::NotKept => false,
        };
        match report.outcomes.iter().find(|outcome| is_left(outcome.result)) {
            Some(left) => Err(WorkspaceError::CopyFailed(
                left.path.clone(),
                std::io::Error::other(format!("{:?}", left.result)),
            )),
            None => Ok(report.after),
        }
    });
    let looked = looked.map_err(|error| error.to_string())?;
    looked.ok_or_else(|| "no snapshots are kept of this directory".to_owned())
}
