//! `windlass sessions`: those that were kept, to list, show, search, export, rename and delete. What
//! a session is made of is not known here.

mod list;
mod show;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use windlass_journal::catalogue::{self, Format};
use windlass_journal::transcript::transcript_path;
use windlass_journal::{JournalError, Listed};

use crate::args::{ExportFormat, ListArgs, SessionsCommand};
use crate::config::Config;
use crate::environment::Lookup;
use crate::refusal::Refusal;
use crate::session::{self, unusable};

/// What to print.
pub(crate) fn run(command: SessionsCommand, lookup: &impl Lookup) -> Result<String, Refusal> {
    match command {
        SessionsCommand::List(args) => list::run(&args, lookup),
        SessionsCommand::Show(args) => show::run(&args, lookup),
        SessionsCommand::Search(args) => list::search(&args, lookup),
        SessionsCommand::Export(args) => {
            let format = match args.format {
                ExportFormat::Markdown => Format::Markdown,
                ExportFormat::Jsonl => Format::Jsonl,
            };
            export(&one(args.session.as_deref(), lookup)?, format)
        }
        SessionsCommand::Delete(args) => delete(&args.id, args.json, lookup),
        SessionsCommand::Rename(args) => {
            let listed = one(Some(&args.session), lookup)?;
            let catalogue = session::catalogue(lookup)?;
            let transcript = transcript_of(&listed, lookup)?;
            session::name_it(&catalogue, &listed.path, transcript.as_deref(), &args.name)?;
            let id = &listed.card.id;
            Ok(match args.json {
                true => format!("{}\n", json!({"session_id": id, "name": args.name})),
                false => String::new(),
            })
        }
    }
}

/// Earlier sessions of this directory, or how to go on with one: the session that is open cannot
/// become another.
pub(crate) fn resume_words(wanted: Option<&str>, lookup: &impl Lookup) -> Result<String, Refusal> {
    match wanted {
        None => list::run(&ListArgs { all: false, limit: RESUMABLE_MAX, json: false }, lookup),
        Some(_) => {
            let id = one(wanted, lookup)?.card.id;
            Ok(format!("Leave this session, then go on with that one: windlass --resume {id}\n"))
        }
    }
}

/// Sessions that are shown to choose from.
const RESUMABLE_MAX: usize = 20;

/// The session that is called this, or the newest of this directory.
pub(crate) fn one(wanted: Option<&str>, lookup: &impl Lookup) -> Result<Listed, Refusal> {
    let (catalogue, cwd) = (session::catalogue(lookup)?, here()?);
    match wanted {
        Some(wanted) => session::find(&catalogue, Some(wanted), &cwd),
        None => session::newest(&catalogue, &cwd),
    }
}

/// The directory we are in.
pub(crate) fn here() -> Result<PathBuf, Refusal> {
    crate::compose::working_directory()
}

/// Written as it is read: a session may be long.
fn export(listed: &Listed, format: Format) -> Result<String, Refusal> {
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    let exported = catalogue::export(&listed.path, format, &mut stdout);
    let written = exported.and_then(|()| {
        stdout.flush().map_err(|error| {
            let (path, action) = (listed.path.clone(), "exported");
            JournalError::Disk {
                path,
                action,
                remedy: windlass_journal::Remedy::of(&error),
                source: error,
            }
        })
    });
    match written {
        // A reader that went away early had enough.
        Err(JournalError::Disk { source, .. }) if source.kind() == ErrorKind::BrokenPipe => {
            Ok(String::new())
        }
        Err(error) => Err(unusable(&error)),
        Ok(()) => Ok(String::new()),
    }
}

/// Where a session is written down for other programs.
fn transcript_of(listed: &Listed, lookup: &impl Lookup) -> Result<Option<PathBuf>, Refusal> {
    let root = session::transcripts(&Config::load(lookup)?, lookup);
    let project = listed.card.project.as_deref().map(Path::new);
    Ok(root.zip(project).map(|(root, project)| transcript_path(&root, project, &listed.card.id)))
}

/// What is gone cannot be brought back, so half an id or a name is not enough.
fn delete(id: &str, is_json: bool, lookup: &impl Lookup) -> Result<String, Refusal> {
    let catalogue = session::catalogue(lookup)?;
    let all = catalogue.list(None).map_err(|error| unusable(&error))?;
    let Some(listed) = all.iter().find(|listed| listed.card.id == id) else {
        let near = session::find(&catalogue, Some(id), &here()?);
        let meant =
            near.map(|listed| format!("the whole id is needed, perhaps {}", listed.card.id));
        let advice =
            meant.unwrap_or_else(|_| "`windlass sessions list --all` lists all".to_owned());
        return Err(Refusal::usage(format!("there is no session with the id `{id}`; {advice}")));
    };
    catalogue.delete(&listed.path).map_err(|error| unusable(&error))?;
    if let Some(transcript) = transcript_of(listed, lookup)? {
        session::sweep::remove_transcript(&transcript);
    }
    Ok(match is_json {
        true => format!("{}\n", json!({"session_id": id, "deleted": true})),
        false => String::new(),
    })
}
