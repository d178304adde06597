//! Runs commands on a trial that the user reviews before the changes are applied.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::process::Child;
use windlass_tool::{
    CommandTrial, CommandTrialFuture, CommandTrials, LaunchExit, LaunchRequest, PreparedLaunch,
    ProcessLauncher, Secrets, SpawnCommandFn, TrialVerdict, TriedCommand,
};
use windlass_vocabulary::{Json, PermissionAnswer, PermissionQuestion, ToolCall};

use super::{Trial, TrialConfig, TrialError, TrialPreview};
use crate::client_questions::ClientQuestions;
use crate::rewind::{FileHistory, OverwriteChoice};
use crate::snapshot::render_differences;

/// The prefix of the folder names of these trials.
pub const COMMAND_TRIAL_PREFIX: &str = "call-";
/// The tool name in the question to clients.
const APPLY_TOOL: &str = "ApplyTrial";
/// Limit on the bytes shown of a diff or output.
const SHOWN_BYTES_MAX: usize = 64 << 10;
static TRIAL_COUNTER: AtomicU64 = AtomicU64::new(0);

/// Starts trials of a session's commands.
#[derive(Debug)]
pub(crate) struct SessionTrials {
    pub(crate) config: TrialConfig,
    pub(crate) history: Arc<FileHistory>,
    pub(crate) questions: Arc<ClientQuestions>,
    pub(crate) secrets: Secrets,
}

/// What one trial needs.
#[derive(Clone, Debug)]
struct TrialTools {
    history: Arc<FileHistory>,
    questions: Arc<ClientQuestions>,
    secrets: Secrets,
}

impl CommandTrials for SessionTrials {
    fn begin(
        &self,
        held_by: Option<Arc<dyn ProcessLauncher>>,
        scratch_directory: PathBuf,
    ) -> CommandTrialFuture<'_, Result<Box<dyn CommandTrial>, String>> {
        Box::pin(async move {
            let tools = TrialTools {
                history: Arc::clone(&self.history),
                questions: Arc::clone(&self.questions),
                secrets: self.secrets.clone(),
            };
            let config = self.config.clone();
            let number = TRIAL_COUNTER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{COMMAND_TRIAL_PREFIX}{}-{number}", std::process::id());
            std::fs::create_dir_all(&scratch_directory)
                .map_err(|error| format!("{}: {error}", scratch_directory.display()))?;
            let begun = run_blocking({
                let history = Arc::clone(&self.history);
                move || Trial::begin(history.shared_workspace()?, &config, &name)
            });
            let trial = Arc::new(SharedTrial(Mutex::new(Some(TrialGuard(Some(begun.await?))))));
            let launcher = TrialLauncher { trial: Arc::clone(&trial), held_by, scratch_directory };
            let launcher: Arc<dyn ProcessLauncher> = Arc::new(launcher);
            Ok(Box::new(PendingTrial { trial, launcher, tools }) as Box<dyn CommandTrial>)
        })
    }
}

/// Discards the trial when dropped.
#[derive(Debug)]
struct TrialGuard(Option<Trial>);

impl Drop for TrialGuard {
    fn drop(&mut self) {
        if let Some(trial) = self.0.take() {
            trial.discard();
        }
    }
}

/// A trial shared with its command's launcher until the user has decided.
#[derive(Debug)]
struct SharedTrial(Mutex<Option<TrialGuard>>);

impl SharedTrial {
    fn take(&self) -> Option<TrialGuard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn wrap_command(&self, command: &Command, writable: &[PathBuf]) -> io::Result<Command> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let trial = guard.as_ref().and_then(|guard| guard.0.as_ref());
        let trial = trial.ok_or_else(|| io::Error::other("the trial is over"))?;
        Ok(trial.wrap_command(command, writable))
    }
}

#[derive(Debug)]
struct PendingTrial {
    trial: Arc<SharedTrial>,
    launcher: Arc<dyn ProcessLauncher>,
    tools: TrialTools,
}

impl CommandTrial for PendingTrial {
    fn launcher(&self) -> Arc<dyn ProcessLauncher> {
        Arc::clone(&self.launcher)
    }

    fn settle(
        self: Box<Self>,
        ended: TriedCommand,
    ) -> CommandTrialFuture<'static, Result<TrialVerdict, String>> {
        let Self { trial, tools, .. } = *self;
        Box::pin(async move {
            let taken = trial.take().ok_or("the trial is over")?;
            let looked = run_blocking({
                let tools = tools.clone();
                move || look_at(taken, &tools)
            });
            let (trial, preview) = looked.await?;
            if preview.is_empty() {
                return Ok(TrialVerdict::NothingChanged);
            }
            let question = build_question(&ended, &preview, &tools.secrets);
            match Arc::clone(&tools.questions).ask(question).await {
                Some(PermissionAnswer::Allow { .. }) => {
                    run_blocking(move || apply(&trial, &tools)).await.map(TrialVerdict::Applied)
                }
                Some(PermissionAnswer::Deny { message, .. }) => Ok(TrialVerdict::Refused(message)),
                None => Ok(TrialVerdict::Refused(String::new())),
            }
        })
    }
}

