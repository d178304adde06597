//! Converts events, decisions and notes to items, in order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use windlass_engine::context::inventory;
use windlass_engine::{Effect, Event, Settings, State};
use windlass_vocabulary::{AttemptId, ContentBlock, Ticket, Tokens, ToolCallId};

use super::request_shape::LastRequest;
use super::{
    SessionTrace, TraceDetail, TraceItem, TracePlace, TracedCall, TracedContext, TracedMedia,
    TracedQuestion, TracedRun, TracedText, lock_trace,
};
use crate::conversation::join_block_texts;
use crate::fold::{ReplayStep, ReplayVisitor, ReplayedEvent};
use crate::journal_reader::JournalEntry;
use crate::variant_names::failure_name;

pub(super) struct TraceBuilder {
    pub(super) trace: Arc<Mutex<SessionTrace>>,
    pub(super) run: u32,
    pub(super) turn: u32,
    pub(super) is_running: bool,
    /// Items of calls by the provider's id, and by the ticket of their execution or question.
    pub(super) calls: BTreeMap<ToolCallId, usize>,
    pub(super) tickets: BTreeMap<Ticket, usize>,
    /// Requests by attempt, and side requests by ticket.
    pub(super) attempts: BTreeMap<AttemptId, usize>,
    pub(super) side_requests: BTreeMap<Ticket, usize>,
    /// The items of the current answer.
    pub(super) answer_items: Vec<usize>,
    /// The item of the incomplete block.
    pub(super) partial: Option<usize>,
    pub(super) last_request: LastRequest,
    /// The item of the latest call.
    pub(super) new_call: Option<usize>,
    /// Of the last announced request.
    pub(super) estimate: Tokens,
    /// The front end that announced the next command, and what it is.
    pub(super) act: Option<(String, String)>,
}

impl TraceBuilder {
    pub(super) fn new(trace: Arc<Mutex<SessionTrace>>) -> Self {
        Self {
            trace,
            run: 0,
            turn: 1,
            is_running: false,
            calls: BTreeMap::new(),
            tickets: BTreeMap::new(),
            attempts: BTreeMap::new(),
            side_requests: BTreeMap::new(),
            answer_items: Vec::new(),
            partial: None,
            last_request: LastRequest::default(),
            new_call: None,
            estimate: Tokens(0),
            act: None,
        }
    }

    /// The front end that does this, if it was announced.
    pub(super) fn take_actor(&mut self, wanted: &str) -> Option<String> {
        self.act.take_if(|(_, act)| act == wanted).map(|(by, _)| by)
    }

    pub(super) fn place(&self, seq: u64, at: u64) -> TracePlace {
        TracePlace { seq, at, run: self.run, turn: self.turn }
    }

    fn take_step_effect(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        effect: &Effect,
        context: (&State, &Settings),
    ) {
        match effect {
            Effect::CallModel(request) => {
                let (state, settings) = context;
                let estimate = std::mem::take(&mut self.estimate);
                let index = self.push_request(trace, place, request, estimate);
                self.attempts.insert(request.attempt, index);
                self.answer_items = Vec::new();
                self.partial = None;
                // Counting the context visits everything in it, so it is not done for every
                // request.
                let count = trace.requests.len();
                if count <= CONTEXTS_DENSE_MAX || count.is_multiple_of(CONTEXTS_SPARSE) {
                    trace.contexts.push(TracedContext { place, usage: inventory(state, settings) });
                }
            }
            Effect::CancelModel { attempt } => {
                let index = self.attempts.get(attempt).copied();
                self.end_request(trace, index, place.at, |answer| answer.is_cancelled = true);
            }
            Effect::Summarize { ticket, request } => {
                let last = std::mem::take(&mut self.last_request);
                let index = self.push_request(trace, place, request, Tokens(0));
                self.last_request = last;
                self.side_requests.insert(*ticket, index);
            }
            Effect::StartTool { ticket, granted, .. } => {
                if let Some(item) = self.calls.get(&granted.get().id).copied() {
                    self.tickets.insert(*ticket, item);
                    if let Some(call) = call_at(trace, item) {
                        call.started_at = Some(place.at);
                    }
                }
            }
            Effect::AskPermission { ticket, question } => {
                if let Some(item) = self.calls.get(&question.call.id).copied() {
                    self.tickets.insert(*ticket, item);
                    if let Some(call) = call_at(trace, item) {
                        let why = question.why.clone();
                        let TracePlace { seq, at, .. } = place;
                        let answer = None;
                        call.asked = Some(TracedQuestion { seq, at, ticket: *ticket, why, answer });
                    }
                }
            }
            Effect::Tell(notice) => self.take_notice(trace, place, notice),
            Effect::Finish(ending) => {
                self.is_running = false;
                if let Some(run) = trace.runs.last_mut() {
                    run.ended_at = Some(place.at);
                    run.ending = Some(ending.clone());
                }
                push_item(trace, place, TraceDetail::End(Box::new(ending.clone())));
            }
            Effect::CancelTool { .. }
            | Effect::RunHook { .. }
            | Effect::Spill { .. }
            | Effect::Keep { .. }
            | Effect::Prefetch { .. }
            | Effect::SetTimer { .. } => {}
        }
    }

