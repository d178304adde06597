//! Which session a run belongs to, and where it is kept.
//!
//! Chosen first and made last: until everything else about a run is right, nothing is written. A
//! session that cannot be kept is refused, with what to do: to lose it without a word would be worse
//! than not to begin. What stands in a journal is not known here.

pub(crate) mod account;
pub(crate) mod branch;
pub(crate) mod cut;
mod finding;
mod fork;
pub(crate) mod sweep;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use windlass_driver::{About, Transcript};
use windlass_journal::transcript::{self, Imported, TranscriptFile};
use windlass_journal::{
    Catalogue, Entry, Head, LastRun, Reader, Transcriber, is_unfinished, last_run, rewind,
};
use windlass_vocabulary::SessionId;

use crate::args::SessionArgs;
use crate::config::{Config, Transcripts};
use crate::environment::Lookup;
use crate::refusal::Refusal;
use crate::{chance, folder};

use finding::Older;
pub(crate) use finding::{find, newest};

/// The session of a run.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Its id.
    pub(crate) id: String,
    /// Where it is written down; nowhere, if nothing is kept.
    pub(crate) journal: Option<PathBuf>,
    /// Has something been said in it?
    pub(crate) is_continued: bool,
    project: PathBuf,
    /// The session it is a copy of.
    source: Option<PathBuf>,
    /// The last record of what it goes on from that counts.
    until: Option<u64>,
    /// What it goes on from, if that is kept nowhere but in a transcript.
    imported: Option<Imported>,
    /// Where it is written down for other programs.
    transcript: Option<PathBuf>,
    /// Where all are.
    transcripts: Option<PathBuf>,
    /// A name to be given.
    name: Option<String>,
    catalogue: Option<Catalogue>,
}

/// The sessions of this user.
pub(crate) fn catalogue(lookup: &impl Lookup) -> Result<Catalogue, Refusal> {
    let state = folder::state(lookup).ok_or_else(|| {
        Refusal::failed(format!(
            "there is no place for sessions, because HOME is not set; set HOME or XDG_STATE_HOME, \
             or {WITHOUT}"
        ))
    })?;
    Ok(Catalogue::new(state.join("sessions")))
}

