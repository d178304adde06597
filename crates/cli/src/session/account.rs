//! What a session paid for, the nested sessions it started included: their journals lie in a folder
//! beside its own. Integers alone.

use std::path::{Path, PathBuf};

use windlass_journal::{Account, Booked, Catalogue, JournalError, account};

/// The requests of a session and of its agents, the oldest first; what it took over from another is left out.
pub(crate) fn rows(journal: &Path) -> Result<Vec<Booked>, JournalError> {
    let mut rows = own(journal)?;
    for agent in agents(journal, DEPTH_MAX) {
        // An agent that was cut off before its first line has paid for nothing.
        rows.extend(own(&agent).unwrap_or_default());
    }
    rows.sort_by_key(|booked| booked.at);
    Ok(rows)
}

/// The account of all sessions, or of one project's; and the journals that could not be read.
pub(crate) fn of_all(
    catalogue: &Catalogue,
    project: Option<&Path>,
) -> Result<(Account, Vec<PathBuf>), JournalError> {
    let (mut account, mut unread) = (Account::default(), Vec::new());
    for listed in catalogue.list(project)? {
        match rows(&listed.path) {
            Ok(rows) => add(&mut account, &rows, listed.card.project.as_deref()),
            Err(_) => unread.push(listed.path),
        }
    }
    Ok((account, unread))
}

/// Adds the requests of one session.
pub(crate) fn add(account: &mut Account, rows: &[Booked], project: Option<&str>) {
    for booked in rows {
        account.add(booked, project);
    }
}

fn own(journal: &Path) -> Result<Vec<Booked>, JournalError> {
    let (mut rows, _) = account::of_session(journal)?;
    rows.retain(|booked| !booked.is_inherited);
    Ok(rows)
}

/// The journals of a session's agents and of theirs.
fn agents(journal: &Path, depth: u8) -> Vec<PathBuf> {
    let Some(depth) = depth.checked_sub(1) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(journal.with_extension("agents")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_journal = path.extension().is_some_and(|extension| extension == "jsonl");
        // A later file of a journal has one more dot: its first one stands for it.
        let is_first = path.file_stem().is_some_and(|stem| !stem.to_string_lossy().contains('.'));
        if is_journal && is_first {
            found.extend(agents(&path, depth));
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Sessions nest less deeply than this.
const DEPTH_MAX: u8 = 16;
