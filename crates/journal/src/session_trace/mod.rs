//! What happened in a session, item by item, for viewers: messages, questions, decisions, requests,
//! costs and dropped parts, each with its record, its time and its duration.
//!
//! Built by a replay, so that it contains the engine's decisions and not only what was recorded;
//! filled step by step, so that the beginning of a long journal can be shown at once. Only the
//! beginning of long texts is kept: [`record_content`] reads one record completely.

mod adopted_items;
mod answer_items;
mod call_trace;
mod notice_items;
pub mod record_content;
mod request_items;
mod request_shape;
pub mod session_moment;
mod trace_builder;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use windlass_engine::Settings;
use windlass_permission::policy_check::PermissionReport;
use windlass_vocabulary::context_usage::ContextUsage;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    AttemptId, MediaContent, MicroUsd, ModelFailure, ModelName, ModelStopReason, RequestSource,
    Ticket, Tokens, ToolCallId, ToolName, Transition, Usage,
};

use crate::error::JournalError;
use crate::fold::GrowingReplay;
use crate::journal_reader::{JournalReader, LinePlace};
use crate::record::{BilledRow, ClaimHolder, JournalHead};
use crate::segment::find_journal_files;
use trace_builder::TraceBuilder;

#[derive(Debug, Default)]
pub struct SessionTrace {
    pub head: JournalHead,
    /// The files of the journal, in order.
    pub files: Vec<PathBuf>,
    pub items: Vec<TraceItem>,
    pub runs: Vec<TracedRun>,
    pub requests: Vec<TracedRequest>,
    /// The content of the context window at each request and each end of a run.
    pub contexts: Vec<TracedContext>,
    /// The costs, in order.
    pub bills: Vec<(TracePlace, BilledRow)>,
    /// The number of the last record.
    pub seq: u64,
    /// When it was written.
    pub last_at: u64,
    /// The number of damaged lines.
    pub damaged: usize,
    /// The end of the journal was reached.
    pub is_complete: bool,
    /// The process that wrote last.
    pub writer: Option<ClaimHolder>,
    /// Positions for reading single records, in order.
    checkpoints: Vec<(u64, LinePlace)>,
}

/// A position in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracePlace {
    pub seq: u64,
    /// In milliseconds since 1970.
    pub at: u64,
    /// The run, counted from 1; 0 before the first.
    pub run: u32,
    pub turn: u32,
}

#[derive(Debug)]
pub struct TraceItem {
    pub place: TracePlace,
    /// When it ended, for items with a duration.
    pub ended_at: Option<u64>,
    /// It was shown and then withdrawn.
    pub is_withdrawn: bool,
    pub detail: TraceDetail,
}

#[derive(Debug)]
pub enum TraceDetail {
    Prompt {
        text: TracedText,
        media: Vec<TracedMedia>,
        is_queued: bool,
        by: Option<String>,
    },
    Answer {
        text: TracedText,
        model: ModelName,
    },
    Thinking {
        text: TracedText,
        model: ModelName,
    },
    Call(Box<TracedCall>),
    /// An index in `requests`.
    Request(usize),
    Summary {
        text: TracedText,
    },
    Note {
        from: &'static str,
        name: String,
        text: TracedText,
    },
    Retry {
        failure: ModelFailure,
        attempt: u8,
        attempts_max: u8,
        wait_millis: u64,
    },
    Retracted {
        why: String,
    },
    Sealed,
    Repaired {
        why: String,
    },
    Switched {
        from: ModelName,
        to: ModelName,
        why: String,
    },
    Shrunk {
        level: u8,
        freed: Tokens,
        losses: Vec<String>,
    },
    Continued(Transition),
    End(Box<RunEnding>),
}

impl TraceDetail {
    pub fn call(&self) -> Option<&TracedCall> {
        match self {
            Self::Call(call) => Some(call),
            Self::Prompt { .. }
            | Self::Answer { .. }
            | Self::Thinking { .. }
            | Self::Request(_)
            | Self::Summary { .. }
            | Self::Note { .. }
            | Self::Retry { .. }
            | Self::Retracted { .. }
            | Self::Sealed
            | Self::Repaired { .. }
            | Self::Switched { .. }
            | Self::Shrunk { .. }
            | Self::Continued(_)
            | Self::End(_) => None,
        }
    }

    /// What was said; of a call, its input.
    pub fn text(&self) -> Option<&TracedText> {
        match self {
            Self::Prompt { text, .. }
            | Self::Answer { text, .. }
            | Self::Thinking { text, .. }
            | Self::Summary { text }
            | Self::Note { text, .. } => Some(text),
            Self::Call(call) => Some(&call.input),
            Self::Request(_)
            | Self::Retry { .. }
            | Self::Retracted { .. }
            | Self::Sealed
            | Self::Repaired { .. }
            | Self::Switched { .. }
            | Self::Shrunk { .. }
            | Self::Continued(_)
            | Self::End(_) => None,
        }
    }
}

/// The beginning of a text, and the record with all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedText {
    pub text: String,
    /// The length of the complete text.
    pub bytes: usize,
    /// The record with the complete text.
    pub seq: u64,
}

/// An image or document, without its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedMedia {
    pub seq: u64,
    pub part: usize,
    pub media_type: Arc<str>,
    pub name: Arc<str>,
    pub bytes: usize,
}

