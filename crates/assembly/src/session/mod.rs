//! Selects the session of a run, and its files.
//!
//! Selected first, but created last: nothing is written until everything else about a run is valid.
//! A session that cannot be stored is refused, because losing it silently would be worse than not
//! starting it.

pub mod cleanup;
mod damaged_session;
mod fork;
pub mod fork_with_files;
pub mod git_branch;
pub mod journal_replay;
mod known_secrets;
pub mod predecessor;
pub mod rewind_point;
pub mod session_lookup;
pub mod session_pack;
pub mod snapshots;
pub mod trials;

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use windlass_driver::{TranscriptConfig, TranscriptContext};
use windlass_journal::disk::RelayedDisk;
use windlass_journal::transcript::{self, ImportedConversation, TranscriptFile, is_uuid};
use windlass_journal::{
    JournalEntry, JournalHead, JournalReader, LastRun, ListedSession, SessionCatalogue,
    Transcriber, has_unfinished_run, read_last_run, rewind, session_catalogue,
};
use windlass_vocabulary::SessionId;

use crate::options::SessionOptions;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::regular_file::read_or_skip;
use windlass_host::user_directories::store_relay_socket;
use windlass_host::{random, user_directories};
use windlass_provider::config::{Config, TranscriptLocation};

use cleanup::SessionCleanup;
use session_lookup::ResumeSource;
pub use session_lookup::find_session;

#[derive(Debug)]
pub struct SelectedSession {
    pub id: String,
    /// Where it is written down; nowhere, if nothing is kept.
    pub journal: Option<PathBuf>,
    /// Has something been said in it?
    pub is_continued: bool,
    project: PathBuf,
    forked_from: Option<PathBuf>,
    /// The last record of the source session that is used.
    last_record: Option<u64>,
    /// The source session, if it only has a transcript.
    imported: Option<ImportedConversation>,
    /// A journal that cannot be used, to be set aside.
    damaged: Option<PathBuf>,
    /// Where it is written down for other programs.
    transcript_path: Option<PathBuf>,
    transcript_root: Option<PathBuf>,
    name: Option<String>,
    catalogue: Option<SessionCatalogue>,
    /// The socket of the process that also keeps the journal.
    relay: Option<PathBuf>,
}

pub fn open_catalogue(lookup: &impl EnvLookup) -> Result<SessionCatalogue, CommandError> {
    let sessions = user_directories::sessions_directory(lookup).ok_or_else(|| {
        CommandError::failure(format!(
            "there is no place for sessions, because HOME is not set to an absolute path; set HOME or XDG_STATE_HOME, \
             or {PERSISTENCE_ADVICE}"
        ))
    })?;
    Ok(SessionCatalogue::new(sessions))
}

/// The transcript that is written for other programs.
pub fn find_transcript(
    listed: &ListedSession,
    lookup: &impl EnvLookup,
) -> Result<Option<PathBuf>, CommandError> {
    let root = transcript_root(&Config::load(lookup)?, lookup);
    let project = listed.summary.project.as_deref().map(Path::new);
    Ok(root
        .zip(project)
        .map(|(root, project)| transcript::transcript_path(&root, project, &listed.summary.id)))
}

/// Sessions of other programs, of this directory or of all, newest first, up to a limit: those that
/// only have a transcript.
pub(crate) fn list_foreign_sessions(
    known: &[ListedSession],
    project: Option<&Path>,
    count_max: usize,
    lookup: &impl EnvLookup,
) -> Result<Vec<ListedSession>, CommandError> {
    let Some(root) = transcript_root(&Config::load(lookup)?, lookup) else { return Ok(Vec::new()) };
    let known: BTreeSet<&str> = known.iter().map(|listed| listed.summary.id.as_str()).collect();
    Ok(transcript::list_transcript_sessions(&root, project, count_max, |id| known.contains(id)))
}

