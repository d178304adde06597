//! `windlass export`: a session as a file to share. Secrets are removed before anything is written,
//! and the user is told what was removed.

mod cut_secrets;
mod html_page;
mod page_answers;
mod redaction;
mod trace_events;

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_host::command_error::CommandError;
use windlass_host::environment::process_environment;
use windlass_journal::find_journal_files;
use windlass_journal::session_catalogue::{JournalExportFormat, export_session};

use crate::viewer::{FoundSession, ViewFailure, Viewer, list_agent_journals};
use redaction::ExportRedactor;

#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// Id or name; `None` for the newest session of this directory.
    pub session: Option<String>,
    pub format: ExportFormat,
    /// `-` is stdout.
    pub file: PathBuf,
    /// Also removes the home and project paths.
    pub redacts_paths: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One self-contained page that makes no requests.
    Html,
    Markdown,
    /// All data that the page shows.
    Json,
    /// The timeline as Chrome trace events, which Perfetto can open.
    Trace,
}

/// Writes the file. Returns a message for the user.
pub fn run_export(options: &ExportOptions) -> Result<String, CommandError> {
    let listed = find_session_here(options.session.as_deref(), &process_environment)?;
    let viewer = Viewer::open(None, None, Some(listed.summary.id.clone()))?;
    let failed = |failure: ViewFailure| {
        CommandError::failure(format!("the session cannot be exported: {}", failure.message()))
    };
    let session = viewer.find(&listed.summary.id).map_err(failed)?;
    let project = listed.summary.project.as_deref().filter(|_| options.redacts_paths);
    let mut redactor = ExportRedactor::new(options.redacts_paths, project);
    learn_secrets(&session.journal, &mut redactor, AGENT_LEVELS_MAX).map_err(|error| {
        CommandError::failure(format!("the session cannot be looked through for keys: {error}"))
    })?;
    let text = render_export(&viewer, &session, options.format, &mut redactor).map_err(failed)?;
    write_file(&options.file, text.as_bytes()).map_err(|error| {
        CommandError::failure(format!("{} cannot be written: {error}", options.file.display()))
    })?;
    Ok(redactor.describe(&options.file))
}

/// Learns the secrets of the session and of its agents, before any text is cut to a length.
fn learn_secrets(journal: &Path, redactor: &mut ExportRedactor, levels: usize) -> io::Result<()> {
    let Some(levels) = levels.checked_sub(1) else { return Ok(()) };
    for file in find_journal_files(journal) {
        redactor.learn_journal_file(&file)?;
    }
    for (_, agent) in list_agent_journals(journal) {
        learn_secrets(&agent, redactor, levels)?;
    }
    Ok(())
}

fn render_export(
    viewer: &Viewer,
    session: &FoundSession,
    format: ExportFormat,
    redactor: &mut ExportRedactor,
) -> Result<String, ViewFailure> {
    // Values are redacted one by one, so that what comes out is still JSON.
    Ok(match format {
        ExportFormat::Html => {
            let data = page_answers::collect_page_answers(viewer, session, redactor)?;
            html_page::render_page(&data)
                .map_err(|error| ViewFailure::failed(&error.to_string()))?
        }
        ExportFormat::Json => {
            let data = page_answers::collect_page_answers(viewer, session, redactor)?;
            format!("{data}\n")
        }
        ExportFormat::Trace => {
            let mut events = trace_events::build_trace_events(viewer, session)?;
            redactor.redact_value(&mut events, "timeline");
            format!("{events}\n")
        }
        ExportFormat::Markdown => {
            let mut bytes = Vec::new();
            export_session(&session.journal, JournalExportFormat::Markdown, &mut bytes)?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            redactor.redact_text(&text, "conversation")
        }
    })
}

/// Writes a file that only this user can read, atomically.
fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path == Path::new("-") {
        let mut out = io::stdout().lock();
        return match out.write_all(bytes).and_then(|()| out.flush()) {
            // It is no error if the reader closes the pipe early.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        };
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = PathBuf::from(name);
    let mut options = std::fs::OpenOptions::new();
    let written = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Levels of nested agents that an export includes.
const AGENT_LEVELS_MAX: usize = 4;

/// The viewer's responses by request path.
pub(crate) type AnswersByPath = serde_json::Map<String, Value>;
