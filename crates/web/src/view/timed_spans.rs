//! Spans of requests, calls, questions and pauses in a session, used for both the sums and the
//! lanes.

use serde_json::{Value, json};
use windlass_journal::session_trace::{
    SessionTrace, TraceDetail, TraceItem, TracedCall, TracedRequest,
};

pub(super) struct TimedSpan<'a> {
    pub(super) start: u64,
    /// `None` while it is in progress.
    pub(super) end: Option<u64>,
    pub(super) seq: u64,
    /// Index of its item.
    pub(super) n: usize,
    pub(super) subject: TimedSubject<'a>,
}

pub(super) enum TimedSubject<'a> {
    Request(&'a TracedRequest),
    Call(&'a TracedCall, &'a TraceItem),
    /// The user was asked about a call.
    Question(&'a TracedCall),
    /// The wait before a retry, with the number of the attempt.
    Pause(u8),
}

/// Lists requests first, then the other spans in order.
pub(super) fn list_timed_spans(trace: &SessionTrace) -> impl Iterator<Item = TimedSpan<'_>> {
    let requests = trace.requests.iter().map(|request| TimedSpan {
        start: request.place.at,
        end: request.answer.ended_at,
        seq: request.place.seq,
        n: request.item,
        subject: TimedSubject::Request(request),
    });
    let items = trace.items.iter().enumerate();
    requests.chain(items.flat_map(|(n, item)| spans_of_item(n, item).into_iter().flatten()))
}

fn spans_of_item(n: usize, item: &TraceItem) -> [Option<TimedSpan<'_>>; 2] {
    let seq = item.place.seq;
    match &item.detail {
        TraceDetail::Call(call) => {
            let run = call.started_at.map(|start| {
                let subject = TimedSubject::Call(call, item);
                TimedSpan { start, end: item.ended_at, seq, n, subject }
            });
            let question = call.asked.as_ref().map(|asked| {
                let end = asked.answer.as_ref().map(|answer| answer.at).or(item.ended_at);
                TimedSpan { start: asked.at, end, seq, n, subject: TimedSubject::Question(call) }
            });
            [run, question]
        }
        TraceDetail::Retry { wait_millis, attempt, .. } => {
            let start = item.place.at;
            let end = Some(item.place.at + wait_millis);
            [Some(TimedSpan { start, end, seq, n, subject: TimedSubject::Pause(*attempt) }), None]
        }
        TraceDetail::Prompt { .. }
        | TraceDetail::Answer { .. }
        | TraceDetail::Thinking { .. }
        | TraceDetail::Request(_)
        | TraceDetail::Summary { .. }
        | TraceDetail::Note { .. }
        | TraceDetail::Retracted { .. }
        | TraceDetail::Sealed
        | TraceDetail::Repaired { .. }
        | TraceDetail::Switched { .. }
        | TraceDetail::Shrunk { .. }
        | TraceDetail::Continued(_)
        | TraceDetail::End(_) => [None, None],
    }
}

/// Milliseconds by kind.
#[derive(Default)]
pub(super) struct SpentTime {
    pub(super) model: u64,
    pub(super) tool: u64,
    pub(super) person: u64,
    pub(super) wait: u64,
}

impl SpentTime {
    pub(super) fn measure(trace: &SessionTrace) -> Self {
        let mut spent = Self::default();
        for span in list_timed_spans(trace) {
            let sum = match span.subject {
                TimedSubject::Request(_) => &mut spent.model,
                TimedSubject::Call(..) => &mut spent.tool,
                TimedSubject::Question(_) => &mut spent.person,
                TimedSubject::Pause(_) => &mut spent.wait,
            };
            *sum += span.end.map_or(0, |end| end.saturating_sub(span.start));
        }
        spent
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { model, tool, person, wait } = self;
        json!({"model_ms": model, "tool_ms": tool, "person_ms": person, "wait_ms": wait})
    }
}
