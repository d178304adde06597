//! Sessions as rows: all of them, or those in which something was said.

use serde_json::{Value, json};
use windlass_journal::clock::moment;
use windlass_journal::{Card, LastRun, Listed, is_held};

use super::here;
use crate::args::{ListArgs, SearchArgs};
use crate::environment::Lookup;
use crate::front::call::shortened;
use crate::front::table::{Side, ago, table};
use crate::front::words::{count, money};
use crate::refusal::{Refusal, one_line};
use crate::session::{self, unusable};

/// `windlass sessions list`.
pub(super) fn run(args: &ListArgs, lookup: &impl Lookup) -> Result<String, Refusal> {
    let (catalogue, cwd) = (session::catalogue(lookup)?, here()?);
    let project = (!args.all).then_some(cwd.as_path());
    let mut listed = catalogue.list(project).map_err(|error| unusable(&error))?;
    let there = listed.len();
    if args.limit > 0 {
        listed.truncate(args.limit);
    }
    if args.json {
        let sessions: Vec<Value> = listed.iter().map(object).collect();
        return Ok(format!("{}\n", json!({"total": there, "sessions": sessions})));
    }
    if listed.is_empty() {
        let place = if args.all { "" } else { " of this directory; --all lists all" };
        return Ok(format!("There are no sessions{place}.\n"));
    }
    let mut text = rows(&listed, args.all);
    if there > listed.len() {
        let more = count(u64::try_from(there - listed.len()).unwrap_or(u64::MAX));
        text.push_str(&format!("\n{more} more; --limit 0 lists all.\n"));
    }
    Ok(text)
}

/// `windlass sessions search`.
pub(super) fn search(args: &SearchArgs, lookup: &impl Lookup) -> Result<String, Refusal> {
    if args.words.trim().is_empty() {
        return Err(Refusal::usage("there is nothing to search for; give some words"));
    }
    let (catalogue, cwd) = (session::catalogue(lookup)?, here()?);
    let project = (!args.all).then_some(cwd.as_path());
    let hits =
        catalogue.search(&args.words, project, args.limit).map_err(|error| unusable(&error))?;
    if args.json {
        let hit = |hit: &windlass_journal::catalogue::Hit| json!({"session": object(&hit.listed), "excerpt": hit.excerpt, "said": hit.spoken});
        let hits: Vec<Value> = hits.iter().map(hit).collect();
        return Ok(format!("{}\n", json!({"hits": hits})));
    }
    if hits.is_empty() {
        return Ok(format!("No session says \"{}\".\n", one_line(&args.words)));
    }
    let rows: Vec<[String; 4]> = hits
        .iter()
        .map(|hit| {
            let card = &hit.listed.card;
            [short(card), ago(card.updated), title(card), one_line(&hit.excerpt)]
        })
        .collect();
    Ok(table([Side::Left; 4], &rows))
}

fn rows(listed: &[Listed], with_project: bool) -> String {
    let head = ["id", "last", "state", "messages", "cost", "name or first words", "directory"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(listed.iter().map(|listed| {
        let card = &listed.card;
        let project = card.project.clone().unwrap_or_default();
        let project = if with_project { one_line(&project) } else { String::new() };
        [
            short(card),
            ago(card.updated),
            state(listed).to_owned(),
            count(card.messages),
            money(card.cost),
            title(card),
            project,
        ]
    }));
    if !with_project && let Some(head) = rows.first_mut() {
        head[6].clear();
    }
    let (left, right) = (Side::Left, Side::Right);
    table([left, left, left, right, right, left, left], &rows)
}

/// What became of it, as far as anybody can say from outside. What a process works on is locked by it, so
/// one that was killed in the middle of a run shows.
pub(super) fn state(listed: &Listed) -> &'static str {
    let is_held = is_held(&listed.path);
    match listed.card.last_run {
        LastRun::Open if is_held => "working",
        // Somebody has to say something: a prompt, an answer, what is to become of a call.
        _ if is_held => "waiting",
        LastRun::PutOff => "waiting",
        LastRun::Open | LastRun::Asking => "interrupted",
        LastRun::Ended(terminal) if terminal.is_abort() => "interrupted",
        LastRun::Ended(terminal) if terminal.is_error() => "failed",
        LastRun::Ended(_) | LastRun::None => "done",
    }
}

/// What it is called, or else how it began.
fn title(card: &Card) -> String {
    let words = match (&card.title, card.prompt.as_str()) {
        (Some(title), _) => title,
        (None, "") => "(nothing was said)",
        (None, prompt) => prompt,
    };
    shortened(&one_line(words), TITLE_MAX)
}

/// Enough of an id to be told from others, and to find it again.
fn short(card: &Card) -> String {
    card.id.chars().take(ID_SHOWN).collect()
}

/// A session for a program.
pub(super) fn object(listed: &Listed) -> Value {
    let card = &listed.card;
    json!({
        "session_id": card.id,
        "name": card.title,
        "first_prompt": card.prompt,
        "project": card.project,
        "branch": card.branch,
        "forked_from": card.parent,
        "state": state(listed),
        "created": moment(card.created),
        "updated": moment(card.updated),
        "messages": card.messages,
        "cost_micro_usd": card.cost.0,
        "bytes": card.size,
    })
}

const ID_SHOWN: usize = 13;
const TITLE_MAX: usize = 60;
