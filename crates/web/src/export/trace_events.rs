//! The timeline as Chrome trace events: a process per agent, a thread per lane, and more threads for
//! a lane with several calls at once, because pieces of one thread must not overlap.

use serde_json::{Value, json};

use crate::server::query::QueryParameters;
use crate::view::answer;
use crate::viewer::{FoundSession, ViewFailure, Viewer};

pub(super) fn build_trace_events(
    viewer: &Viewer,
    session: &FoundSession,
) -> Result<Value, ViewFailure> {
    let path = ["sessions", session.id.as_str(), "timeline"];
    let timeline = answer(viewer, &path, &QueryParameters::default())?;
    let list =
        |name: &str| timeline.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let (lanes, spans, marks) = (list("lanes"), list("spans"), list("marks"));
    let end = timeline.get("end").and_then(Value::as_u64).unwrap_or(0);
    let mut processes: Vec<String> = vec!["session".to_owned()];
    let mut events = Vec::new();
    let mut tracks = 0_u64;
    for lane in &lanes {
        let agent = lane.get("agent").and_then(Value::as_str).unwrap_or("session");
        let process = processes.iter().position(|own| own == agent).unwrap_or_else(|| {
            processes.push(agent.to_owned());
            processes.len() - 1
        });
        let mut pieces: Vec<TimedPiece<'_>> = spans
            .iter()
            .filter(|span| span.get("lane") == lane.get("id"))
            .map(|span| TimedPiece::read(span, end))
            .collect();
        pieces.sort_by_key(|piece| piece.start);
        for (place, track) in split_overlapping(&pieces).iter().enumerate() {
            tracks += 1;
            let number = if place == 0 { String::new() } else { format!(" ({})", place + 1) };
            let name = format!("{}: {}{number}", text(lane, "kind"), text(lane, "label"));
            events.push(json!({
                "ph": "M", "name": "thread_name", "pid": process, "tid": tracks,
                "args": {"name": name},
            }));
            for piece in track {
                events.push(json!({
                    "ph": "X",
                    "name": text(piece.span, "label"),
                    "cat": text(lane, "kind"),
                    "ts": piece.start * 1000,
                    "dur": (piece.end - piece.start) * 1000,
                    "pid": process,
                    "tid": tracks,
                    "args": {"record": piece.span.get("seq"), "status": piece.span.get("status")},
                }));
            }
        }
    }
    for (process, name) in processes.iter().enumerate() {
        events.push(json!({
            "ph": "M", "name": "process_name", "pid": process, "args": {"name": name},
        }));
    }
    for mark in &marks {
        let at = mark.get("at").and_then(Value::as_u64).unwrap_or(0);
        events.push(json!({
            "ph": "i", "s": "g", "name": format!("{}: {}", text(mark, "kind"), text(mark, "label")),
            "ts": at * 1000, "pid": 0, "tid": 0, "args": {"record": mark.get("seq")},
        }));
    }
    Ok(json!({"traceEvents": events, "displayTimeUnit": "ms"}))
}

#[derive(Clone, Copy)]
struct TimedPiece<'a> {
    start: u64,
    end: u64,
    span: &'a Value,
}

impl<'a> TimedPiece<'a> {
    fn read(span: &'a Value, now: u64) -> Self {
        let start = span.get("start").and_then(Value::as_u64).unwrap_or(0);
        let end = span.get("end").and_then(Value::as_u64).unwrap_or(now);
        Self { start, end: end.max(start), span }
    }
}

/// Distributes the pieces of a lane, in order of their start, over as few tracks as needed.
fn split_overlapping<'a>(pieces: &[TimedPiece<'a>]) -> Vec<Vec<TimedPiece<'a>>> {
    let mut tracks: Vec<Vec<TimedPiece<'a>>> = Vec::new();
    for piece in pieces {
        let is_free = |track: &&mut Vec<TimedPiece<'_>>| {
            track.last().is_none_or(|last| last.end <= piece.start)
        };
        match tracks.iter_mut().find(is_free) {
            Some(track) => track.push(*piece),
            None => tracks.push(vec![*piece]),
        }
    }
    tracks
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_at_the_same_time_stand_in_tracks_of_their_own() {
        let span = Value::Null;
        let piece = |start, end| TimedPiece { start, end, span: &span };
        let all = [piece(0, 10), piece(2, 4), piece(3, 12), piece(4, 5), piece(10, 11)];
        let tracks: Vec<Vec<(u64, u64)>> = split_overlapping(&all)
            .iter()
            .map(|track| track.iter().map(|piece| (piece.start, piece.end)).collect())
            .collect();
        assert_eq!(tracks, [vec![(0, 10), (10, 11)], vec![(2, 4), (4, 5)], vec![(3, 12)]]);
    }
}
