//! `windlass fork`: a copy of a session from any of its points on, with the files of that moment in a
//! folder of their own. The original is only read.

use std::path::{Path, PathBuf};

use windlass_driver::snapshot::{SharedWorkspace, SnapshotCopy, copy_snapshot};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::random;
use windlass_journal::session_catalogue::ListedSession;
use windlass_vocabulary::MicroUsd;

use super::known_secrets::load_known_secrets;
use super::rewind_point::{RewindTarget, find_target};
use super::snapshots::{open_change_log, snapshot_config};
use super::{fork, open_catalogue, rewind_point};

/// What is copied, and where to.
#[derive(Clone, Debug)]
pub struct ForkArguments {
    /// Before this prompt or call; as it is now, if `None`.
    pub at: Option<String>,
    pub files: ForkFiles,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkFiles {
    /// The copy works in the same directory.
    Shared,
    /// The copy has its own files in another directory.
    Beside,
    /// The copy has files of its own here.
    In(PathBuf),
}

#[derive(Clone, Debug)]
pub struct ForkedSession {
    pub id: String,
    /// Where it works.
    pub directory: PathBuf,
    /// What it begins before, for people.
    pub point: Option<String>,
    pub copied: Option<SnapshotCopy>,
    /// The journal of the copy.
    pub journal: PathBuf,
    /// The files of that moment, if they are not as they are now.
    pub snapshot: Option<String>,
}

pub fn fork_with_files(
    source: &ListedSession,
    arguments: &ForkArguments,
    lookup: &impl EnvLookup,
) -> Result<ForkedSession, CommandError> {
    let kept = open_change_log(&source.path)?;
    let target = match &arguments.at {
        None => None,
        Some(at) => {
            let messages = rewind_point::trace_messages(&source.path, &source.summary.id)?;
            Some(find_target(&messages, &kept, at)?)
        }
    };
    let project = source.summary.project.as_deref().map(PathBuf::from).ok_or_else(|| {
        CommandError::failure("the session does not say in which directory it works")
    })?;
    let id = random::generate_uuid();
    let place = match &arguments.files {
        ForkFiles::Shared => None,
        ForkFiles::Beside => Some(choose_place(&project, &id)?),
        ForkFiles::In(place) => Some(place.clone()),
    };
    let files_at = target.as_ref().map(|target| target.point.files);
    let spans = files_at.map(|record| kept.find_spans_after(record)).unwrap_or_default();
    let snapshot = spans.into_iter().find(|span| span.root == project).map(|span| span.from);
    let copied = match &place {
        None => None,
        Some(place) => {
            let config = snapshot_config(&project, lookup)
                .ok_or_else(|| CommandError::failure("there is no place for snapshots"))?;
            let shared = SharedWorkspace::new(&project, config)
                .with_known_secrets(load_known_secrets(lookup));
            Some(copy_snapshot(&shared, snapshot.as_deref(), place).map_err(|words| {
                CommandError::failure(format!("the files cannot be copied: {words}"))
            })?)
        }
    };
    let elsewhere = place.map(|place| place.canonicalize().unwrap_or(place));
    let directory = elsewhere.clone().unwrap_or(project);
    let journal = open_catalogue(lookup)?.journal_path(&directory, &id);
    if let Some(folder) = journal.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| CommandError::failure(format!("{}: {error}", folder.display())))?;
    }
    let until = target.as_ref().map(|target| target.point.conversation);
    fork::fork_session(&source.path, until, &journal, &id, elsewhere.as_deref())?;
    let point = target.as_ref().map(RewindTarget::describe);
    Ok(ForkedSession { id, directory, point, copied, journal, snapshot })
}

/// A folder beside the original, named after it and the session.
fn choose_place(project: &Path, id: &str) -> Result<PathBuf, CommandError> {
    let name = project.file_name().map(|name| name.to_string_lossy().into_owned());
    let (Some(name), Some(parent)) = (name, project.parent()) else {
        return Err(CommandError::usage("give a folder: --workspace=DIR"));
    };
    Ok(parent.join(format!("{name}-{}", id.get(..8).unwrap_or(id))))
}

/// The number and text of a session's last prompt, or of the one with this name.
pub fn find_prompt(
    source: &ListedSession,
    at: Option<&str>,
) -> Result<(String, String), CommandError> {
    let messages = rewind_point::trace_messages(&source.path, &source.summary.id)?;
    let last = messages.iter().filter(|traced| traced.is_prompt).count().to_string();
    let target = find_target(&messages, &open_change_log(&source.path)?, at.unwrap_or(&last))?;
    match target.number {
        Some(number) => Ok((number.to_string(), target.point.text)),
        None => Err(CommandError::usage("a call has no prompt to repeat; give one with --prompt")),
    }
}

/// What a session has spent so far, as its own limit counts it.
pub fn read_spending(journal: &Path) -> Result<MicroUsd, CommandError> {
    windlass_journal::fold(journal, &rewind_point::fallback_settings())
        .map(|folded| folded.state.ledger.committed())
        .map_err(|error| super::journal_error(&error))
}