    fn take_prompt(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        content: &[ContentBlock],
    ) {
        let seq = place.seq;
        let text = TracedText::new(&join_block_texts(content), seq, ANSWER_BYTES_MAX);
        let media = content.iter().filter_map(|block| match block {
            ContentBlock::Media(media) => Some(media),
            ContentBlock::Text(_)
            | ContentBlock::Thinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::Provider(_) => None,
        });
        let media = media.enumerate().map(|(part, one)| TracedMedia::new(one, seq, part)).collect();
        let is_queued = self.is_running;
        let by = self.take_actor("prompt");
        push_item(trace, place, TraceDetail::Prompt { text, media, is_queued, by });
    }

    /// The prompt of the run came just before.
    pub(super) fn start_run(&mut self, trace: &mut SessionTrace, place: TracePlace) {
        self.run += 1;
        self.turn = 1;
        self.is_running = true;
        let place = self.place(place.seq, place.at);
        let mut item = trace.items.len();
        let mut prompt = String::new();
        if let Some(last) = trace.items.last_mut()
            && let TraceDetail::Prompt { text, .. } = &last.detail
            && last.place.seq == place.seq
        {
            last.place.run = self.run;
            last.place.turn = 1;
            prompt = TracedText::new(&text.text, 0, PROMPT_TITLE_BYTES_MAX).text;
            item -= 1;
        }
        trace.runs.push(TracedRun {
            place,
            item,
            ended_at: None,
            ending: None,
            cost: windlass_vocabulary::MicroUsd(0),
            usage: windlass_vocabulary::Usage::default(),
            prompt,
        });
    }
}

