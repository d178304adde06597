//! Requests to models: their content, their end and their cost.

use windlass_vocabulary::{ModelFailure, ModelRequest, RequestSource, Ticket, Tokens, Usage};

use super::trace_builder::{ANSWER_BYTES_MAX, TraceBuilder, push_item};
use super::{
    RequestAnswer, SessionTrace, TraceDetail, TracePlace, TracedContext, TracedRequest, TracedText,
};
use crate::record::{JournalNote, JournalRecord, RecordItem};

impl TraceBuilder {
    pub(super) fn push_request(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        request: &ModelRequest,
        estimate: Tokens,
    ) -> usize {
        let shape = self.last_request.compare(request, estimate);
        let index = trace.requests.len();
        trace.requests.push(TracedRequest {
            place,
            item: trace.items.len(),
            attempt: request.attempt,
            model: request.model.clone(),
            source: request.source,
            shape,
            answer: RequestAnswer::default(),
            bill: None,
        });
        push_item(trace, place, TraceDetail::Request(index));
        index
    }

    pub(super) fn end_request(
        &self,
        trace: &mut SessionTrace,
        index: Option<usize>,
        at: u64,
        end: impl FnOnce(&mut RequestAnswer),
    ) {
        let Some(request) = index.and_then(|index| trace.requests.get_mut(index)) else { return };
        request.answer.ended_at = Some(at);
        end(&mut request.answer);
        let item = request.item;
        if let Some(item) = trace.items.get_mut(item) {
            item.ended_at = Some(at);
        }
    }

    /// A summary or another side request has ended.
    pub(super) fn end_side_request(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        ticket: Ticket,
        result: &Result<String, ModelFailure>,
        usage: Usage,
    ) {
        let index = self.side_requests.remove(&ticket);
        let failed = result.as_ref().err().map(|failure| failure.message.clone());
        self.end_request(trace, index, place.at, |answer| {
            answer.usage = usage;
            answer.failure = failed;
        });
        let request = index.and_then(|index| trace.requests.get(index));
        let is_compaction =
            request.is_some_and(|request| request.source == RequestSource::Compaction);
        if let (Ok(text), true) = (result, is_compaction) {
            let text = TracedText::new(text, place.seq, ANSWER_BYTES_MAX);
            push_item(trace, place, TraceDetail::Summary { text });
        }
    }

    pub(super) fn take_note(&mut self, trace: &mut SessionTrace, record: JournalRecord) {
        let place = self.place(record.seq, record.at);
        match record.item {
            RecordItem::Note(JournalNote::Billed(row)) => {
                if let Some(run) = trace.runs.last_mut() {
                    run.cost = run.cost + row.cost;
                    run.usage += row.billed;
                }
                let is_meant = |request: &&mut TracedRequest| {
                    request.bill.is_none()
                        && request.source == row.source
                        && request.model == row.model
                        && request.answer.ended_at.is_some()
                };
                let request = trace.requests.iter_mut().rev().take(BILL_LOOKBACK).find(is_meant);
                // The cost belongs to the turn of the request, although it is reported after the
                // next one has begun.
                let mut asked = place;
                if let Some(request) = request {
                    request.bill = Some(row.clone());
                    asked.run = request.place.run;
                    asked.turn = request.place.turn;
                }
                trace.bills.push((asked, row));
            }
            RecordItem::Note(JournalNote::Context(usage)) => {
                trace.contexts.push(TracedContext { place, usage: *usage });
            }
            RecordItem::Note(JournalNote::Unknown(json)) => self.act = parse_act(&json),
            RecordItem::Note(_) | RecordItem::Event(_) => {}
        }
    }
}

/// `{"acted":{"by":"browser","act":"answer"}}`
fn parse_act(json: &str) -> Option<(String, String)> {
    let note: serde_json::Value = serde_json::from_str(json).ok()?;
    let text = |name: &str| note.get("acted")?.get(name)?.as_str().map(str::to_owned);
    Some((text("by")?, text("act")?))
}

/// How many requests may still wait for their cost.
const BILL_LOOKBACK: usize = 8;
