//! Finds the session that the user named. Never guesses: if several match, or none, the error lists
//! the candidates.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use windlass_journal::{
    JournalError, ListedSession, SessionCatalogue, SessionSummary, SessionTrash, TrashedSession,
    is_rewound, transcript,
};

use super::damaged_session::DamagedSession;
use super::journal_error;
use crate::directories::working_directory;
use windlass_host::command_error::CommandError;
use windlass_host::display::text_table::format_time_ago;
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;
use windlass_host::environment::EnvLookup;
use windlass_host::random;
use windlass_provider::config::Config;

/// The session that is called this, or the newest of this directory.
pub fn find_session_here(
    wanted: Option<&str>,
    lookup: &impl EnvLookup,
) -> Result<ListedSession, CommandError> {
    let catalogue = super::open_catalogue(lookup)?;
    let cwd = working_directory()?;
    match wanted {
        Some(wanted) => find_session(&catalogue, Some(wanted), &cwd),
        None => find_newest_session(&catalogue, &cwd),
    }
}

/// The session that is called this, or the newest of this directory, also one without a prompt: a rewind
/// to before the first prompt leaves none.
pub fn find_rewound_session(
    wanted: Option<&str>,
    lookup: &impl EnvLookup,
) -> Result<ListedSession, CommandError> {
    if wanted.is_some() {
        return find_session_here(wanted, lookup);
    }
    let here = super::open_catalogue(lookup)?
        .list(Some(&working_directory()?))
        .map_err(|error| journal_error(&error))?;
    here.into_iter().next().ok_or_else(no_session_error)
}

/// The same as [`find_session_here`], also if only the transcript of the session is there.
pub fn find_readable_session(
    wanted: Option<&str>,
    lookup: &impl EnvLookup,
) -> Result<ReadableSession, CommandError> {
    let catalogue = super::open_catalogue(lookup)?;
    let cwd = working_directory()?;
    let root = super::transcript_root(&Config::load(lookup)?, lookup);
    let source = match wanted {
        Some(_) => find_resume_source(&catalogue, wanted, &cwd, root.as_deref())?,
        None => {
            find_newest_source(&catalogue, &cwd, root.as_deref())?.ok_or_else(no_session_error)?
        }
    };
    let from_transcript = |path: PathBuf| {
        let summary = transcript::summarize_transcript(&path).ok_or_else(|| {
            CommandError::usage(format!("there are no messages in {}", path.display()))
        })?;
        Ok(ReadableSession::Transcript(ListedSession { path, summary }))
    };
    match source {
        ResumeSource::Journal(listed) => Ok(ReadableSession::Journal(*listed)),
        ResumeSource::Transcript(_, path) => from_transcript(path),
        ResumeSource::Damaged(damaged) => from_transcript(damaged.transcript),
    }
}

/// A session that can be shown.
#[derive(Clone, Debug)]
pub enum ReadableSession {
    Journal(ListedSession),
    /// Its path is that of the transcript.
    Transcript(ListedSession),
}

fn find_newest_session(
    catalogue: &SessionCatalogue,
    cwd: &Path,
) -> Result<ListedSession, CommandError> {
    let here = catalogue.list(Some(cwd)).map_err(|error| journal_error(&error))?;
    here.into_iter().find(has_prompt).ok_or_else(no_session_error)
}

pub(super) fn no_session_error() -> CommandError {
    CommandError::usage(
        "no session in this directory yet; `windlass sessions list --all` lists those of other \
         directories",
    )
}