/// How many [`list_foreign_sessions`] would find without a limit.
pub(crate) fn count_foreign_sessions(
    known: &[ListedSession],
    project: Option<&Path>,
    lookup: &impl EnvLookup,
) -> Result<usize, CommandError> {
    let Some(root) = transcript_root(&Config::load(lookup)?, lookup) else { return Ok(0) };
    let known: BTreeSet<&str> = known.iter().map(|listed| listed.summary.id.as_str()).collect();
    Ok(transcript::count_transcript_sessions(&root, project, |id| known.contains(id)))
}

/// The session with this whole id goes, with everything that belongs to it.
pub fn delete_session(id: &str, lookup: &impl EnvLookup) -> Result<(), CommandError> {
    let catalogue = open_catalogue(lookup)?;
    let all = catalogue.list(None).map_err(|error| journal_error(&error))?;
    let listed = all
        .iter()
        .find(|listed| listed.summary.id == id)
        .ok_or_else(|| CommandError::usage(format!("there is no session with the id `{id}`")))?;
    delete_listed(&catalogue, listed, lookup)
}

pub fn delete_listed(
    catalogue: &SessionCatalogue,
    listed: &ListedSession,
    lookup: &impl EnvLookup,
) -> Result<(), CommandError> {
    catalogue.delete(&listed.path).map_err(|error| journal_error(&error))?;
    if let Some(transcript) = find_transcript(listed, lookup)? {
        cleanup::remove_transcript(&transcript);
    }
    Ok(())
}

