//! The API's responses, one file for each: see `API.md`. All functions read files and block.

pub(crate) mod call_json;
mod compare;
mod content;
mod context;
mod diff;
pub(crate) mod events;
mod items;
mod json_text;
mod moment;
mod overview;
mod reasons;
mod request_line_difference;
mod request_text;
mod requests;
mod ruling_source;
mod search;
mod session_rows;
mod shown_paths;
mod timed_spans;
mod timeline;
mod window_changes;

use std::ops::Range;

use serde_json::{Value, json};

use crate::server::query::QueryParameters;
use crate::viewer::{ViewFailure, Viewer, now_millis};

pub(crate) use items::ITEMS_WINDOW;
pub(crate) use reasons::REASONS_WINDOW;
pub(crate) use ruling_source::ProjectSettingsCache;

/// The response for a path below `/api/`.
pub(crate) fn answer(
    viewer: &Viewer,
    path: &[&str],
    query: &QueryParameters,
) -> Result<Value, ViewFailure> {
    match path {
        ["hello"] => Ok(describe_program(viewer)),
        ["sessions"] => session_rows::answer_list(viewer, query),
        ["search"] => search::answer_search(viewer, query),
        ["compare"] => compare::answer_compare(viewer, query),
        ["sessions", id, rest @ ..] => {
            let session = viewer.find(id)?;
            match rest {
                [] => overview::answer_overview(viewer, &session),
                ["items"] => items::answer_items(viewer, &session, query),
                ["content"] => content::answer_content(viewer, &session, query),
                ["diff"] => diff::answer_diff(viewer, &session, query),
                ["timeline"] => timeline::answer_timeline(viewer, &session),
                ["why"] => reasons::answer_reasons(viewer, &session, query),
                ["at", seq] => moment::answer_moment(viewer, &session, parse_seq(seq)?),
                ["requests"] => requests::answer_requests(viewer, &session),
                ["request", seq] => requests::answer_request(&session, parse_seq(seq)?, query),
                ["request-diff"] => requests::answer_request_diff(&session, query),
                ["context"] => context::answer_context(viewer, &session),
                ["locate"] => search::answer_locate(viewer, &session, query),
                ["replay"] => moment::answer_replay(&session),
                _ => Err(ViewFailure::not_found("there is no such part of a session")),
            }
        }
        _ => Err(ViewFailure::not_found("there is no such answer")),
    }
}

fn parse_seq(text: &str) -> Result<u64, ViewFailure> {
    text.parse().map_err(|_| ViewFailure::bad_request("the number of a record is not a number"))
}

fn describe_program(viewer: &Viewer) -> Value {
    json!({
        "name": "windlass",
        "version": env!("CARGO_PKG_VERSION"),
        "act": viewer.can_act,
        "session": viewer.first_session,
        "now": now_millis(),
        "home": std::env::var("HOME").ok(),
    })
}

/// The window that `from` and `to` select, with at most `most` of `total` entries.
pub(crate) fn read_window(
    query: &QueryParameters,
    total: usize,
    most: usize,
) -> Result<Range<usize>, ViewFailure> {
    let from: i64 = query.number("from")?.unwrap_or(0);
    let from = match usize::try_from(from) {
        Ok(from) => from.min(total),
        Err(_) => total.saturating_sub(usize::try_from(from.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    let to: usize = query.number("to")?.unwrap_or(usize::MAX);
    Ok(from..to.clamp(from, from.saturating_add(most)).min(total))
}