/// Finds out which session is meant. Nothing is made yet.
pub(crate) fn choose(
    args: &SessionArgs,
    cwd: &Path,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Kept, Refusal> {
    check(args)?;
    let id = match &args.session_id {
        Some(id) => checked(id)?,
        None => chance::uuid(),
    };
    let (project, name) = (cwd.to_owned(), args.name.clone());
    let new = Kept {
        id,
        journal: None,
        is_continued: false,
        project,
        source: None,
        until: None,
        imported: None,
        transcript: None,
        transcripts: None,
        name,
        catalogue: None,
    };
    if args.no_session_persistence {
        return Ok(new);
    }
    if let Some(journal) = &args.journal {
        return Ok(by_path(new, &cwd.join(journal)));
    }
    let catalogue = catalogue(lookup)?;
    let root = transcripts(config, lookup);
    let older = match &args.resume {
        Some(wanted) => Some(finding::older(&catalogue, wanted.as_deref(), cwd, root.as_deref())?),
        None if args.goes_on => Some(Older::Kept(Box::new(newest(&catalogue, cwd)?))),
        None => None,
    };
    let mut kept = kept(new, catalogue, older, args)?;
    kept.transcript =
        root.as_ref().map(|root| transcript::transcript_path(root, &kept.project, &kept.id));
    kept.transcripts = root;
    Ok(kept)
}

/// Flags that make no sense together.
fn check(args: &SessionArgs) -> Result<(), Refusal> {
    let is_older = args.goes_on || args.resume.is_some();
    if args.fork_session && !is_older {
        return Err(Refusal::usage("--fork-session needs a session to copy; add -c or -r ID"));
    }
    if args.continue_run && !is_older {
        return Err(Refusal::usage("--continue-run needs a session; add -c or -r ID"));
    }
    if args.resume_session_at.is_some() && !is_older {
        return Err(Refusal::usage("--resume-session-at needs a session; add -c or -r ID"));
    }
    if args.session_id.is_some() && is_older && !args.fork_session {
        return Err(Refusal::usage(
            "--session-id is for a new session, and -c and -r go on with one that has its id; add \
             --fork-session, or leave it out",
        ));
    }
    Ok(())
}

/// Where transcripts for other programs are written, if they are.
pub(crate) fn transcripts(config: &Config, lookup: &impl Lookup) -> Option<PathBuf> {
    match &config.transcripts {
        Transcripts::Usual => folder::claude(lookup),
        Transcripts::Off => None,
        Transcripts::Below(path) => Some(path.clone()),
    }
}

fn kept(
    new: Kept,
    catalogue: Catalogue,
    older: Option<Older>,
    args: &SessionArgs,
) -> Result<Kept, Refusal> {
    let (at, drops) = (args.resume_session_at.as_deref(), args.resume_drops_turn.as_deref());
    let mut kept = Kept { is_continued: older.is_some(), catalogue: Some(catalogue), ..new };
    match older {
        None => {}
        Some(Older::Kept(older)) => {
            let card = older.card;
            kept.until = at.map(|at| cut::behind(&older.path, &card.id, at, drops)).transpose()?;
            if !args.fork_session {
                let project = card.project.map(PathBuf::from).unwrap_or(kept.project);
                return Ok(Kept { id: card.id, journal: Some(older.path), project, ..kept });
            }
            kept.source = Some(older.path);
        }
        Some(Older::Transcript(id, path)) => {
            if let (Some(at), Some(drops)) = (at, drops) {
                cut::check_imported(&imported(&path, None)?, at, drops)?;
            }
            let mut imported = imported(&path, at)?;
            if args.fork_session {
                // The messages of a copy are other messages.
                imported.lines.clear();
            } else {
                kept.id = id;
            }
            kept.imported = Some(imported);
        }
    }
    let journal = kept.catalogue.as_ref().map(|all| all.journal_path(&kept.project, &kept.id));
    if journal.as_ref().is_some_and(|journal| journal.symlink_metadata().is_ok()) {
        return Err(Refusal::usage(format!(
            "there is a session {} already; go on with it: --resume {}",
            kept.id, kept.id
        )));
    }
    Ok(Kept { journal, ..kept })
}

fn imported(path: &Path, up_to: Option<&str>) -> Result<Imported, Refusal> {
    let imported = transcript::import(path, up_to).map_err(|error| unusable(&error))?;
    imported.ok_or_else(|| match up_to {
        Some(uuid) => Refusal::usage(format!(
            "--resume-session-at: there is no message {uuid} in {}",
            path.display()
        )),
        None => Refusal::usage(format!("nothing was said in {}", path.display())),
    })
}

/// A journal at a place of the user's own. It says itself which session it holds, if it does.
fn by_path(new: Kept, journal: &Path) -> Kept {
    let mut reader = Reader::open(journal).ok();
    let first = reader.as_mut().and_then(|reader| reader.next_entry().ok().flatten());
    let head = match &first {
        Some(Ok(Entry::Head(head))) => head.session.as_ref(),
        _ => None,
    };
    let id = head.map_or_else(|| new.id.clone(), |session| session.as_str().to_owned());
    Kept { id, journal: Some(journal.to_owned()), is_continued: first.is_some(), ..new }
}

impl Kept {
    /// Is there a run that did not come to its end?
    pub(crate) fn check_unfinished(&self) -> Result<(), Refusal> {
        let ended = || {
            Refusal::usage(format!(
                "the last run of the session {0} came to its end; go on with a prompt: windlass -r \
                 {0} -p \"...\"",
                self.id
            ))
        };
        let journal = self.journal.as_ref().filter(|_| self.is_continued).ok_or_else(ended)?;
        match is_unfinished(journal, &cut::unsaid()).map_err(|error| unusable(&error))? {
            true => Ok(()),
            false => Err(ended()),
        }
    }

    /// Did its last run end with a call that was put off? What cannot be read says so when it is
    /// opened.
    pub(crate) fn is_put_off(&self) -> bool {
        let older = self.source.as_ref().or(self.journal.as_ref());
        let older = older.filter(|_| self.is_continued && self.until.is_none());
        older.is_some_and(|journal| matches!(last_run(journal), Ok(LastRun::PutOff)))
    }

    /// What its journal says of it, if it is new.
    pub(crate) fn head(&self) -> Head {
        Head {
            session: Some(SessionId::from(self.id.as_str())),
            project: Some(self.project.to_string_lossy().into_owned()),
            branch: branch::current(&self.project),
            ..Head::default()
        }
    }

    /// Is it a copy of another session?
    pub(crate) fn is_fork(&self) -> bool {
        self.source.is_some()
    }

    /// Other places where it may find long outputs it was told of.
    pub(crate) fn inherited(&self) -> Vec<PathBuf> {
        let begins = self.source.as_ref().or(self.journal.as_ref().filter(|_| self.is_continued));
        let mut places = begins.map(|journal| fork::inherited(journal)).unwrap_or_default();
        places.extend(self.source.as_ref().map(|source| source.with_extension("spill")));
        places
    }

    /// Makes room for it: its folder, the copy of what it goes on from, its name. Begins to sweep away
    /// sessions that were not used for so many days.
    pub(crate) fn make(&self, swept_after_days: Option<u32>) -> Result<(), Refusal> {
        let (Some(catalogue), Some(journal)) = (&self.catalogue, &self.journal) else {
            return Ok(());
        };
        let folder = journal.parent().unwrap_or(journal);
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
            Refusal::failed(format!(
                "sessions cannot be kept in {}: {error}; make that place writable, set \
                 XDG_STATE_HOME to another, or {WITHOUT}",
                folder.display()
            ))
        })?;
        match (&self.source, &self.imported, self.until) {
            (Some(source), _, until) => fork::make(source, until, journal, &self.id)?,
            (None, Some(imported), _) => {
                let head = Head { created: fork::now(), ..self.head() };
                let id = SessionId::from(self.id.as_str());
                transcript::adopt(imported.clone(), journal, &id, &head)
                    .map_err(|error| unusable(&error))?;
            }
            (None, None, Some(until)) => {
                rewind(journal, until, &cut::unsaid()).map_err(|error| unusable(&error))?;
            }
            (None, None, None) => {}
        }
        if let Some(name) = &self.name {
            name_it(catalogue, journal, self.transcript.as_deref(), name)?;
        }
        let days = swept_after_days.unwrap_or(sweep::DAYS);
        sweep::begin(catalogue, self.transcripts.clone(), days);
        Ok(())
    }

    /// What is written down for other programs.
    pub(crate) fn transcript(&self) -> Transcript {
        let about = About {
            session: self.id.clone(),
            cwd: self.project.to_string_lossy().into_owned(),
            branch: branch::current(&self.project),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            agent: None,
        };
        let path = self.transcript.clone().filter(|_| self.journal.is_some());
        Transcript::new(path, about, self.title())
    }

    /// What it is called now.
    fn title(&self) -> Option<String> {
        let kept = || {
            let path = self.journal.as_ref()?.with_extension("title");
            std::fs::read_to_string(path).ok()
        };
        self.name.clone().or_else(kept)
    }
}

