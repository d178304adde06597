//! Events, decisions and notes to items, in the order in which they happened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use windlass_engine::context::inventory;
use windlass_engine::{Effect, Event, Settings, State};
use windlass_vocabulary::{
    AttachmentKind, AttemptId, ContentBlock, Delta, Message, MessageOrigin, ModelName,
    ModelRequest, Notice, Role, Ticket, Tokens, ToolCallId,
};

use super::call_trace::split_parts;
use super::request_shape::LastRequest;
use super::{
    RequestAnswer, SessionTrace, TraceDetail, TraceItem, TracePlace, TracedCall, TracedContext,
    TracedMedia, TracedQuestion, TracedRequest, TracedResult, TracedRun, TracedText, lock_trace,
};
use crate::conversation::join_block_texts;
use crate::fold::{ReplayStep, ReplayVisitor, ReplayedEvent};
use crate::journal_reader::JournalEntry;
use crate::record::{JournalNote, JournalRecord, RecordItem};
use crate::variant_names::{attachment_name, describe_origin, failure_name, hook_point_name};

pub(super) struct TraceBuilder {
    trace: Arc<Mutex<SessionTrace>>,
    run: u32,
    turn: u32,
    is_running: bool,
    /// Items of calls by the provider's name, and by the ticket they run or are asked about under.
    calls: BTreeMap<ToolCallId, usize>,
    tickets: BTreeMap<Ticket, usize>,
    /// Requests by attempt, and side requests by ticket.
    attempts: BTreeMap<AttemptId, usize>,
    side_requests: BTreeMap<Ticket, usize>,
    /// The items of the answer under way.
    answer_items: Vec<usize>,
    /// The item of the block that is not whole yet.
    partial: Option<usize>,
    last_request: LastRequest,
    /// The item of the call that has just arrived.
    new_call: Option<usize>,
    /// Of the request that was announced last.
    estimate: Tokens,
    /// The front end that says it does what comes next, and what that is.
    act: Option<(String, String)>,
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

    /// Who does this, if it was announced.
    fn take_actor(&mut self, wanted: &str) -> Option<String> {
        self.act.take_if(|(_, act)| act == wanted).map(|(by, _)| by)
    }

    fn place(&self, seq: u64, at: u64) -> TracePlace {
        TracePlace { seq, at, run: self.run, turn: self.turn }
    }

    fn take_delta(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        delta: &Delta,
        state: &State,
    ) {
        match delta {
            Delta::Text(text) => self.grow_partial(trace, place, text, false, state),
            Delta::Thinking(text) => self.grow_partial(trace, place, text, true, state),
            Delta::Block(block) => {
                let partial = self.partial.take();
                let model = current_model(trace, &self.attempts, state);
                let detail = match block {
                    ContentBlock::Text(text) => {
                        let text = TracedText::new(text, place.seq, ANSWER_BYTES_MAX);
                        TraceDetail::Answer { text, model }
                    }
                    ContentBlock::Thinking(thinking) if !thinking.text.is_empty() => {
                        let text = TracedText::new(&thinking.text, place.seq, RESULT_BYTES_MAX);
                        TraceDetail::Thinking { text, model }
                    }
                    ContentBlock::Thinking(_)
                    | ContentBlock::ToolUse(_)
                    | ContentBlock::ToolResult(_)
                    | ContentBlock::Media(_)
                    | ContentBlock::Provider(_) => return,
                };
                match partial.and_then(|item| trace.items.get_mut(item)) {
                    Some(item) => {
                        item.detail = detail;
                        item.ended_at = Some(place.at);
                    }
                    None => self.push_answer_item(trace, place, detail),
                }
            }
            Delta::Call { call, inspection } => {
                self.partial = None;
                let traced = TracedCall::new(call, Some(inspection), state, place.seq);
                self.calls.insert(call.id.clone(), trace.items.len());
                self.new_call = Some(trace.items.len());
                self.push_answer_item(trace, place, TraceDetail::Call(Box::new(traced)));
            }
            Delta::CallStarted { .. }
            | Delta::CallInput(_)
            | Delta::Usage(_)
            | Delta::Cleared { .. }
            | Delta::Raw(_) => {}
        }
    }

    /// Two calls of a session may have one name on the wire; the engine gives the later one another.
    fn rename_new_call(&mut self, trace: &mut SessionTrace, state: &State) {
        if let Some(item) = self.new_call.take()
            && let Some(ContentBlock::ToolUse(call)) = state.answer.blocks.last()
            && let Some(traced) = call_at(trace, item)
            && traced.id != call.id
        {
            traced.id = call.id.clone();
            self.calls.insert(call.id.clone(), item);
        }
    }