fn look_at(
    mut guard: TrialGuard,
    tools: &TrialTools,
) -> Result<(TrialGuard, TrialPreview), String> {
    let shared = tools.history.shared_workspace()?;
    let trial = guard.0.as_mut().ok_or("the trial is gone")?;
    trial.capture(shared, &tools.secrets)?;
    let preview = trial.preview(shared).map_err(|error| error.to_string())?;
    Ok((guard, preview))
}

fn apply(guard: &TrialGuard, tools: &TrialTools) -> Result<String, String> {
    let shared = tools.history.shared_workspace()?;
    let trial = guard.0.as_ref().ok_or("the trial is gone")?;
    match trial.accept(shared, &OverwriteChoice::Refuse) {
        Ok(accepted) => {
            let files = match accepted.files {
                1 => "1 file changed".to_owned(),
                count => format!("{count} files changed"),
            };
            Ok(match accepted.left.is_empty() {
                true => files,
                false => {
                    format!("{files}; not changed: {}", crate::rewind::join_paths(&accepted.left))
                }
            })
        }
        Err(error @ (TrialError::ChangedByOthers(_) | TrialError::NotEnded)) => {
            Err(error.to_string())
        }
        Err(TrialError::Snapshots(words)) => Err(words),
    }
}

fn build_question(
    ended: &TriedCommand,
    preview: &TrialPreview,
    secrets: &Secrets,
) -> PermissionQuestion {
    let diff = render_differences(&preview.files);
    let clean = |text: &str| shorten(&secrets.redact(text));
    let outside: Vec<String> = preview
        .outside
        .iter()
        .map(|change| format!("{} ({})", change.path, change.count))
        .collect();
    let input = json!({
        "command": ended.command,
        "exit_code": ended.exit_code,
        "output": clean(&ended.output),
        "diff": clean(&diff),
        "files": preview.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>(),
        "outside_snapshots": outside,
        "changes_git": preview.changes_git,
        "conflicts": preview.conflicts,
    });
    let count = preview.files.len();
    let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    PermissionQuestion {
        call: ToolCall {
            id: ended.call_id.as_str().into(),
            name: APPLY_TOOL.into(),
            input: Json::from_checked(&input.to_string()),
            signature: None,
        },
        why: format!("the command ran on a trial copy and would change {files}"),
        suggestions: Vec::new(),
        agent: None,
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().find(|(at, _)| *at >= SHOWN_BYTES_MAX) {
        Some((at, _)) => {
            format!("{}\n[{} more bytes]", text.get(..at).unwrap_or_default(), text.len() - at)
        }
        None => text.to_owned(),
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(error.to_string()))
}

/// Starts commands on a trial, with the usual confinement.
#[derive(Debug)]
struct TrialLauncher {
    trial: Arc<SharedTrial>,
    held_by: Option<Arc<dyn ProcessLauncher>>,
    scratch_directory: PathBuf,
}

impl ProcessLauncher for TrialLauncher {
    fn prepare(&self, launch: &LaunchRequest<'_>) -> Result<Box<dyn PreparedLaunch>, String> {
        let held = match &self.held_by {
            Some(launcher) => Some(launcher.prepare(launch)?),
            None => None,
        };
        let command = held.is_none().then(|| launch.build_command());
        let trial = Arc::clone(&self.trial);
        let writable = vec![self.scratch_directory.clone()];
        Ok(Box::new(TriedLaunch { trial, held, command, writable }))
    }
}

#[derive(Debug)]
struct TriedLaunch {
    trial: Arc<SharedTrial>,
    held: Option<Box<dyn PreparedLaunch>>,
    command: Option<Command>,
    writable: Vec<PathBuf>,
}

impl PreparedLaunch for TriedLaunch {
    fn spawn(&mut self, start: &mut SpawnCommandFn<'_>) -> io::Result<Child> {
        let Self { trial, held, command, writable } = self;
        match held {
            Some(held) => held.spawn(&mut |command| start(trial.wrap_command(&command, writable)?)),
            None => {
                let command = command.take();
                let command = command.ok_or_else(|| io::Error::other("it was started before"))?;
                start(trial.wrap_command(&command, writable)?)
            }
        }
    }

    /// A background command changes files while other work does, so its changes cannot be reviewed.
    fn continue_in_background(&mut self) -> bool {
        false
    }

    fn finish(self: Box<Self>, end: &LaunchExit) -> Vec<String> {
        self.held.map(|held| held.finish(end)).unwrap_or_default()
    }
}
