//! Why the window is larger or smaller than at the point before.
//!
//! The size of a point is an estimate. The provider's count of a request comes after it, and the
//! next estimate begins there: so a window may shrink although nothing was left out.

use serde_json::{Value, json};
use windlass_journal::session_trace::{SessionTrace, TraceDetail};
use windlass_vocabulary::RequestSource;

/// The size of the window at one record.
#[derive(Clone, Copy, Debug)]
struct WindowPoint {
    seq: u64,
    tokens: u64,
}

/// A number of tokens, of the request or the level at a record.
#[derive(Clone, Copy, Debug)]
struct ReportedTokens {
    seq: u64,
    tokens: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WindowChange {
    /// By how much the provider's count differs from the estimate of the point before.
    recounted: i64,
    /// What context levels left out since.
    left: u64,
    /// Everything else: new messages, or what is gone, such as the tools of a server.
    entered: i64,
}

/// One for each point of the trace; `null` for the first.
pub(super) fn explain_window_changes(trace: &SessionTrace) -> Vec<Value> {
    let points: Vec<WindowPoint> = trace
        .contexts
        .iter()
        .map(|context| WindowPoint { seq: context.place.seq, tokens: context.usage.total.0 })
        .collect();
    let counts = trace.requests.iter().filter(|request| request.source == RequestSource::Main);
    let counts = counts.filter_map(|request| {
        let tokens = request.bill.as_ref()?.billed.input_total().0;
        Some(ReportedTokens { seq: request.place.seq, tokens })
    });
    let left = trace.items.iter().filter_map(|item| match &item.detail {
        TraceDetail::Shrunk { freed, .. } => {
            Some(ReportedTokens { seq: item.place.seq, tokens: freed.0 })
        }
        TraceDetail::Prompt { .. }
        | TraceDetail::Answer { .. }
        | TraceDetail::Thinking { .. }
        | TraceDetail::Call(_)
        | TraceDetail::Request(_)
        | TraceDetail::Summary { .. }
        | TraceDetail::Note { .. }
        | TraceDetail::Retry { .. }
        | TraceDetail::Retracted { .. }
        | TraceDetail::Sealed
        | TraceDetail::Repaired { .. }
        | TraceDetail::Switched { .. }
        | TraceDetail::Continued(_)
        | TraceDetail::End(_) => None,
    });
    let counts: Vec<ReportedTokens> = counts.collect();
    let left: Vec<ReportedTokens> = left.collect();
    let before = std::iter::once(None).chain(points.iter().map(Some));
    let changes = before.zip(&points).map(|(before, point)| {
        let change = explain_change(*before?, *point, &counts, &left);
        Some(json!({
            "recounted_tokens": change.recounted,
            "left_tokens": change.left,
            "entered_tokens": change.entered,
        }))
    });
    changes.map(Option::unwrap_or_default).collect()
}

fn explain_change(
    before: WindowPoint,
    point: WindowPoint,
    counts: &[ReportedTokens],
    left: &[ReportedTokens],
) -> WindowChange {
    // The bill of a request may come after the next one was sent, so it is found by its request.
    let place = counts.binary_search_by_key(&before.seq, |count| count.seq).ok();
    let counted = place.and_then(|place| counts.get(place)).map(|count| count.tokens);
    let counted = counted.filter(|tokens| *tokens > 0);
    let left = between(left, before.seq, point.seq);
    let left: u64 = left.iter().map(|reported| reported.tokens).sum();
    let grown = difference(before.tokens, point.tokens).saturating_add_unsigned(left);
    match counted.map(|counted| difference(before.tokens, counted)) {
        None => WindowChange { recounted: 0, left, entered: grown },
        // A request has a little more in it than what is estimated of it later.
        Some(recounted) if grown < recounted => WindowChange { recounted: grown, left, entered: 0 },
        Some(recounted) => WindowChange { recounted, left, entered: grown - recounted },
    }
}

/// What was reported after one record and until another. The list is in order.
fn between(reported: &[ReportedTokens], after: u64, until: u64) -> &[ReportedTokens] {
    let start = reported.partition_point(|one| one.seq <= after);
    let end = reported.partition_point(|one| one.seq <= until);
    reported.get(start..end).unwrap_or_default()
}

fn difference(from: u64, to: u64) -> i64 {
    i64::try_from(i128::from(to) - i128::from(from)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seq: u64, tokens: u64) -> ReportedTokens {
        ReportedTokens { seq, tokens }
    }

    #[test]
    fn the_parts_of_a_change_add_up() {
        let before = WindowPoint { seq: 10, tokens: 22_000 };
        let point = WindowPoint { seq: 20, tokens: 17_000 };
        for (counts, left, expected) in [
            // Nothing was left out: the provider counted fewer tokens than were estimated.
            (vec![at(9, 1), at(10, 16_000), at(20, 1)], vec![], (-6_000, 0, 1_000)),
            (vec![], vec![at(10, 5), at(12, 6_000), at(20, 500), at(21, 9)], (0, 6_500, 1_500)),
            (vec![at(10, 16_000)], vec![at(16, 3_000)], (-6_000, 3_000, 4_000)),
            (vec![at(10, 0)], vec![], (0, 0, -5_000)),
            (vec![at(10, 17_500)], vec![], (-5_000, 0, 0)),
        ] {
            let change = explain_change(before, point, &counts, &left);
            assert_eq!((change.recounted, change.left, change.entered), expected, "{counts:?}");
            let left = i64::try_from(change.left).unwrap();
            assert_eq!(change.recounted + change.entered - left, -5_000);
        }
    }
}