/// Selects the session. Creates no files.
pub(crate) fn select_session(
    options: &SessionOptions,
    cwd: &Path,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<SelectedSession, CommandError> {
    check_flags(options)?;
    let id = match &options.session_id {
        Some(id) => check_session_id(id)?,
        None => random::generate_uuid(),
    };
    let project = cwd.to_owned();
    let name = options.name.clone();
    let new = SelectedSession {
        id,
        journal: None,
        is_continued: false,
        project,
        forked_from: None,
        last_record: None,
        imported: None,
        damaged: None,
        transcript_path: None,
        transcript_root: None,
        name,
        catalogue: None,
        relay: options.journal_relay.clone().or_else(|| store_relay_socket(lookup)),
    };
    if options.no_session_persistence {
        return Ok(new);
    }
    if let Some(journal) = &options.journal {
        return Ok(select_by_path(new, &cwd.join(journal)));
    }
    let catalogue = open_catalogue(lookup)?;
    let root = transcript_root(config, lookup);
    let needs_older =
        options.fork_session || options.continue_run || options.resume_session_at.is_some();
    let older = match &options.resume {
        Some(wanted) => Some(session_lookup::find_resume_source(
            &catalogue,
            wanted.as_deref(),
            cwd,
            root.as_deref(),
        )?),
        None if options.goes_on => {
            let found = session_lookup::find_newest_source(&catalogue, cwd, root.as_deref())?;
            if found.is_none() && needs_older {
                return Err(session_lookup::no_session_error());
            }
            found
        }
        None => None,
    };
    let mut session = select_journal(new, catalogue, older, options)?;
    session.transcript_path =
        root.as_ref().map(|root| transcript::transcript_path(root, &session.project, &session.id));
    session.transcript_root = root;
    Ok(session)
}

fn check_flags(options: &SessionOptions) -> Result<(), CommandError> {
    let is_older = options.goes_on || options.resume.is_some();
    if options.from_transcript && !is_older {
        return Err(CommandError::usage("--from-transcript needs a session; add -c or -r ID"));
    }
    if options.fork_session && !is_older {
        return Err(CommandError::usage("--fork-session needs a session to copy; add -c or -r ID"));
    }
    if options.continue_run && !is_older && options.journal.is_none() {
        return Err(CommandError::usage("--continue-run needs a session; add -c or -r ID"));
    }
    if options.resume_session_at.is_some() && !is_older {
        return Err(CommandError::usage("--resume-session-at needs a session; add -c or -r ID"));
    }
    if options.session_id.is_some() && is_older && !options.fork_session {
        return Err(CommandError::usage(
            "--session-id is for a new session, and -c and -r continue one that has an id; add \
             --fork-session, or leave it out",
        ));
    }
    Ok(())
}

/// Where transcripts for other programs are written, if they are.
pub(crate) fn transcript_root(config: &Config, lookup: &impl EnvLookup) -> Option<PathBuf> {
    match &config.transcripts {
        TranscriptLocation::Standard => user_directories::claude_directory(lookup),
        TranscriptLocation::Off => None,
        TranscriptLocation::Below(path) => Some(path.clone()),
    }
}

fn select_journal(
    new: SelectedSession,
    catalogue: SessionCatalogue,
    older: Option<ResumeSource>,
    options: &SessionOptions,
) -> Result<SelectedSession, CommandError> {
    let at = options.resume_session_at.as_deref();
    let drops = options.resume_drops_turn.as_deref();
    let mut session =
        SelectedSession { is_continued: older.is_some(), catalogue: Some(catalogue), ..new };
    match older {
        None => {}
        Some(ResumeSource::Journal(older)) => {
            // Another process may be cleaning up, so mark the session as used.
            cleanup::mark_used(&older.path);
            let summary = older.summary;
            session.last_record = at
                .map(|at| rewind_point::find_last_record(&older.path, &summary.id, at, drops))
                .transpose()?;
            if !options.fork_session {
                let project = summary.project.map(PathBuf::from).unwrap_or(session.project);
                return Ok(SelectedSession {
                    id: summary.id,
                    journal: Some(older.path),
                    project,
                    ..session
                });
            }
            session.forked_from = Some(older.path);
        }
        Some(ResumeSource::Damaged(damaged)) if !options.from_transcript => {
            return Err(damaged.refusal());
        }
        Some(ResumeSource::Damaged(damaged)) => {
            session.imported = Some(import_transcript(&damaged.transcript, at)?);
            if !options.fork_session {
                session.id = damaged.id;
                session.damaged = Some(damaged.journal.clone());
                return Ok(SelectedSession { journal: Some(damaged.journal), ..session });
            }
        }
        Some(ResumeSource::Transcript(id, path)) => {
            if let (Some(at), Some(drops)) = (at, drops) {
                rewind_point::check_dropped_import(&import_transcript(&path, None)?, at, drops)?;
            }
            let mut imported = import_transcript(&path, at)?;
            if options.fork_session {
                // The messages of a copy are other messages.
                imported.lines.clear();
            } else {
                session.id = id;
            }
            session.imported = Some(imported);
        }
    }
    let journal =
        session.catalogue.as_ref().map(|all| all.journal_path(&session.project, &session.id));
    if journal.as_ref().is_some_and(|journal| is_taken(journal)) {
        return Err(CommandError::usage(format!(
            "session {} already exists; continue it with --resume {}",
            session.id, session.id
        )));
    }
    Ok(SelectedSession { journal, ..session })
}

/// Does the session exist? A process that was killed before it wrote anything leaves an empty file,
/// which can neither be resumed nor prevent a new session with this id.
fn is_taken(journal: &Path) -> bool {
    let is_left = |found: std::fs::Metadata| {
        found.is_file() && found.len() == 0 && !session_catalogue::is_being_written(journal)
    };
    journal.symlink_metadata().is_ok_and(|found| !is_left(found))
}

fn import_transcript(
    path: &Path,
    up_to: Option<&str>,
) -> Result<ImportedConversation, CommandError> {
    let imported =
        transcript::import_transcript(path, up_to).map_err(|error| journal_error(&error))?;
    imported.ok_or_else(|| match up_to {
        Some(uuid) => CommandError::usage(format!(
            "--resume-session-at: there is no message {uuid} in {}",
            path.display()
        )),
        None => CommandError::usage(format!("there are no messages in {}", path.display())),
    })
}

/// Selects a journal at a path given by the user. The file may contain the session id.
fn select_by_path(new: SelectedSession, journal: &Path) -> SelectedSession {
    let mut reader = JournalReader::open(journal).ok();
    let first = reader.as_mut().and_then(|reader| reader.next_entry().ok().flatten());
    let head = first.as_ref().and_then(|entry| match entry {
        Ok(JournalEntry::Head(head)) => head.session.as_ref(),
        Ok(JournalEntry::Claim(_) | JournalEntry::Record(_)) | Err(_) => None,
    });
    let id = head.map_or_else(|| new.id.clone(), |session| session.as_str().to_owned());
    SelectedSession { id, journal: Some(journal.to_owned()), is_continued: first.is_some(), ..new }
}

impl SelectedSession {
    /// Is there a run that did not come to its end?
    pub(crate) fn check_unfinished(&self) -> Result<(), CommandError> {
        let ended = || {
            CommandError::usage(format!(
                "the last run of the session {0} has ended; continue with a prompt: windlass -r \
                 {0} -p \"...\"",
                self.id
            ))
        };
        let journal = self.journal.as_ref().filter(|_| self.is_continued).ok_or_else(ended)?;
        match has_unfinished_run(journal, &rewind_point::fallback_settings())
            .map_err(|error| journal_error(&error))?
        {
            true => Ok(()),
            false => Err(ended()),
        }
    }

    /// Did its last run end with a deferred call? An unreadable journal is reported when it is
    /// opened.
    pub fn has_deferred_call(&self) -> bool {
        let older = self.forked_from.as_ref().or(self.journal.as_ref());
        let older = older.filter(|_| self.is_continued && self.last_record.is_none());
        older.is_some_and(|journal| matches!(read_last_run(journal), Ok(LastRun::Deferred)))
    }

    /// The head of its journal, if that is new.
    pub(crate) fn build_journal_head(&self) -> JournalHead {
        JournalHead {
            session: Some(SessionId::from(self.id.as_str())),
            project: Some(self.project.to_string_lossy().into_owned()),
            branch: git_branch::current_branch(&self.project),
            ..JournalHead::default()
        }
    }

    /// Connects to the process that also keeps the journal, if there is one.
    pub(crate) fn connect_relay(&self) -> Result<Option<RelayedDisk>, CommandError> {
        let (Some(socket), Some(journal)) = (&self.relay, &self.journal) else { return Ok(None) };
        let root = journal.parent().unwrap_or(journal);
        RelayedDisk::connect(socket, root).map(Some).map_err(|error| {
            CommandError::failure(format!(
                "nothing keeps journals at {}: {error}; leave --journal-relay out",
                socket.display()
            ))
        })
    }

    pub(crate) fn is_fork(&self) -> bool {
        self.forked_from.is_some()
    }

    /// The directories with long outputs of the sessions it continues.
    pub(crate) fn inherited_spills(&self) -> Vec<PathBuf> {
        let begins =
            self.forked_from.as_ref().or(self.journal.as_ref().filter(|_| self.is_continued));
        let mut places =
            begins.map(|journal| fork::find_inherited_spills(journal)).unwrap_or_default();
        places.extend(self.forked_from.as_ref().map(|source| source.with_extension("spill")));
        places
    }

    /// Creates its folder, the copy of the source session, and its title. Returns the cleanup of
    /// unused sessions, to be started when this session is open.
    pub(crate) fn create_files(
        &self,
        swept_after_days: Option<u32>,
    ) -> Result<Option<SessionCleanup>, CommandError> {
        let (Some(catalogue), Some(journal)) = (&self.catalogue, &self.journal) else {
            return Ok(None);
        };
        let folder = journal.parent().unwrap_or(journal);
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
            CommandError::failure(format!(
                "sessions cannot be saved in {}: {error}; make that place writable, set \
                 XDG_STATE_HOME to another, or {PERSISTENCE_ADVICE}",
                folder.display()
            ))
        })?;
        if let Some(damaged) = &self.damaged {
            damaged_session::set_aside(damaged).map_err(|error| {
                CommandError::failure(format!(
                    "the damaged journal {} could not be renamed: {error}; move it away and try \
                     again",
                    damaged.display()
                ))
            })?;
        }
        match (&self.forked_from, &self.imported, self.last_record) {
            (Some(source), _, until) => fork::fork_session(source, until, journal, &self.id, None)?,
            (None, Some(imported), _) => {
                let head = JournalHead { created: fork::now_millis(), ..self.build_journal_head() };
                let id = SessionId::from(self.id.as_str());
                transcript::write_imported_journal(imported.clone(), journal, &id, &head)
                    .map_err(|error| journal_error(&error))?;
            }
            (None, None, Some(until)) => {
                rewind(journal, until, &rewind_point::fallback_settings())
                    .map_err(|error| journal_error(&error))?;
            }
            (None, None, None) => {}
        }
        if let Some(name) = &self.name {
            rename_session(catalogue, journal, self.transcript_path.as_deref(), name)?;
        }
        let days = swept_after_days.unwrap_or(cleanup::CLEANUP_DAYS_DEFAULT);
        let in_use = [Some(journal), self.forked_from.as_ref()].into_iter().flatten().cloned();
        let transcripts = self.transcript_root.clone();
        Ok(Some(SessionCleanup::new(catalogue, transcripts, in_use.collect(), days)))
    }

    pub(crate) fn build_transcript(&self) -> TranscriptConfig {
        let about = TranscriptContext {
            session: self.id.clone(),
            cwd: self.project.to_string_lossy().into_owned(),
            branch: git_branch::current_branch(&self.project),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            agent: None,
        };
        TranscriptConfig::new(self.transcript_path(), about, self.read_title())
    }

    /// Where it is written down for other programs, if it is kept.
    pub fn transcript_path(&self) -> Option<PathBuf> {
        self.transcript_path.clone().filter(|_| self.journal.is_some())
    }

    fn read_title(&self) -> Option<String> {
        let session = || {
            let path = self.journal.as_ref()?.with_extension("title");
            read_or_skip(&path, TITLE_BYTES_MAX)
        };
        self.name.clone().or_else(session)
    }
}