/// The newest session of this directory, even if its journal is unusable or it belongs to another
/// program. `None` if there is none.
pub(super) fn find_newest_source(
    catalogue: &SessionCatalogue,
    cwd: &Path,
    transcripts: Option<&Path>,
) -> Result<Option<ResumeSource>, CommandError> {
    let here = catalogue.list(Some(cwd)).map_err(|error| journal_error(&error))?;
    let known: BTreeSet<String> = here.iter().map(|listed| listed.summary.id.clone()).collect();
    let newest = here.into_iter().find(has_prompt);
    let Some(root) = transcripts else {
        return Ok(newest.map(|listed| ResumeSource::Journal(Box::new(listed))));
    };
    if let Some(damaged) = DamagedSession::find_newest(catalogue, cwd, root, newest.as_ref()) {
        return Ok(Some(ResumeSource::Damaged(damaged)));
    }
    let others = transcript::list_transcript_sessions(root, Some(cwd), 1, |id| known.contains(id));
    let than = newest.as_ref().map_or(0, |listed| listed.summary.updated);
    let other = others.into_iter().find(|listed| listed.summary.updated > than);
    Ok(match other {
        Some(ListedSession { path, summary }) => Some(ResumeSource::Transcript(summary.id, path)),
        None => newest.map(|listed| ResumeSource::Journal(Box::new(listed))),
    })
}

/// A transcript that is named by its path. Its session has the id of the file, if that is one.
fn find_transcript_file(wanted: &str, cwd: &Path) -> Option<ResumeSource> {
    let path = cwd.join(wanted);
    let is_file = wanted.ends_with(".jsonl") && path.is_file();
    let id = path.file_stem()?.to_str()?.to_ascii_lowercase();
    let id = if transcript::is_uuid(&id) { id } else { random::generate_uuid() };
    is_file.then_some(ResumeSource::Transcript(id, path))
}

/// The one session of another program whose id begins like this.
fn find_by_beginning(
    catalogue: &SessionCatalogue,
    wanted: &str,
    cwd: &Path,
    root: &Path,
) -> Result<Option<ResumeSource>, CommandError> {
    let is_beginning = wanted.len() >= ID_BEGINNING_MIN
        && wanted.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if !is_beginning {
        return Ok(None);
    }
    let wanted = wanted.to_ascii_lowercase();
    let known = catalogue.list(None).map_err(|error| journal_error(&error))?;
    let is_known = |id: &str| known.iter().any(|listed| listed.summary.id == id);
    for project in [Some(cwd), None] {
        let all = transcript::list_transcript_sessions(root, project, 2, |id| {
            !id.starts_with(&wanted) || is_known(id)
        });
        match all.as_slice() {
            [] => {}
            [ListedSession { path, summary }] => {
                return Ok(Some(ResumeSource::Transcript(summary.id.clone(), path.clone())));
            }
            several => {
                return Err(CommandError::usage(format!(
                    "several sessions match `{wanted}`; {}",
                    list_candidates(several.iter())
                )));
            }
        }
    }
    Ok(None)
}

#[derive(Debug)]
pub(super) enum ResumeSource {
    /// A session that is kept here.
    Journal(Box<ListedSession>),
    /// One of which only the transcript for other programs is there: its id, and the file.
    Transcript(String, PathBuf),
    /// One whose journal cannot be used, but whose transcript can.
    Damaged(DamagedSession),
}

/// The session that is called this, also if only its transcript is there.
pub(super) fn find_resume_source(
    catalogue: &SessionCatalogue,
    wanted: Option<&str>,
    cwd: &Path,
    transcripts: Option<&Path>,
) -> Result<ResumeSource, CommandError> {
    if let Some(file) = wanted.and_then(|wanted| find_transcript_file(wanted, cwd)) {
        return Ok(file);
    }
    let id = wanted.filter(|wanted| transcript::is_uuid(wanted)).map(str::to_ascii_lowercase);
    let found = find_session(catalogue, id.as_deref().or(wanted), cwd);
    let is_empty = found.as_ref().map_or(true, |listed| !has_prompt(listed));
    if let (true, Some(id), Some(root)) = (is_empty, &id, transcripts)
        && let Some(damaged) = DamagedSession::find(catalogue, cwd, id, root)
    {
        return Ok(ResumeSource::Damaged(damaged));
    }
    if let (Err(_), Some(id), Some(root)) = (&found, id, transcripts)
        && let Some(path) = transcript::find_transcript(root, cwd, &id)
    {
        return Ok(ResumeSource::Transcript(id, path));
    }
    let error = match found {
        Ok(listed) => return Ok(ResumeSource::Journal(Box::new(listed))),
        Err(error) => error,
    };
    let (Some(wanted), Some(root)) = (wanted, transcripts) else { return Err(error) };
    if let Some(found) = find_by_beginning(catalogue, wanted, cwd, root)? {
        return Ok(found);
    }
    // Other programs give names too, and write them into the transcript alone.
    match transcript::find_by_title(root, cwd, wanted).as_slice() {
        [] => Err(error),
        [(id, path)] => Ok(match catalogue.find(id, Some(cwd)) {
            Ok(listed) => ResumeSource::Journal(Box::new(listed)),
            Err(_) => ResumeSource::Transcript(id.clone(), path.clone()),
        }),
        more => {
            let ids: Vec<&str> = more.iter().map(|(id, _)| id.as_str()).collect();
            Err(CommandError::usage(format!(
                "{} sessions are called `{wanted}`; give the id of one: {}",
                ids.len(),
                ids.join(", ")
            )))
        }
    }
}

