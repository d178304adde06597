//! The costs of a session with its nested sessions, whose journals are in a folder beside its own.
//! Uses integers only.

use std::path::{Path, PathBuf};

use windlass_journal::{BilledRequest, CostReport, JournalError, SessionCatalogue, cost_report};

/// The requests of a session and its agents, oldest first, without those copied from another
/// session.
pub fn read_requests(journal: &Path) -> Result<Vec<BilledRequest>, JournalError> {
    let mut rows = read_own_requests(journal)?;
    for agent in find_agent_journals(journal, DEPTH_MAX) {
        // An agent that was cut off before its first line has paid for nothing.
        rows.extend(read_own_requests(&agent).unwrap_or_default());
    }
    rows.sort_by_key(|booked| booked.at);
    Ok(rows)
}

/// The account of all sessions, or of one project's; and the journals that could not be read.
pub fn sum_all_sessions(
    catalogue: &SessionCatalogue,
    project: Option<&Path>,
) -> Result<(CostReport, Vec<PathBuf>), JournalError> {
    let mut account = CostReport::default();
    let mut unread = Vec::new();
    for listed in catalogue.list(project)? {
        match read_requests(&listed.path) {
            Ok(rows) => add_requests(&mut account, &rows, listed.summary.project.as_deref()),
            Err(_) => unread.push(listed.path),
        }
    }
    Ok((account, unread))
}

pub fn add_requests(account: &mut CostReport, rows: &[BilledRequest], project: Option<&str>) {
    for booked in rows {
        account.add(booked, project);
    }
}

fn read_own_requests(journal: &Path) -> Result<Vec<BilledRequest>, JournalError> {
    let (mut rows, _) = cost_report::load_session_costs(journal)?;
    rows.retain(|booked| !booked.is_inherited);
    Ok(rows)
}

/// The journals of a session's agents, and of their agents.
fn find_agent_journals(journal: &Path, depth: u8) -> Vec<PathBuf> {
    let Some(depth) = depth.checked_sub(1) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(journal.with_extension("agents")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_journal = path.extension().is_some_and(|extension| extension == "jsonl");
        // Later files of a journal have one more dot; the journal is counted by its first one.
        let is_first = path.file_stem().is_some_and(|stem| !stem.to_string_lossy().contains('.'));
        if is_journal && is_first {
            found.extend(find_agent_journals(&path, depth));
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Sessions nest less deeply than this.
const DEPTH_MAX: u8 = 16;
