//! From what somebody calls a session to the session. Nothing is guessed: where several are meant,
//! or none, the line says which there are.

use std::path::{Path, PathBuf};

use windlass_journal::{Card, Catalogue, JournalError, Listed, transcript};

use super::unusable;
use crate::front::call::shortened;
use crate::front::table::ago;
use crate::refusal::Refusal;

/// The newest session of a directory.
pub(crate) fn newest(catalogue: &Catalogue, cwd: &Path) -> Result<Listed, Refusal> {
    let here = catalogue.list(Some(cwd)).map_err(|error| unusable(&error))?;
    here.into_iter().find(is_begun).ok_or_else(|| {
        Refusal::usage(
            "there is no session of this directory yet; leave out -c, or name one: `windlass \
             sessions list --all` lists those of other directories",
        )
    })
}

/// What a run goes on from.
#[derive(Debug)]
pub(super) enum Older {
    /// A session that is kept here.
    Kept(Box<Listed>),
    /// One of which only the transcript for other programs is there: its id, and the file.
    Transcript(String, PathBuf),
}

/// The session that is called this, also if only its transcript is there.
pub(super) fn older(
    catalogue: &Catalogue,
    wanted: Option<&str>,
    cwd: &Path,
    transcripts: Option<&Path>,
) -> Result<Older, Refusal> {
    let id = wanted.filter(|wanted| super::is_uuid(wanted)).map(str::to_ascii_lowercase);
    let found = find(catalogue, id.as_deref().or(wanted), cwd);
    if let (Err(_), Some(id), Some(root)) = (&found, id, transcripts)
        && let Some(path) = transcript::find(root, cwd, &id)
    {
        return Ok(Older::Transcript(id, path));
    }
    let refusal = match found {
        Ok(listed) => return Ok(Older::Kept(Box::new(listed))),
        Err(refusal) => refusal,
    };
    let (Some(wanted), Some(root)) = (wanted, transcripts) else { return Err(refusal) };
    // Other programs give names too, and write them into the transcript alone.
    match transcript::titled(root, cwd, wanted).as_slice() {
        [] => Err(refusal),
        [(id, path)] => Ok(match catalogue.find(id, Some(cwd)) {
            Ok(listed) => Older::Kept(Box::new(listed)),
            Err(_) => Older::Transcript(id.clone(), path.clone()),
        }),
        more => {
            let ids: Vec<&str> = more.iter().map(|(id, _)| id.as_str()).collect();
            Err(Refusal::usage(format!(
                "{} sessions are called `{wanted}`; give the id of one: {}",
                ids.len(),
                ids.join(", ")
            )))
        }
    }
}

/// The session that is called this.
pub(crate) fn find(
    catalogue: &Catalogue,
    wanted: Option<&str>,
    cwd: &Path,
) -> Result<Listed, Refusal> {
    let Some(wanted) = wanted else {
        let here = catalogue.list(Some(cwd)).map_err(|error| unusable(&error))?;
        let problem = "--resume needs the id or the name of a session";
        return Err(Refusal::usage(format!("{problem}; {}", offered(here.iter()))));
    };
    match catalogue.find(wanted, Some(cwd)) {
        Ok(listed) => Ok(listed),
        Err(JournalError::NotOne { found, .. }) => {
            let all = catalogue.list(None).map_err(|error| unusable(&error))?;
            Err(match found {
                0 => Refusal::usage(format!(
                    "there is no session `{wanted}`; {}",
                    offered(all.iter())
                )),
                found => {
                    let meant = all.iter().filter(|listed| may_mean(&listed.card, wanted));
                    Refusal::usage(format!(
                        "{found} sessions may be meant by `{wanted}`; {}",
                        offered(meant)
                    ))
                }
            })
        }
        Err(error) => Err(unusable(&error)),
    }
}

fn may_mean(card: &Card, wanted: &str) -> bool {
    let name = wanted.to_lowercase();
    let title = card.title.as_deref().unwrap_or_default().to_lowercase();
    card.id.starts_with(wanted) || title.contains(&name)
}

/// A run that was refused before anything was said leaves nothing to go on with.
fn is_begun(listed: &Listed) -> bool {
    !listed.card.prompt.is_empty()
}

fn offered<'a>(sessions: impl Iterator<Item = &'a Listed>) -> String {
    let words: Vec<String> = sessions
        .filter(|listed| is_begun(listed))
        .take(OFFERED_MAX)
        .map(|Listed { card, .. }| {
            let title = card.title.as_deref().unwrap_or(&card.prompt);
            format!("{} \"{}\" ({})", card.id, shortened(title, TITLE_MAX), ago(card.updated))
        })
        .collect();
    match words.is_empty() {
        true => "there are none yet".to_owned(),
        false => {
            format!("choose one: {}; `windlass sessions list --all` lists all", words.join(", "))
        }
    }
}

const OFFERED_MAX: usize = 5;
const TITLE_MAX: usize = 40;