impl ReplayVisitor for TraceBuilder {
    fn visit_event(&mut self, replayed: ReplayedEvent<'_>) {
        let ReplayedEvent { place: line, seq, at, event, state } = replayed;
        let shared = Arc::clone(&self.trace);
        let mut guard: MutexGuard<'_, SessionTrace> = lock_trace(&shared);
        let trace = &mut *guard;
        trace.seq = seq;
        trace.last_at = at;
        let is_far = trace.checkpoints.last().is_none_or(|(_, last)| {
            last.file != line.file || line.start >= last.start + CHECKPOINT_BYTES
        });
        if is_far {
            trace.checkpoints.push((seq, line));
        }
        let place = self.place(seq, at);
        match event {
            Event::UserSubmitted { content, .. } => self.take_prompt(trace, place, content),
            Event::Adopted { messages } => self.adopt_messages(trace, place, messages, state),
            Event::ModelStarted { attempt, .. } => {
                let index = self.attempts.get(attempt).copied();
                if let Some(request) = index.and_then(|index| trace.requests.get_mut(index)) {
                    request.answer.first_at.get_or_insert(at);
                }
            }
            Event::ModelDelta { attempt, delta } => {
                // Deltas of an abandoned answer change nothing.
                if state.answer.attempt == Some(*attempt) {
                    self.take_delta(trace, place, delta, state);
                }
            }
            Event::ModelEnded { attempt, stop, usage } => {
                let index = self.attempts.get(attempt).copied();
                self.end_request(trace, index, at, |answer| {
                    answer.stop = Some(*stop);
                    answer.usage = *usage;
                });
            }
            Event::ModelFailed { attempt, failure } => {
                let index = self.attempts.get(attempt).copied();
                let words = format!("{}: {}", failure_name(failure.kind), failure.message);
                self.end_request(trace, index, at, |answer| answer.failure = Some(words));
            }
            Event::SummaryEnded { ticket, result, usage } => {
                self.end_side_request(trace, place, *ticket, result, *usage);
            }
            Event::ToolProgressed { ticket, text } => {
                let item = self.tickets.get(ticket).copied();
                if let Some(call) = item.and_then(|item| call_at(trace, item)) {
                    call.push_progress(text);
                }
            }
            Event::ToolEnded { ticket, outcome } => {
                let item = self.tickets.get(ticket).copied();
                if let Some(call) = item.and_then(|item| call_at(trace, item)) {
                    call.take_outcome(outcome, seq, at);
                }
                if let Some(item) = item.and_then(|item| trace.items.get_mut(item)) {
                    item.ended_at = Some(at);
                }
            }
            Event::PermissionAnswered { ticket, answer, .. } => {
                let by = self.take_actor("answer");
                let item = self.tickets.get(ticket).copied();
                if let Some(call) = item.and_then(|item| call_at(trace, item)) {
                    call.take_answer(at, by, answer);
                }
            }
            Event::Interrupted(_)
            | Event::Resumed
            | Event::QueueChanged { .. }
            | Event::Configured(_)
            | Event::CompactionAsked { .. }
            | Event::ChoreAsked { .. }
            | Event::HookEnded { .. }
            | Event::AttachmentArrived { .. }
            | Event::TimerFired { .. } => {}
        }
    }

    fn visit_step(&mut self, step: ReplayStep<'_>) {
        let shared = Arc::clone(&self.trace);
        let mut guard = lock_trace(&shared);
        let trace = &mut *guard;
        self.rename_new_call(trace, step.state);
        for effect in step.effects {
            let place = self.place(step.seq, step.at);
            self.take_step_effect(trace, place, effect, (step.state, step.settings));
        }
    }

    fn visit_entry(&mut self, entry: JournalEntry) {
        let shared = Arc::clone(&self.trace);
        let mut guard = lock_trace(&shared);
        let trace = &mut *guard;
        match entry {
            JournalEntry::Head(head) if trace.head.created == 0 => trace.head = head,
            JournalEntry::Record(record) => {
                trace.seq = record.seq;
                trace.last_at = record.at;
                self.take_note(trace, record);
            }
            JournalEntry::Claim(claim) => trace.writer = Some(claim.holder),
            JournalEntry::Head(_) => {}
        }
    }
}

pub(super) fn push_item(trace: &mut SessionTrace, place: TracePlace, detail: TraceDetail) {
    trace.items.push(TraceItem { place, ended_at: None, is_withdrawn: false, detail });
}

pub(super) fn call_at(trace: &mut SessionTrace, item: usize) -> Option<&mut TracedCall> {
    match trace.items.get_mut(item).map(|item| &mut item.detail) {
        Some(TraceDetail::Call(call)) => Some(call),
        _ => None,
    }
}

/// Limit on the bytes of prompts, answers and summaries.
pub(super) const ANSWER_BYTES_MAX: usize = 32 << 10;
/// Limit on the bytes of results, reasoning and notes.
pub(super) const RESULT_BYTES_MAX: usize = 4 << 10;
pub(super) const INPUT_BYTES_MAX: usize = 8 << 10;
const PROMPT_TITLE_BYTES_MAX: usize = 200;
/// Bytes of a journal between two checkpoints.
const CHECKPOINT_BYTES: u64 = 128 << 10;
/// Up to this many requests the context is counted at each one, afterwards only at some.
const CONTEXTS_DENSE_MAX: usize = 200;
const CONTEXTS_SPARSE: usize = 50;
