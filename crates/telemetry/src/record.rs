//! Records to send, independent of their encoding.

use std::borrow::Cow;
use std::path::PathBuf;

use windlass_tool::Secrets;

use crate::names::MetricName;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AttributeValue {
    Text(String),
    Flag(bool),
    Int(i64),
    Double(f64),
    TextList(Vec<String>),
}

/// Names and values, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Attributes(pub Vec<(Cow<'static, str>, AttributeValue)>);

impl Attributes {
    #[must_use]
    pub(crate) fn text(self, name: &'static str, value: impl Into<String>) -> Self {
        self.with(name, AttributeValue::Text(value.into()))
    }

    #[must_use]
    pub(crate) fn optional_text(
        self,
        name: &'static str,
        value: Option<impl Into<String>>,
    ) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    #[must_use]
    pub(crate) fn flag(self, name: &'static str, value: bool) -> Self {
        self.with(name, AttributeValue::Flag(value))
    }

    /// A count, capped at `i64::MAX`.
    #[must_use]
    pub(crate) fn count(self, name: &'static str, value: u64) -> Self {
        self.with(name, AttributeValue::Int(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    #[must_use]
    pub(crate) fn double(self, name: &'static str, value: f64) -> Self {
        self.with(name, AttributeValue::Double(value))
    }

    #[must_use]
    pub(crate) fn text_list(self, name: &'static str, value: Vec<String>) -> Self {
        self.with(name, AttributeValue::TextList(value))
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: AttributeValue) -> Self {
        self.0.push((Cow::Borrowed(name), value));
        self
    }

    #[must_use]
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(crate) fn redact(&mut self, secrets: &Secrets) {
        for (_, value) in &mut self.0 {
            match value {
                AttributeValue::Text(text) => redact_text(text, secrets),
                AttributeValue::TextList(list) => {
                    list.iter_mut().for_each(|text| redact_text(text, secrets));
                }
                AttributeValue::Flag(_) | AttributeValue::Int(_) | AttributeValue::Double(_) => {}
            }
        }
    }

    fn bytes(&self) -> usize {
        let size = |value: &AttributeValue| match value {
            AttributeValue::Text(text) => text.len(),
            AttributeValue::TextList(list) => list.iter().map(String::len).sum(),
            AttributeValue::Flag(_) | AttributeValue::Int(_) | AttributeValue::Double(_) => 8,
        };
        self.0.iter().map(|(name, value)| name.len() + size(value) + 32).sum()
    }
}

fn redact_text(text: &mut String, secrets: &Secrets) {
    if let Cow::Owned(clean) = secrets.redact(text) {
        *text = clean;
    }
}

/// Ids of a trace and a span, neither all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanContext {
    pub trace: [u8; 16],
    pub span: [u8; 8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Internal,
    Client,
}

/// A span that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SpanRecord {
    pub context: SpanContext,
    pub parent: Option<[u8; 8]>,
    /// The W3C `tracestate` of the parent.
    pub trace_state: Option<String>,
    pub name: &'static str,
    pub kind: SpanKind,
    /// Nanoseconds since 1970.
    pub start: u64,
    pub end: u64,
    pub attributes: Attributes,
    pub events: Vec<SpanEvent>,
    /// Why it failed. Only set for some spans.
    pub error: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SpanEvent {
    pub name: &'static str,
    pub time: u64,
    pub attributes: Attributes,
}

/// A log record that represents an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EventRecord {
    /// Including [`names::PREFIX`](crate::names::PREFIX).
    pub name: &'static str,
    pub time: u64,
    pub attributes: Attributes,
    pub context: Option<SpanContext>,
    /// Written before the event is sent.
    pub body_file: Option<BodyFile>,
}

/// A whole request or answer that goes to a file instead of a collector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BodyFile {
    pub path: PathBuf,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricIncrement {
    pub metric: &'static MetricName,
    pub amount: f64,
    pub attributes: Attributes,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TelemetryRecord {
    Span(Box<SpanRecord>),
    Event(EventRecord),
    Increment(MetricIncrement),
}

impl TelemetryRecord {
    /// Removes the session's secrets. Called before a record is queued.
    pub(crate) fn redact(&mut self, secrets: &Secrets) {
        match self {
            Self::Span(span) => {
                span.attributes.redact(secrets);
                for event in &mut span.events {
                    event.attributes.redact(secrets);
                }
                if let Some(error) = &mut span.error {
                    redact_text(error, secrets);
                }
            }
            Self::Event(event) => {
                event.attributes.redact(secrets);
                if let Some(file) = &mut event.body_file {
                    redact_text(&mut file.text, secrets);
                }
            }
            Self::Increment(increment) => increment.attributes.redact(secrets),
        }
    }

    /// Approximate memory size.
    pub(crate) fn bytes(&self) -> usize {
        let own = match self {
            Self::Span(span) => {
                let events = span.events.iter().map(|event| event.attributes.bytes() + 64);
                span.attributes.bytes() + events.sum::<usize>()
            }
            Self::Event(event) => {
                let file = event.body_file.as_ref().map_or(0, |file| file.text.len());
                event.attributes.bytes() + file
            }
            Self::Increment(increment) => increment.attributes.bytes(),
        };
        own + 200
    }
}
