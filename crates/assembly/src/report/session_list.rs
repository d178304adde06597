//! Sessions as rows: all of them, or those in which something was said.

use serde_json::{Value, json};
use windlass_journal::session_catalogue;
use windlass_journal::{LastRun, ListedSession, SessionSummary, is_being_written};
use windlass_vocabulary::format_timestamp;

use crate::directories::working_directory;
use crate::session::session_lookup::find_session_here;
use crate::session::{self, journal_error};
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::{format_count, format_money};
use windlass_host::display::text_table::{ColumnAlignment, format_time_ago, render_table};
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;
use windlass_host::environment::EnvLookup;

#[derive(Clone, Debug, Default)]
pub struct SessionListOptions {
    pub all: bool,
    /// 0 means no limit.
    pub limit: usize,
    pub json: bool,
}

/// `windlass sessions list`.
pub fn render_session_list(
    options: &SessionListOptions,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let catalogue = session::open_catalogue(lookup)?;
    let cwd = working_directory()?;
    let project = (!options.all).then_some(cwd.as_path());
    let mut listed = catalogue.list(project).map_err(|error| journal_error(&error))?;
    let wanted = if options.limit == 0 { usize::MAX } else { options.limit };
    let foreign = session::list_foreign_sessions(&listed, project, wanted, lookup)?;
    // Only a full list may have left some out.
    let foreign_count = match foreign.len() == wanted {
        true => session::count_foreign_sessions(&listed, project, lookup)?,
        false => foreign.len(),
    };
    let there = listed.len() + foreign_count;
    listed.extend(foreign);
    listed.sort_by_key(|listed| std::cmp::Reverse(listed.summary.updated));
    if options.limit > 0 {
        listed.truncate(options.limit);
    }
    if options.json {
        let sessions: Vec<Value> = listed.iter().map(session_to_json).collect();
        return Ok(format!("{}\n", json!({"total": there, "sessions": sessions})));
    }
    if listed.is_empty() {
        let place = if options.all { "" } else { " of this directory; --all lists all" };
        return Ok(format!("There are no sessions{place}.\n"));
    }
    let mut text = render_session_table(&listed, options.all);
    if there > listed.len() {
        let more = format_count(u64::try_from(there - listed.len()).unwrap_or(u64::MAX));
        text.push_str(&format!("\n{more} more; --limit 0 lists all.\n"));
    }
    Ok(text)
}

/// `windlass sessions search`.
pub fn render_search(
    words: &str,
    options: &SessionListOptions,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    if words.trim().is_empty() {
        return Err(CommandError::usage("nothing to search for; give some words"));
    }
    let catalogue = session::open_catalogue(lookup)?;
    let cwd = working_directory()?;
    let project = (!options.all).then_some(cwd.as_path());
    let mut hits =
        catalogue.search(words, project, options.limit).map_err(|error| journal_error(&error))?;
    let known = catalogue.list(project).map_err(|error| journal_error(&error))?;
    let others = session::list_foreign_sessions(&known, project, usize::MAX, lookup)?;
    let room = options.limit.saturating_sub(hits.len());
    hits.extend(session_catalogue::search_transcripts(others, words, room));
    if options.json {
        let hit = |hit: &session_catalogue::SessionSearchHit| json!({"session": session_to_json(&hit.session), "excerpt": hit.excerpt, "said": hit.item});
        let hits: Vec<Value> = hits.iter().map(hit).collect();
        return Ok(format!("{}\n", json!({"hits": hits})));
    }
    if hits.is_empty() {
        return Ok(format!("No session contains \"{}\".\n", to_single_line(words)));
    }
    let rows: Vec<[String; 4]> = hits
        .iter()
        .map(|hit| {
            let summary = &hit.session.summary;
            [
                short_id(summary),
                format_time_ago(summary.updated),
                display_title(summary),
                to_single_line(&hit.excerpt),
            ]
        })
        .collect();
    Ok(render_table([ColumnAlignment::Left; 4], &rows))
}

fn render_session_table(listed: &[ListedSession], with_project: bool) -> String {
    let head = ["id", "last", "state", "messages", "cost", "name or first words", "directory"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(listed.iter().map(|listed| {
        let summary = &listed.summary;
        let project = summary.project.clone().unwrap_or_default();
        let project = if with_project { to_single_line(&project) } else { String::new() };
        [
            short_id(summary),
            format_time_ago(summary.updated),
            session_state(listed).to_owned(),
            format_count(summary.messages),
            format_money(summary.cost),
            display_title(summary),
            project,
        ]
    }));
    if !with_project && let Some(head) = rows.first_mut() {
        head[6].clear();
    }
    let left = ColumnAlignment::Left;
    let right = ColumnAlignment::Right;
    render_table([left, left, left, right, right, left, left], &rows)
}

/// Its state as seen from outside. A process locks the session it works on, so
/// one that was killed in the middle of a run shows.
pub fn session_state(listed: &ListedSession) -> &'static str {
    if is_being_written(&listed.path) {
        return match listed.summary.last_run {
            LastRun::Open => "working",
            // It waits for the user: a prompt, an answer, a decision about a call.
            LastRun::None | LastRun::Asking | LastRun::Deferred | LastRun::Ended(_) => "waiting",
        };
    }
    match listed.summary.last_run {
        LastRun::Deferred => "waiting",
        LastRun::Open | LastRun::Asking => "interrupted",
        LastRun::Ended(terminal) if terminal.is_abort() => "interrupted",
        LastRun::Ended(terminal) if terminal.is_error() => "failed",
        LastRun::Ended(_) | LastRun::None => "done",
    }
}

fn display_title(summary: &SessionSummary) -> String {
    let words = match (&summary.title, summary.prompt.as_str()) {
        (Some(title), _) => title,
        (None, "") => "(empty)",
        (None, prompt) => prompt,
    };
    truncate_with_ellipsis(&to_single_line(words), TITLE_MAX)
}

/// Enough of an id to be unique, and to find the session again.
fn short_id(summary: &SessionSummary) -> String {
    summary.id.chars().take(ID_SHOWN).collect()
}

pub fn session_to_json(listed: &ListedSession) -> Value {
    let summary = &listed.summary;
    json!({
        "session_id": summary.id,
        "name": summary.title,
        "first_prompt": summary.prompt,
        "project": summary.project,
        "branch": summary.branch,
        "forked_from": summary.parent,
        "state": session_state(listed),
        "created": format_timestamp(summary.created),
        "updated": format_timestamp(summary.updated),
        "messages": summary.messages,
        "cost_micro_usd": summary.cost.0,
        "bytes": summary.size,
    })
}

const ID_SHOWN: usize = 13;
const TITLE_MAX: usize = 60;

/// Earlier sessions of this directory, or how to go on with one: the session that is open cannot
/// become another.
pub(crate) fn render_resume_help(
    wanted: Option<&str>,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    match wanted {
        None => render_session_list(
            &SessionListOptions { all: false, limit: RESUMABLE_MAX, json: false },
            lookup,
        ),
        Some(_) => {
            let id = find_session_here(wanted, lookup)?.summary.id;
            Ok(format!("Exit, then resume that session with: windlass --resume {id}\n"))
        }
    }
}

/// Sessions that are shown to choose from.
const RESUMABLE_MAX: usize = 20;
