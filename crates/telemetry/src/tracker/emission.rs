//! Collects the records for one observation.

use std::path::Path;

use windlass_driver::ObservedSession;
use windlass_host::random::generate_seed;
use windlass_tool::Secrets;
use windlass_vocabulary::civil_date::format_timestamp;

use super::agent_track::AgentTrack;
use super::wiring::WiringTrack;
use crate::config::TelemetryConfig;
use crate::content::redact_and_cut;
use crate::names::{self, MetricName};
use crate::record::{
    Attributes, BodyFile, EventRecord, MetricIncrement, SpanContext, SpanEvent, SpanKind,
    SpanRecord, TelemetryRecord,
};

#[derive(Clone, Debug)]
pub(super) struct OpenSpan {
    pub(super) context: SpanContext,
    pub(super) parent: Option<[u8; 8]>,
    pub(super) start: u64,
}

pub(super) struct EndedSpan {
    pub(super) span: OpenSpan,
    pub(super) name: &'static str,
    pub(super) kind: SpanKind,
    pub(super) end: u64,
    pub(super) attributes: Attributes,
    pub(super) events: Vec<SpanEvent>,
    pub(super) error: Option<String>,
}

/// The body of an event, and where it goes.
pub(super) struct EventFile<'a> {
    pub(super) folder: &'a Path,
    /// `request` or `response`.
    pub(super) kind: &'static str,
    pub(super) text: String,
}

pub(super) struct Emission<'a> {
    pub(super) config: &'a TelemetryConfig,
    pub(super) now: u64,
    /// Secrets that must not be sent, not even in part.
    secrets: &'a Secrets,
    session_id: &'a str,
    prompt_id: String,
    context: Option<SpanContext>,
    sequence: &'a mut u64,
    pub(super) wiring: &'a mut WiringTrack,
    records: Vec<TelemetryRecord>,
}

/// What all sessions of a tree share.
pub(super) struct EmissionState<'a> {
    pub(super) sequence: &'a mut u64,
    pub(super) wiring: &'a mut WiringTrack,
}

impl<'a> Emission<'a> {
    pub(super) fn new(
        config: &'a TelemetryConfig,
        session: &'a ObservedSession,
        track: &AgentTrack,
        state: EmissionState<'a>,
        now: u64,
    ) -> Self {
        let EmissionState { sequence, wiring } = state;
        Self {
            config,
            now,
            secrets: &session.secrets,
            session_id: &session.id,
            prompt_id: track.prompt_id.clone(),
            context: track.current_context(),
            sequence,
            wiring,
            records: Vec::new(),
        }
    }

    pub(super) fn into_records(self) -> Vec<TelemetryRecord> {
        self.records
    }

    pub(super) fn session_id(&self) -> &'a str {
        self.session_id
    }

    /// Redacts a text and cuts it to `length_max`.
    pub(super) fn cut(&self, text: &str, length_max: usize) -> String {
        redact_and_cut(text, length_max, self.secrets)
    }

    /// The redacted and cut text if `is_on`, else a placeholder.
    pub(super) fn reveal(&self, is_on: bool, text: &str) -> String {
        self.config.content.reveal(is_on, text, self.secrets)
    }

    /// Associates the following events with this prompt and span.
    pub(super) fn set_prompt(&mut self, prompt_id: &str, context: Option<SpanContext>) {
        prompt_id.clone_into(&mut self.prompt_id);
        self.context = context;
    }

    /// Starts a span below `parent`, else below the span from the environment, else as a new trace.
    pub(super) fn begin_span(&self, parent: Option<SpanContext>) -> OpenSpan {
        let parent = parent.or(self.config.trace.parent);
        let trace = parent.map_or_else(generate_id, |parent| parent.trace);
        OpenSpan {
            context: SpanContext { trace, span: generate_id() },
            parent: parent.map(|parent| parent.span),
            start: self.now,
        }
    }

    pub(super) fn end_span(&mut self, ended: EndedSpan) {
        if !self.config.traces.is_on() {
            return;
        }
        let EndedSpan { span, name, kind, end, attributes, events, error } = ended;
        let kind_name = name.rsplit_once("claude_code.").map_or(name, |(_, rest)| rest);
        let attributes = Attributes::default()
            .text("span.type", kind_name)
            .text("session.id", self.session_id)
            .join(attributes);
        self.records.push(TelemetryRecord::Span(Box::new(SpanRecord {
            context: span.context,
            parent: span.parent,
            trace_state: self.config.trace.state.clone(),
            name,
            kind,
            start: span.start,
            end: end.max(span.start),
            attributes,
            events,
            error,
        })));
    }

    pub(super) fn event(&mut self, name: &'static str, attributes: Attributes) {
        self.add_event(name, attributes, None);
    }

    /// An event whose body goes to a file with this name, in this folder.
    pub(super) fn event_with_file(
        &mut self,
        name: &'static str,
        attributes: Attributes,
        file: EventFile<'_>,
    ) {
        let session = self.session_id.replace(['/', '\\'], "_");
        let time = self.now / 1_000_000;
        let path = format!("{session}-{time}-{}.{}.json", *self.sequence + 1, file.kind);
        let body_file = BodyFile { path: file.folder.join(path), text: file.text };
        self.add_event(name, attributes, Some(body_file));
    }

    fn add_event(
        &mut self,
        name: &'static str,
        attributes: Attributes,
        body_file: Option<BodyFile>,
    ) {
        if !self.config.logs.is_on() {
            return;
        }
        *self.sequence += 1;
        let short = name.strip_prefix(names::PREFIX).unwrap_or(name);
        let prompt_id = Some(self.prompt_id.clone()).filter(|id| !id.is_empty());
        let all = Attributes::default()
            .text("session.id", self.session_id)
            .text("event.name", short)
            .text("event.timestamp", format_timestamp(self.now / 1_000_000))
            .count("event.sequence", *self.sequence)
            .optional_text("prompt.id", prompt_id)
            .join(attributes);
        let context = match self.config.traces.is_on() {
            true => self.context,
            // Our own spans are not sent, so the span we were started in is the closest one.
            false => self.config.trace.parent,
        };
        self.records.push(TelemetryRecord::Event(EventRecord {
            name,
            time: self.now,
            attributes: all,
            context,
            body_file,
        }));
    }

    pub(super) fn count(
        &mut self,
        metric: &'static MetricName,
        amount: f64,
        attributes: Attributes,
    ) {
        if !self.config.metrics.is_on() || amount <= 0.0 {
            return;
        }
        let session = self.config.labels.session_id.then_some(self.session_id);
        let attributes =
            Attributes::default().optional_text("session.id", session).join(attributes);
        self.records.push(TelemetryRecord::Increment(MetricIncrement {
            metric,
            amount,
            attributes,
        }));
    }
}

/// A random id that is never all zero.
fn generate_id<const N: usize>() -> [u8; N] {
    let mut id = [0; N];
    for chunk in id.chunks_mut(8) {
        let bytes = generate_seed().max(1).to_be_bytes();
        for (byte, random) in chunk.iter_mut().zip(bytes) {
            *byte = random;
        }
    }
    id
}

pub(super) fn millis_between(start: u64, end: u64) -> u64 {
    end.saturating_sub(start) / 1_000_000
}