#[derive(Debug)]
pub struct TracedCall {
    pub id: ToolCallId,
    pub tool: ToolName,
    pub input: TracedText,
    /// What the rules of that time decide. The actual decision is recorded separately.
    pub report: Option<PermissionReport>,
    pub asked: Option<TracedQuestion>,
    /// Why it did not run.
    pub denied: Option<String>,
    pub started_at: Option<u64>,
    pub result: Option<TracedResult>,
    /// Its last progress messages.
    pub progress: Vec<String>,
    /// The cost of a nested session.
    pub spent: MicroUsd,
    /// The nested session it started, once that is known.
    pub agent: Option<String>,
}

/// A question to the user about a call.
#[derive(Debug)]
pub struct TracedQuestion {
    pub seq: u64,
    pub at: u64,
    pub ticket: Ticket,
    pub why: String,
    pub answer: Option<TracedPermissionAnswer>,
}

#[derive(Debug)]
pub struct TracedPermissionAnswer {
    pub at: u64,
    pub is_allowed: bool,
    /// The front end that answered, if it is known.
    pub by: Option<String>,
    pub remember: Vec<String>,
    pub message: Option<String>,
}

#[derive(Debug)]
pub struct TracedResult {
    pub at: u64,
    pub text: TracedText,
    pub media: Vec<TracedMedia>,
    pub is_error: bool,
    /// The duration the tool reported.
    pub took_millis: u64,
}

#[derive(Debug)]
pub struct TracedRun {
    pub place: TracePlace,
    /// The first item of the run.
    pub item: usize,
    pub ended_at: Option<u64>,
    pub ending: Option<RunEnding>,
    pub cost: MicroUsd,
    pub usage: Usage,
    pub prompt: String,
}

#[derive(Debug)]
pub struct TracedRequest {
    pub place: TracePlace,
    pub item: usize,
    pub attempt: AttemptId,
    pub model: ModelName,
    pub source: RequestSource,
    pub shape: RequestShape,
    pub answer: RequestAnswer,
    /// The cost, once it is known.
    pub bill: Option<BilledRow>,
}

/// The content of a request, compared with the one before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestShape {
    pub messages: usize,
    pub tools: usize,
    /// Bytes of its texts.
    pub bytes: u64,
    /// How many bytes at the start are the same as in the previous request.
    pub shared_bytes: u64,
    /// What differs from the previous request, other than additions at its end.
    pub changed: Vec<String>,
    /// The estimate of its input.
    pub estimate: Tokens,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestAnswer {
    pub first_at: Option<u64>,
    pub ended_at: Option<u64>,
    pub stop: Option<ModelStopReason>,
    pub usage: Usage,
    /// Why it failed.
    pub failure: Option<String>,
    pub is_cancelled: bool,
}

/// The content of the context window at one moment.
#[derive(Debug)]
pub struct TracedContext {
    pub place: TracePlace,
    pub usage: ContextUsage,
}

impl TracedText {
    /// Keeps at most this many bytes of the text.
    pub(crate) fn new(text: &str, seq: u64, bytes_max: usize) -> Self {
        let end = text.floor_char_boundary(bytes_max.min(text.len()));
        Self { text: text.get(..end).unwrap_or_default().to_owned(), bytes: text.len(), seq }
    }

    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.text.len() < self.bytes
    }
}

impl TracedMedia {
    pub(crate) fn new(media: &MediaContent, seq: u64, part: usize) -> Self {
        let MediaContent { media_type, data, name } = media;
        let media_type = Arc::clone(media_type);
        let name = Arc::clone(name);
        Self { seq, part, media_type, name, bytes: data.len() / 4 * 3 }
    }
}

impl SessionTrace {
    /// Where to start reading to find this record.
    fn find_checkpoint(&self, seq: u64) -> Option<(PathBuf, u64)> {
        let behind = self.checkpoints.partition_point(|(first, _)| *first <= seq);
        let (_, place) = self.checkpoints.get(behind.checked_sub(1)?)?;
        Some((self.files.get(place.file)?.clone(), place.start))
    }
}

/// Replays a journal into `trace`, which others may read meanwhile. Uses the settings in the
/// journal, or these if it contains none. Returns a tracer that can continue.
pub fn trace_session(
    journal: &Path,
    settings: &Settings,
    trace: &Arc<Mutex<SessionTrace>>,
) -> Result<JournalTracer, JournalError> {
    lock_trace(trace).files = find_journal_files(journal);
    let reader = JournalReader::open(journal)?;
    let builder = TraceBuilder::new(Arc::clone(trace));
    let replay = GrowingReplay::new(reader, settings, builder);
    JournalTracer { replay, trace: Arc::clone(trace) }.advance()
}

/// A trace that can continue when its journal has grown. Keeps the whole conversation in memory.
pub struct JournalTracer {
    replay: GrowingReplay<TraceBuilder>,
    trace: Arc<Mutex<SessionTrace>>,
}

impl JournalTracer {
    /// Adds what was recorded since to the trace.
    pub fn advance(self) -> Result<Self, JournalError> {
        let Self { replay, trace } = self;
        let replay = replay.advance()?;
        {
            let mut trace = lock_trace(&trace);
            trace.damaged = replay.damage_count();
            trace.seq = replay.seq();
            trace.is_complete = true;
        }
        Ok(Self { replay, trace })
    }

    /// Would lines that are added to the last file be found?
    #[must_use]
    pub fn can_go_on(&self) -> bool {
        self.replay.can_go_on()
    }
}

/// Ignores the poison flag: a panic in one replay step must not hide the rest of the trace.
pub fn lock_trace(trace: &Mutex<SessionTrace>) -> std::sync::MutexGuard<'_, SessionTrace> {
    trace.lock().unwrap_or_else(PoisonError::into_inner)
}
