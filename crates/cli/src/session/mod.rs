//! Which session a run belongs to, and where it is kept.
//!
//! Chosen first and made last: until everything else about a run is right, nothing is written. A
//! session that cannot be kept is refused, with what to do: to lose it without a word would be worse
//! than not to begin. What stands in a journal is not known here.

pub(crate) mod account;
mod branch;
mod finding;
mod fork;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use windlass_journal::{Catalogue, Entry, Head, Listed, Reader};
use windlass_vocabulary::SessionId;

use crate::args::SessionArgs;
use crate::environment::Lookup;
use crate::refusal::Refusal;
use crate::{chance, folder};

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
    lookup: &impl Lookup,
) -> Result<Kept, Refusal> {
    let id = match &args.session_id {
        Some(id) => checked(id)?,
        None => chance::uuid(),
    };
    let is_older = args.goes_on || args.resume.is_some();
    if args.fork_session && !is_older {
        return Err(Refusal::usage("--fork-session needs a session to copy; add -c or -r ID"));
    }
    if args.session_id.is_some() && is_older && !args.fork_session {
        return Err(Refusal::usage(
            "--session-id is for a new session, and -c and -r go on with one that has its id; add \
             --fork-session, or leave it out",
        ));
    }
    let (project, name) = (cwd.to_owned(), args.name.clone());
    let new = Kept {
        id,
        journal: None,
        is_continued: false,
        project,
        source: None,
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
    let older = match &args.resume {
        Some(wanted) => Some(find(&catalogue, wanted.as_deref(), cwd)?),
        None if args.goes_on => Some(newest(&catalogue, cwd)?),
        None => None,
    };
    kept(new, catalogue, older, args.fork_session)
}

fn kept(
    new: Kept,
    catalogue: Catalogue,
    older: Option<Listed>,
    is_fork: bool,
) -> Result<Kept, Refusal> {
    match older {
        Some(older) if !is_fork => Ok(Kept {
            id: older.card.id,
            journal: Some(older.path),
            is_continued: true,
            catalogue: Some(catalogue),
            ..new
        }),
        older => {
            let journal = catalogue.journal_path(&new.project, &new.id);
            if journal.symlink_metadata().is_ok() {
                return Err(Refusal::usage(format!(
                    "there is a session {} already; go on with it: --resume {}",
                    new.id, new.id
                )));
            }
            let source = older.map(|older| older.path);
            let is_continued = source.is_some();
            let catalogue = Some(catalogue);
            Ok(Kept { journal: Some(journal), is_continued, source, catalogue, ..new })
        }
    }
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
    /// What its journal says of it, if it is new.
    pub(crate) fn head(&self) -> Head {
        Head {
            session: Some(SessionId::from(self.id.as_str())),
            project: Some(self.project.to_string_lossy().into_owned()),
            branch: branch::current(&self.project),
            ..Head::default()
        }
    }

    /// Other places where it may find long outputs it was told of.
    pub(crate) fn inherited(&self) -> Vec<PathBuf> {
        let begins = self.source.as_ref().or(self.journal.as_ref().filter(|_| self.is_continued));
        let mut places = begins.map(|journal| fork::inherited(journal)).unwrap_or_default();
        places.extend(self.source.as_ref().map(|source| source.with_extension("spill")));
        places
    }

    /// Makes room for it: its folder, the copy of what it goes on from, its name.
    pub(crate) fn make(&self) -> Result<(), Refusal> {
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
        if let Some(source) = &self.source {
            fork::make(source, journal, &self.id)?;
        }
        if let Some(name) = &self.name {
            catalogue.rename(journal, name).map_err(|error| unusable(&error))?;
        }
        Ok(())
    }
}

/// Clients name sessions by UUIDs and look for them in files of that name.
fn checked(id: &str) -> Result<String, Refusal> {
    let lengths = id.split('-').map(str::len);
    let is_uuid = lengths.eq([8, 4, 4, 4, 12])
        && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    match is_uuid {
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