/// Gives a session a name, here and for other programs.
pub(crate) fn name_it(
    catalogue: &Catalogue,
    journal: &Path,
    transcript: Option<&Path>,
    name: &str,
) -> Result<(), Refusal> {
    catalogue.rename(journal, name).map_err(|error| unusable(&error))?;
    if let Some(path) = transcript.filter(|path| path.is_file()) {
        let session = journal.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let line = Transcriber::new(About { session, ..About::default() }).title(name);
        // Best effort: the name that counts here is given.
        let _ = TranscriptFile::open(path).and_then(|mut file| file.append(&[line]));
    }
    Ok(())
}

/// Is it written like a UUID?
fn is_uuid(id: &str) -> bool {
    id.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Clients name sessions by UUIDs and look for them in files of that name.
fn checked(id: &str) -> Result<String, Refusal> {
    match is_uuid(id) {
        true => Ok(id.to_ascii_lowercase()),
        false => Err(Refusal::usage(format!(
            "--session-id `{id}` is not a UUID; write one such as {}, or leave it out",
            chance::uuid()
        ))),
    }
}

/// A journal that cannot be used.
pub(crate) fn unusable(error: &windlass_journal::JournalError) -> Refusal {
    Refusal::failed(error.to_string())
}

const WITHOUT: &str = "give --no-session-persistence to keep nothing";