    /// A block that is still being written.
    fn grow_partial(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        piece: &str,
        is_thinking: bool,
        state: &State,
    ) {
        if let Some(item) = self.partial.and_then(|item| trace.items.get_mut(item))
            && let TraceDetail::Answer { text, .. } | TraceDetail::Thinking { text, .. } =
                &mut item.detail
        {
            text.bytes += piece.len();
            let room = ANSWER_BYTES_MAX.saturating_sub(text.text.len());
            let end = piece.floor_char_boundary(room.min(piece.len()));
            text.text.push_str(piece.get(..end).unwrap_or_default());
            return;
        }
        let model = current_model(trace, &self.attempts, state);
        let text = TracedText::new(piece, place.seq, ANSWER_BYTES_MAX);
        let detail = match is_thinking {
            true => TraceDetail::Thinking { text, model },
            false => TraceDetail::Answer { text, model },
        };
        self.partial = Some(trace.items.len());
        self.push_answer_item(trace, place, detail);
    }

    fn push_answer_item(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        detail: TraceDetail,
    ) {
        self.answer_items.push(trace.items.len());
        push_item(trace, place, detail);
    }

    fn push_request(
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

    fn end_request(
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
                (self.answer_items, self.partial) = (Vec::new(), None);
                // Counting what fills the window takes a look at everything in it.
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

    fn take_notice(&mut self, trace: &mut SessionTrace, place: TracePlace, notice: &Notice) {
        let detail = match notice {
            Notice::RunStarted => {
                self.start_run(trace, place);
                return;
            }
            Notice::Continued { transition, turn } => {
                self.turn = (*turn).max(1);
                let place = TracePlace { turn: self.turn, ..place };
                return push_item(trace, place, TraceDetail::Continued(*transition));
            }
            Notice::RequestStarted { attempt, input_estimate, .. } => {
                self.estimate = *input_estimate;
                let index = self.attempts.get(attempt).copied();
                if let Some(request) = index.and_then(|index| trace.requests.get_mut(index)) {
                    request.shape.estimate = *input_estimate;
                }
                return;
            }
            Notice::ToolDenied { call, why } => {
                let item = self.calls.get(&call.id).copied();
                if let Some(call) = item.and_then(|item| call_at(trace, item)) {
                    call.denied = Some(why.clone());
                }
                if let Some(item) = item.and_then(|item| trace.items.get_mut(item)) {
                    item.ended_at = Some(place.at);
                }
                return;
            }
            Notice::Retracted { why, .. } => {
                for item in std::mem::take(&mut self.answer_items) {
                    if let Some(item) = trace.items.get_mut(item) {
                        item.is_withdrawn = true;
                    }
                }
                self.partial = None;
                TraceDetail::Retracted { why: why.clone() }
            }
            Notice::Sealed { .. } => TraceDetail::Sealed,
            Notice::RetryScheduled { failure, attempt, attempts_max, wait } => TraceDetail::Retry {
                failure: failure.clone(),
                attempt: *attempt,
                attempts_max: *attempts_max,
                wait_millis: wait.0,
            },
            Notice::ModelSwitched { from, to, why } => {
                TraceDetail::Switched { from: from.clone(), to: to.clone(), why: why.clone() }
            }
            Notice::Repaired { why } => TraceDetail::Repaired { why: why.clone() },
            Notice::ContextShrunk { level, freed, losses } => {
                TraceDetail::Shrunk { level: *level, freed: *freed, losses: losses.clone() }
            }
            Notice::HookMessage { point, name, text } => {
                let name = format!("{} ({name})", hook_point_name(*point));
                note("hook", name, text, place.seq)
            }
            Notice::Warning(text) => note("warning", String::new(), text, place.seq),
            Notice::MessageAdded(message) => match message_note(message, place.seq) {
                Some(detail) => detail,
                None => return,
            },
            Notice::AnswerStarted { .. }
            | Notice::Streamed { .. }
            | Notice::ToolStarted(_)
            | Notice::ToolProgressed { .. }
            | Notice::ToolEnded { .. }
            | Notice::PermissionAsked { .. }
            | Notice::PermissionWithdrawn(_)
            | Notice::Hook(_)
            | Notice::FilesChanged { .. }
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::InputQueued(_)
            | Notice::Billed { .. }
            | Notice::MaxTurnsReached { .. }
            | Notice::SubagentNotice { .. }
            | Notice::RunEnded(_) => return,
        };
        push_item(trace, place, detail);
    }

    /// The prompt that began the run came just before.
    fn start_run(&mut self, trace: &mut SessionTrace, place: TracePlace) {
        self.run += 1;
        (self.turn, self.is_running) = (1, true);
        let place = self.place(place.seq, place.at);
        let mut item = trace.items.len();
        let mut prompt = String::new();
        if let Some(last) = trace.items.last_mut()
            && let TraceDetail::Prompt { text, .. } = &last.detail
            && last.place.seq == place.seq
        {
            (last.place.run, last.place.turn) = (self.run, 1);
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

    fn take_note(&mut self, trace: &mut SessionTrace, record: JournalRecord) {
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
                // Paid in the turn that asked, though the bill comes when the next one has begun.
                let mut asked = place;
                if let Some(request) = request {
                    request.bill = Some(row.clone());
                    (asked.run, asked.turn) = (request.place.run, request.place.turn);
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

    /// A conversation that was held elsewhere.
    fn adopt_messages(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        messages: &[Message],
        state: &State,
    ) {
        for message in messages {
            for block in &message.content {
                let model = message.model.clone().unwrap_or_else(|| ModelName::from("unknown"));
                let detail = match (block, message.role) {
                    (ContentBlock::Text(text), Role::User) => {
                        let text = TracedText::new(text, place.seq, ANSWER_BYTES_MAX);
                        TraceDetail::Prompt { text, media: Vec::new(), is_queued: false, by: None }
                    }
                    (ContentBlock::Text(text), Role::Assistant) => {
                        let text = TracedText::new(text, place.seq, ANSWER_BYTES_MAX);
                        TraceDetail::Answer { text, model }
                    }
                    (ContentBlock::ToolUse(call), _) => {
                        self.calls.insert(call.id.clone(), trace.items.len());
                        let traced = TracedCall::new(call, None, state, place.seq);
                        TraceDetail::Call(Box::new(traced))
                    }
                    (ContentBlock::ToolResult(result), _) => {
                        let item = self.calls.get(&result.call).copied();
                        if let Some(call) = item.and_then(|item| call_at(trace, item)) {
                            let (text, media) = split_parts(&result.content, place.seq);
                            let (at, is_error) = (place.at, result.is_error);
                            call.result =
                                Some(TracedResult { at, text, media, is_error, took_millis: 0 });
                        }
                        continue;
                    }
                    (
                        ContentBlock::Thinking(_)
                        | ContentBlock::Media(_)
                        | ContentBlock::Provider(_),
                        _,
                    ) => continue,
                };
                push_item(trace, place, detail);
            }
        }
    }
}

impl ReplayVisitor for TraceBuilder {
    fn visit_event(&mut self, replayed: ReplayedEvent<'_>) {
        let ReplayedEvent { place: line, seq, at, event, state } = replayed;
        let shared = Arc::clone(&self.trace);
        let mut guard: MutexGuard<'_, SessionTrace> = lock_trace(&shared);
        let trace = &mut *guard;
        (trace.seq, trace.last_at) = (seq, at);
        let is_far = trace.checkpoints.last().is_none_or(|(_, last)| {
            last.file != line.file || line.start >= last.start + CHECKPOINT_BYTES
        });
        if is_far {
            trace.checkpoints.push((seq, line));
        }
        let place = self.place(seq, at);
        match event {
            Event::UserSubmitted { content, .. } => {
                let text = TracedText::new(&join_block_texts(content), seq, ANSWER_BYTES_MAX);
                let media = content.iter().filter_map(|block| match block {
                    ContentBlock::Media(media) => Some(media),
                    ContentBlock::Text(_)
                    | ContentBlock::Thinking(_)
                    | ContentBlock::ToolUse(_)
                    | ContentBlock::ToolResult(_)
                    | ContentBlock::Provider(_) => None,
                });
                let media =
                    media.enumerate().map(|(part, one)| TracedMedia::new(one, seq, part)).collect();
                let (is_queued, by) = (self.is_running, self.take_actor("prompt"));
                push_item(trace, place, TraceDetail::Prompt { text, media, is_queued, by });
            }
            Event::Adopted { messages } => self.adopt_messages(trace, place, messages, state),
            Event::ModelStarted { attempt, .. } => {
                let index = self.attempts.get(attempt).copied();
                if let Some(request) = index.and_then(|index| trace.requests.get_mut(index)) {
                    request.answer.first_at.get_or_insert(at);
                }
            }
            Event::ModelDelta { attempt, delta } => {
                // What is still said in an answer that was given up changes nothing.
                if state.answer.attempt == Some(*attempt) {
                    self.take_delta(trace, place, delta, state);
                }
            }
            Event::ModelEnded { attempt, stop, usage } => {
                let index = self.attempts.get(attempt).copied();
                self.end_request(trace, index, at, |answer| {
                    (answer.stop, answer.usage) = (Some(*stop), *usage);
                });
            }
            Event::ModelFailed { attempt, failure } => {
                let index = self.attempts.get(attempt).copied();
                let words = format!("{}: {}", failure_name(failure.kind), failure.message);
                self.end_request(trace, index, at, |answer| answer.failure = Some(words));
            }
            Event::SummaryEnded { ticket, result, usage } => {
                let index = self.side_requests.remove(ticket);
                let failed = result.as_ref().err().map(|failure| failure.message.clone());
                self.end_request(trace, index, at, |answer| {
                    (answer.usage, answer.failure) = (*usage, failed);
                });
                let is_compaction =
                    index.and_then(|index| trace.requests.get(index)).is_some_and(|request| {
                        request.source == windlass_vocabulary::RequestSource::Compaction
                    });
                if let (Ok(text), true) = (result, is_compaction) {
                    let text = TracedText::new(text, seq, ANSWER_BYTES_MAX);
                    push_item(trace, place, TraceDetail::Summary { text });
                }
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
                (trace.seq, trace.last_at) = (record.seq, record.at);
                self.take_note(trace, record);
            }
            JournalEntry::Claim(claim) => trace.writer = Some(claim.holder),
            JournalEntry::Head(_) => {}
        }
    }
}

/// `{"acted":{"by":"browser","act":"answer"}}`
fn parse_act(json: &str) -> Option<(String, String)> {
    let note: serde_json::Value = serde_json::from_str(json).ok()?;
    let text = |name: &str| note.get("acted")?.get(name)?.as_str().map(str::to_owned);
    Some((text("by")?, text("act")?))
}

fn push_item(trace: &mut SessionTrace, place: TracePlace, detail: TraceDetail) {
    trace.items.push(TraceItem { place, ended_at: None, is_withdrawn: false, detail });
}

fn call_at(trace: &mut SessionTrace, item: usize) -> Option<&mut TracedCall> {
    match trace.items.get_mut(item).map(|item| &mut item.detail) {
        Some(TraceDetail::Call(call)) => Some(call),
        _ => None,
    }
}

/// Who writes the answer under way.
fn current_model(
    trace: &SessionTrace,
    attempts: &BTreeMap<AttemptId, usize>,
    state: &State,
) -> ModelName {
    let index = state.answer.attempt.and_then(|attempt| attempts.get(&attempt));
    let request = index.and_then(|index| trace.requests.get(*index));
    request.map_or_else(|| ModelName::from("unknown"), |request| request.model.clone())
}

fn note(from: &'static str, name: String, text: &str, seq: u64) -> TraceDetail {
    TraceDetail::Note { from, name, text: TracedText::new(text, seq, RESULT_BYTES_MAX) }
}

/// What the loop and hooks put into the conversation besides.
fn message_note(message: &Message, seq: u64) -> Option<TraceDetail> {
    let text = message.text();
    Some(match message.origin {
        MessageOrigin::Meta(_) => note("loop", describe_origin(message.origin), &text, seq),
        MessageOrigin::Hook => note("hook", String::new(), &text, seq),
        MessageOrigin::Attachment(AttachmentKind::QueuedInput) => return None,
        MessageOrigin::Attachment(kind) => {
            note("attachment", attachment_name(kind).to_owned(), &text, seq)
        }
        MessageOrigin::Display => note("command", String::new(), &text, seq),
        MessageOrigin::User
        | MessageOrigin::Model
        | MessageOrigin::ToolResults
        | MessageOrigin::Summary => return None,
    })
}

/// Bytes kept of prompts, answers and summaries.
const ANSWER_BYTES_MAX: usize = 32 << 10;
/// Bytes kept of results, reasoning and notes.
pub(super) const RESULT_BYTES_MAX: usize = 4 << 10;
pub(super) const INPUT_BYTES_MAX: usize = 8 << 10;
const PROMPT_TITLE_BYTES_MAX: usize = 200;
/// Bytes of a journal between two places at which reading may begin.
const CHECKPOINT_BYTES: u64 = 128 << 10;
/// What fills the window is counted at each of the first so many requests, then at each so-manieth.
const CONTEXTS_DENSE_MAX: usize = 200;
const CONTEXTS_SPARSE: usize = 50;
/// Requests that may still wait for their bill.
const BILL_LOOKBACK: usize = 8;
