//! Full text search over all sessions, or within one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_journal::session_catalogue::{FoundPlace, PlaceQuery, search_places};
use windlass_journal::session_trace::SessionTrace;

use super::session_rows::{RowFilter, row_to_json};
use crate::server::query::QueryParameters;
use crate::viewer::{FoundSession, ViewFailure, Viewer};

pub(super) fn answer_search(
    viewer: &Viewer,
    query: &QueryParameters,
) -> Result<Value, ViewFailure> {
    let wanted = read_place_query(query)?;
    let limit: usize = query.number("limit")?.unwrap_or(SESSIONS_DEFAULT);
    let limit = limit.min(SESSIONS_MAX);
    let deadline = Instant::now() + TIME_MAX;
    if let Some(id) = query.text("session") {
        return search_session(viewer, &viewer.find(id)?, &wanted, deadline);
    }
    let filter = RowFilter::for_search(query);
    let after: usize = query.number("after")?.unwrap_or(0);
    let listing = viewer.sessions.list()?;
    let mut hits = Vec::new();
    let mut looked_at = after;
    for (row, journal) in listing.rows.iter().skip(after) {
        if hits.len() >= limit || Instant::now() >= deadline {
            break;
        }
        looked_at += 1;
        if !filter.accepts(row) {
            continue;
        }
        // Unreadable journals are skipped.
        let Ok(found) = search_places(journal, &row.summary, &wanted, PLACES_MAX, deadline) else {
            continue;
        };
        if !found.places.is_empty() {
            let places: Vec<Value> =
                found.places.iter().map(|place| place_to_json(place, None)).collect();
            hits.push(json!({
                "session": row_to_json(row),
                "places": places,
                "more": found.has_more || found.is_cut,
            }));
        }
    }
    let is_complete = looked_at >= listing.rows.len();
    Ok(json!({
        "complete": is_complete,
        "next": (!is_complete).then_some(looked_at),
        "looked_at": looked_at,
        "of": listing.rows.len(),
        "hits": hits,
    }))
}

fn search_session(
    viewer: &Viewer,
    session: &FoundSession,
    wanted: &PlaceQuery,
    deadline: Instant,
) -> Result<Value, ViewFailure> {
    let summary = &session.row.summary;
    let found = search_places(&session.journal, summary, wanted, PLACES_IN_ONE_MAX, deadline)?;
    let trace = viewer.traces.open(&session.journal)?;
    trace.wait_for_end()?;
    let items = trace.read(index_items);
    let places: Vec<Value> = found
        .places
        .iter()
        .map(|place| place_to_json(place, items.get(&place.seq).copied()))
        .collect();
    let hits = match places.is_empty() {
        true => Vec::new(),
        false => vec![json!({
            "session": row_to_json(&session.row),
            "places": places,
            "more": found.has_more || found.is_cut,
        })],
    };
    Ok(json!({"complete": !found.is_cut, "next": null, "looked_at": 1, "of": 1, "hits": hits}))
}

/// The item that shows this record: `{"n": 41}`.
pub(super) fn answer_locate(
    viewer: &Viewer,
    session: &FoundSession,
    query: &QueryParameters,
) -> Result<Value, ViewFailure> {
    let seq: u64 =
        query.number("seq")?.ok_or_else(|| ViewFailure::bad_request("`seq` is missing"))?;
    let trace = viewer.traces.open(&session.journal)?;
    trace.wait_for_end()?;
    Ok(trace.read(|trace| {
        let exact = index_items(trace).get(&seq).copied();
        let before = trace.items.partition_point(|item| item.place.seq <= seq).checked_sub(1);
        json!({"n": exact.or(before)})
    }))
}

/// Items by the records their texts come from.
fn index_items(trace: &SessionTrace) -> HashMap<u64, usize> {
    let mut items = HashMap::new();
    for (n, item) in trace.items.iter().enumerate() {
        let Some(text) = item.detail.text() else { continue };
        if let Some(result) = item.detail.call().and_then(|call| call.result.as_ref()) {
            items.insert(result.text.seq, n);
        }
        items.entry(text.seq).or_insert(n);
    }
    items
}

fn read_place_query(query: &QueryParameters) -> Result<PlaceQuery, ViewFailure> {
    let is_error = match query.text("outcome") {
        None => None,
        Some("ok") => Some(false),
        Some("error") => Some(true),
        Some(_) => return Err(ViewFailure::bad_request("`outcome` is `ok` or `error`")),
    };
    let wanted = PlaceQuery {
        words: query.text("q").unwrap_or_default().trim().to_lowercase(),
        kinds: query.list("kind"),
        tool: query.text("tool").map(str::to_lowercase),
        file: query.text("file").map(str::to_lowercase),
        is_error,
    };
    let is_empty = wanted.words.is_empty()
        && wanted.kinds.is_empty()
        && wanted.tool.is_none()
        && wanted.file.is_none()
        && wanted.is_error.is_none();
    match is_empty {
        true => Err(ViewFailure::bad_request("nothing to search for; give words or a filter")),
        false => Ok(wanted),
    }
}

fn place_to_json(place: &FoundPlace, n: Option<usize>) -> Value {
    json!({
        "n": n,
        "seq": place.seq,
        "at": place.at,
        "kind": place.kind,
        "tool": place.tool,
        "is_error": place.is_error,
        "excerpt": place.excerpt,
        "start": place.start,
        "length": place.length,
    })
}

const SESSIONS_DEFAULT: usize = 50;
const SESSIONS_MAX: usize = 200;
const PLACES_MAX: usize = 20;
const PLACES_IN_ONE_MAX: usize = 500;
const TIME_MAX: Duration = Duration::from_secs(3);