pub fn find_session(
    catalogue: &SessionCatalogue,
    wanted: Option<&str>,
    cwd: &Path,
) -> Result<ListedSession, CommandError> {
    let Some(wanted) = wanted else {
        let here = catalogue.list(Some(cwd)).map_err(|error| journal_error(&error))?;
        let problem = "--resume needs the id or the name of a session";
        return Err(CommandError::usage(format!("{problem}; {}", list_candidates(here.iter()))));
    };
    match catalogue.find(wanted, Some(cwd)) {
        Ok(listed) => Ok(listed),
        Err(JournalError::NotOne { found, .. }) => {
            let all = catalogue.list(None).map_err(|error| journal_error(&error))?;
            Err(match found {
                0 => missing_session_error(catalogue, wanted, &all),
                found => {
                    let meant = all.iter().filter(|listed| may_match(&listed.summary, wanted));
                    CommandError::usage(format!(
                        "{found} sessions match `{wanted}`; {}",
                        list_candidates(meant)
                    ))
                }
            })
        }
        Err(error) => Err(journal_error(&error)),
    }
}

/// A session that was cleaned up is named with the command that restores it.
fn missing_session_error(
    catalogue: &SessionCatalogue,
    wanted: &str,
    all: &[ListedSession],
) -> CommandError {
    let trash = SessionTrash::for_sessions(catalogue.root());
    let trashed = trash.list().into_iter().find(|trashed| trashed.id.starts_with(wanted));
    CommandError::usage(match trashed.filter(|_| !wanted.is_empty()) {
        Some(TrashedSession { id, folder, .. }) => format!(
            "the session `{wanted}` was cleaned up and is in {}; restore it first: windlass \
             sessions restore {id}",
            folder.display()
        ),
        None => format!("there is no session `{wanted}`; {}", list_candidates(all.iter())),
    })
}

fn may_match(summary: &SessionSummary, wanted: &str) -> bool {
    let name = wanted.to_lowercase();
    let title = summary.title.as_deref().unwrap_or_default().to_lowercase();
    summary.id.starts_with(wanted) || title.contains(&name)
}

/// A run that was refused before the first message leaves nothing to resume. A session that was
/// rewound to its beginning still has its cost and id.
fn has_prompt(listed: &ListedSession) -> bool {
    !listed.summary.prompt.is_empty() || is_rewound(&listed.path)
}

fn list_candidates<'a>(sessions: impl Iterator<Item = &'a ListedSession>) -> String {
    let words: Vec<String> = sessions
        .filter(|listed| has_prompt(listed))
        .take(CANDIDATES_MAX)
        .map(|ListedSession { summary, .. }| {
            let title = summary.title.as_deref().unwrap_or(&summary.prompt);
            format!(
                "{} \"{}\" ({})",
                summary.id,
                truncate_with_ellipsis(title, TITLE_MAX),
                format_time_ago(summary.updated)
            )
        })
        .collect();
    match words.is_empty() {
        true => "there are none yet".to_owned(),
        false => {
            format!("choose one: {}; `windlass sessions list --all` lists all", words.join(", "))
        }
    }
}

/// Characters of an id from which on it is looked for in the transcripts of other programs.
const ID_BEGINNING_MIN: usize = 4;
const CANDIDATES_MAX: usize = 5;
const TITLE_MAX: usize = 40;
