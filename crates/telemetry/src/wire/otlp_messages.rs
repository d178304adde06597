//! The messages of OTLP, with the number and name of each field.

use std::borrow::Cow;

use super::{WireMessage, WireValue};
use crate::metric_table::{MetricPoint, Temporality};
use crate::names::{self, MetricName};
use crate::record::{AttributeValue, Attributes, EventRecord, SpanEvent, SpanKind, SpanRecord};

/// What all records of a request share.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtlpRequestHead {
    pub resource: Attributes,
    pub version: String,
}

/// `standard` attributes come before each span's own.
#[must_use]
pub(crate) fn build_trace_request<'a>(
    head: &'a OtlpRequestHead,
    standard: &'a Attributes,
    spans: &'a [SpanRecord],
) -> WireMessage<'a> {
    let spans = spans.iter().map(|span| build_span(span, standard));
    build_request(head, ["resourceSpans", "scopeSpans", "spans"], spans)
}

/// `standard` attributes come before each event's own.
#[must_use]
pub(crate) fn build_log_request<'a>(
    head: &'a OtlpRequestHead,
    standard: &'a Attributes,
    events: &'a [EventRecord],
) -> WireMessage<'a> {
    let records = events.iter().map(|event| build_log_record(event, standard));
    build_request(head, ["resourceLogs", "scopeLogs", "logRecords"], records)
}

/// `standard` attributes come before each point's own.
#[must_use]
pub(crate) fn build_metric_request<'a>(
    head: &'a OtlpRequestHead,
    standard: &'a Attributes,
    metrics: &'a [(&'static MetricName, Vec<MetricPoint>)],
    temporality: Temporality,
) -> WireMessage<'a> {
    let metrics =
        metrics.iter().map(|(metric, points)| build_metric(metric, points, standard, temporality));
    build_request(head, ["resourceMetrics", "scopeMetrics", "metrics"], metrics)
}

/// All three signals have the same envelope.
fn build_request<'a>(
    head: &'a OtlpRequestHead,
    [resource_list, scope_list, record_list]: [&'static str; 3],
    records: impl Iterator<Item = WireMessage<'a>>,
) -> WireMessage<'a> {
    let scope = WireMessage::default().field(1, "name", text(names::SCOPE)).field(
        2,
        "version",
        text(&head.version),
    );
    let in_scope = WireMessage::default()
        .field(1, "scope", WireValue::Message(scope))
        .field(2, record_list, WireValue::Messages(records.collect()))
        .field(3, "schemaUrl", text(names::SCHEMA_URL));
    let resource = WireMessage::default().field(1, "attributes", build_list(&[&head.resource]));
    let in_resource = WireMessage::default()
        .field(1, "resource", WireValue::Message(resource))
        .field(2, scope_list, WireValue::Messages(vec![in_scope]))
        .field(3, "schemaUrl", text(names::SCHEMA_URL));
    WireMessage::default().field(1, resource_list, WireValue::Messages(vec![in_resource]))
}

fn build_span<'a>(span: &'a SpanRecord, standard: &'a Attributes) -> WireMessage<'a> {
    let kind = match span.kind {
        SpanKind::Internal => 1,
        SpanKind::Client => 3,
    };
    let message = WireMessage::default()
        .field(1, "traceId", WireValue::Id(&span.context.trace))
        .field(2, "spanId", WireValue::Id(&span.context.span))
        .field(3, "traceState", text(span.trace_state.as_deref().unwrap_or_default()))
        .field(4, "parentSpanId", WireValue::Id(span.parent.as_ref().map_or(&[], |id| id)))
        .field(5, "name", text(span.name))
        .field(6, "kind", WireValue::Number(kind))
        .field(7, "startTimeUnixNano", WireValue::Fixed(span.start))
        .field(8, "endTimeUnixNano", WireValue::Fixed(span.end))
        .field(9, "attributes", build_list(&[standard, &span.attributes]))
        .field(11, "events", WireValue::Messages(span.events.iter().map(build_event).collect()));
    match &span.error {
        None => message,
        Some(error) => {
            let status = WireMessage::default().field(2, "message", text(error)).field(
                3,
                "code",
                WireValue::Number(STATUS_ERROR),
            );
            message.field(15, "status", WireValue::Message(status))
        }
    }
}