/// Gives a session a name, here and for other programs.
pub fn rename_session(
    catalogue: &SessionCatalogue,
    journal: &Path,
    transcript: Option<&Path>,
    name: &str,
) -> Result<(), CommandError> {
    catalogue.rename(journal, name).map_err(|error| journal_error(&error))?;
    if let Some(path) = transcript.filter(|path| path.is_file()) {
        let session = journal.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let line = Transcriber::new(TranscriptContext { session, ..TranscriptContext::default() })
            .render_title_line(name);
        // Best effort: the name that counts here is given.
        let _ = TranscriptFile::open(path).and_then(|mut file| file.append(&[line]));
    }
    Ok(())
}

/// Clients name sessions by UUIDs and look for them in files of that name.
fn check_session_id(id: &str) -> Result<String, CommandError> {
    match is_uuid(id) {
        true => Ok(id.to_ascii_lowercase()),
        false => Err(CommandError::usage(format!(
            "--session-id `{id}` is not a UUID; write one such as {}, or leave it out",
            random::generate_uuid()
        ))),
    }
}

pub fn journal_error(error: &windlass_journal::JournalError) -> CommandError {
    CommandError::failure(error.to_string())
}

/// Bytes of a file with a title.
const TITLE_BYTES_MAX: u64 = 64 * 1024;
const PERSISTENCE_ADVICE: &str = "give --no-session-persistence to keep nothing";
