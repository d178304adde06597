//! `/status`, `/doctor`, `/export` and `/copy`: what this session is, and what was said in it, elsewhere.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;
use windlass_journal::session_catalogue::{JournalExportFormat, export_session};
use windlass_settings::{SettingsFileState, load_settings};

use super::super::prompt_handler::{PromptHandler, no_journal_message};
use super::super::{appearance, words};
use super::effort::name_effort;
use crate::PromptAction;
use windlass_host::command_error::CommandError;

impl PromptHandler {
    pub(super) async fn show_status(&self) -> Result<PromptAction, CommandError> {
        let settings = self.read_current_settings().await?;
        let request = self.build_settings_request()?;
        let loaded = load_settings(&request);
        let files: Vec<String> = loaded
            .files
            .iter()
            .filter(|file| file.state == SettingsFileState::Read)
            .map(|file| self.shorten_path(&file.name))
            .collect();
        let servers = self.expander.tools.mcp_servers.server_reports();
        let is_running = |task: &windlass_driver::BackgroundTask| task.end_summary.is_none();
        let tasks = self.session.background_tasks();
        let running = tasks.into_iter().filter(is_running).count();
        let saved = self.journal.as_deref().map(appearance::abbreviate_home);
        let values = [
            env!("CARGO_PKG_VERSION").to_owned(),
            self.expander.variables.session_id.clone(),
            appearance::abbreviate_home(&self.cwd),
            settings.model.name.as_str().to_owned(),
            name_effort(settings.effort).to_owned(),
            crate::words::label_mode(settings.policy.mode).to_owned(),
            join_or_none(&files),
            servers.len().to_string(),
            running.to_string(),
            saved.unwrap_or_else(|| words::STATUS_NOT_SAVED.to_owned()),
        ];
        let width = words::STATUS_ROWS.iter().map(|name| name.len()).max().unwrap_or(0);
        let rows = words::STATUS_ROWS.iter().zip(values);
        let rows: Vec<String> =
            rows.map(|(name, value)| format!("  {name:width$}  {value}")).collect();
        Ok(PromptAction::ShowText(format!("{}\n", rows.join("\n"))))
    }

    /// Runs the subcommand of the same name: it must say the same as outside, so it gets our environment.
    pub(super) async fn run_doctor(&self) -> Result<PromptAction, CommandError> {
        let failed =
            |error: std::io::Error| CommandError::failure(words::describe_no_doctor(&error));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command
            .arg("doctor")
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let child = command.spawn().map_err(failed)?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let output = tokio::time::timeout(DOCTOR_TIMEOUT, child.wait_with_output()).await;
        if let (Err(_), Some(group)) = (&output, group) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let output = output.map_err(|_| failed(ErrorKind::TimedOut.into()))?.map_err(failed)?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok(PromptAction::ShowText(text))
    }

    /// Writes a new file; an existing one stays.
    pub(super) fn export_conversation(
        &self,
        file: Option<&str>,
    ) -> Result<PromptAction, CommandError> {
        let Some(journal) = &self.journal else { return Ok(no_journal_message()) };
        let id = &self.expander.variables.session_id;
        let name = match file {
            Some(file) => file.to_owned(),
            None => format!("session-{}.md", id.get(..8).unwrap_or(id)),
        };
        let path = self.cwd.join(&name);
        write_markdown(journal, &path)?;
        let place = self.shorten_path(&path.to_string_lossy());
        Ok(PromptAction::ShowResult(words::describe_export(&place), None))
    }
}

fn write_markdown(journal: &Path, path: &Path) -> Result<(), CommandError> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|error| CommandError::failure(words::describe_export_failure(path, &error)))?;
    export_session(journal, JournalExportFormat::Markdown, &mut file)
        .map_err(|error| CommandError::failure(error.to_string()))
}

fn join_or_none(files: &[String]) -> String {
    match files.is_empty() {
        true => words::NONE.to_owned(),
        false => files.join(", "),
    }
}

/// Longer than it takes to ask a model server that does not answer.
const DOCTOR_TIMEOUT: Duration = Duration::from_secs(60);