fn build_event(event: &SpanEvent) -> WireMessage<'_> {
    WireMessage::default()
        .field(1, "timeUnixNano", WireValue::Fixed(event.time))
        .field(2, "name", text(event.name))
        .field(3, "attributes", build_list(&[&event.attributes]))
}

fn build_log_record<'a>(event: &'a EventRecord, standard: &'a Attributes) -> WireMessage<'a> {
    let (trace, span): (&[u8], &[u8]) =
        event.context.as_ref().map_or((&[], &[]), |context| (&context.trace, &context.span));
    WireMessage::default()
        .field(1, "timeUnixNano", WireValue::Fixed(event.time))
        .field(2, "severityNumber", WireValue::Number(SEVERITY_INFO))
        .field(3, "severityText", text("INFO"))
        .field(5, "body", WireValue::Message(build_text(event.name)))
        .field(6, "attributes", build_list(&[standard, &event.attributes]))
        .field(9, "traceId", WireValue::Id(trace))
        .field(10, "spanId", WireValue::Id(span))
        .field(11, "observedTimeUnixNano", WireValue::Fixed(event.time))
        .field(12, "eventName", text(event.name))
}

fn build_metric<'a>(
    metric: &'static MetricName,
    points: &'a [MetricPoint],
    standard: &'a Attributes,
    temporality: Temporality,
) -> WireMessage<'a> {
    let temporality = match temporality {
        Temporality::Delta => 1,
        Temporality::Cumulative => 2,
    };
    let points = points.iter().map(|point| {
        WireMessage::default()
            .field(2, "startTimeUnixNano", WireValue::Fixed(point.start))
            .field(3, "timeUnixNano", WireValue::Fixed(point.end))
            .push_field(4, "asDouble", WireValue::Double(point.value))
            .field(7, "attributes", build_list(&[standard, &point.attributes]))
    });
    let sum = WireMessage::default()
        .field(1, "dataPoints", WireValue::Messages(points.collect()))
        .field(2, "aggregationTemporality", WireValue::Number(temporality))
        .field(3, "isMonotonic", WireValue::Flag(true));
    WireMessage::default()
        .field(1, "name", text(metric.name))
        .field(2, "description", text(metric.description))
        .field(3, "unit", text(metric.unit))
        .field(7, "sum", WireValue::Message(sum))
}

/// Joins attribute lists. The last of equal names wins, since OTLP requires unique names.
fn build_list<'a>(parts: &[&'a Attributes]) -> WireValue<'a> {
    let all: Vec<_> = parts.iter().flat_map(|part| &part.0).collect();
    let is_last = |place: usize, name: &str| {
        !all.iter().skip(place + 1).any(|(other, _)| other.as_ref() == name)
    };
    let kept = all.iter().enumerate().filter(|(place, (name, _))| is_last(*place, name));
    let build = |(_, (name, value)): (usize, &&'a (Cow<'static, str>, AttributeValue))| {
        WireMessage::default().field(1, "key", text(name)).field(
            2,
            "value",
            WireValue::Message(build_value(value)),
        )
    };
    WireValue::Messages(kept.map(build).collect())
}

fn build_value(value: &AttributeValue) -> WireMessage<'_> {
    let message = WireMessage::default();
    match value {
        AttributeValue::Text(value) => build_text(value),
        AttributeValue::Flag(value) => message.push_field(2, "boolValue", WireValue::Flag(*value)),
        AttributeValue::Int(value) => message.push_field(3, "intValue", WireValue::Int(*value)),
        AttributeValue::Double(value) => {
            message.push_field(4, "doubleValue", WireValue::Double(*value))
        }
        AttributeValue::TextList(list) => {
            let values = list.iter().map(|text| build_text(text)).collect();
            let array = WireMessage::default().field(1, "values", WireValue::Messages(values));
            message.push_field(5, "arrayValue", WireValue::Message(array))
        }
    }
}

fn build_text(value: &str) -> WireMessage<'_> {
    WireMessage::default().push_field(1, "stringValue", text(value))
}

fn text(value: &str) -> WireValue<'_> {
    WireValue::Text(Cow::Borrowed(value))
}

const STATUS_ERROR: u64 = 2;
const SEVERITY_INFO: u64 = 9;
