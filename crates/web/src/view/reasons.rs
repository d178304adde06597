//! Why the loop continued, recovered, shrank the context, switched models, refused a call or
//! stopped.

use serde_json::{Value, json};
use windlass_assembly::report::why::{
    describe_context_level, describe_terminal, describe_transition,
};
use windlass_journal::session_trace::{TraceDetail, TraceItem};

use super::call_json::summarize_call;
use super::read_window;
use super::ruling_source::RuleSources;
use super::shown_paths::ShownPaths;
use crate::server::query::QueryParameters;
use crate::viewer::{FoundSession, ViewFailure, Viewer};

/// Limit on reasons in one response.
pub(crate) const REASONS_WINDOW: usize = 200;

pub(super) fn answer_reasons(
    viewer: &Viewer,
    session: &FoundSession,
    query: &QueryParameters,
) -> Result<Value, ViewFailure> {
    let trace = viewer.traces.open(&session.journal)?;
    trace.wait_for_end()?;
    let project = session.row.summary.project.as_deref();
    let sources = RuleSources::new(viewer, project);
    let paths = ShownPaths::new(project);
    trace.read(|trace| {
        let all = trace.items.iter().enumerate();
        let reasons: Vec<(usize, &TraceItem, ReasonText)> = all
            .filter_map(|(item, traced)| Some((item, traced, explain_item(traced, &sources)?)))
            .collect();
        let window = read_window(query, reasons.len(), REASONS_WINDOW)?;
        let rows = reasons.get(window.clone()).unwrap_or_default().iter();
        let shown: Vec<Value> = window
            .clone()
            .zip(rows)
            .map(|(number, (item, traced, reason))| {
                let facts: Vec<Value> = reason
                    .facts
                    .iter()
                    .map(|(name, value)| json!([name, paths.shorten(value)]))
                    .collect();
                json!({
                    "n": number,
                    "seq": traced.place.seq,
                    "item": item,
                    "at": traced.place.at,
                    "run": traced.place.run,
                    "turn": traced.place.turn,
                    "kind": reason.kind,
                    "name": reason.name,
                    "words": paths.shorten(&reason.words),
                    "facts": facts,
                })
            })
            .collect();
        Ok(json!({"total": reasons.len(), "from": window.start, "to": window.end, "reasons": shown}))
    })
}

struct ReasonText {
    kind: &'static str,
    name: Option<&'static str>,
    words: String,
    facts: Vec<(&'static str, String)>,
}

impl ReasonText {
    fn new(kind: &'static str, words: impl Into<String>) -> Self {
        Self { kind, name: None, words: words.into(), facts: Vec::new() }
    }

    fn with_fact(mut self, name: &'static str, value: &(impl ToString + ?Sized)) -> Self {
        self.facts.push((name, value.to_string()));
        self
    }
}

fn explain_item(item: &TraceItem, sources: &RuleSources<'_>) -> Option<ReasonText> {
    Some(match &item.detail {
        TraceDetail::Prompt { text, .. } => {
            let words: String = text.text.chars().take(WORDS_CHARS_MAX).collect();
            ReasonText::new("asked", words)
        }
        TraceDetail::Continued(transition) => {
            let mut reason = ReasonText::new("continued", describe_transition(*transition));
            reason.name = Some(transition.name());
            reason.with_fact("turn", &item.place.turn)
        }
        TraceDetail::Shrunk { level, freed, losses } => {
            let mut reason = ReasonText::new("shrunk", describe_context_level(*level))
                .with_fact("level", level)
                .with_fact("tokens freed", &freed.0);
            for loss in losses.iter().take(LOSSES_SHOWN) {
                reason = reason.with_fact("dropped", loss);
            }
            reason
        }
        TraceDetail::Switched { from, to, why } => {
            ReasonText::new("switched", format!("From {from} to {to}: {why}"))
        }
        TraceDetail::Retry { failure, attempt, attempts_max, wait_millis } => {
            let words =
                format!("Waited before retry {attempt} of {attempts_max}: {}", failure.message);
            let mut reason =
                ReasonText::new("waited", words).with_fact("wait", &format!("{wait_millis} ms"));
            if let Some(status) = failure.status {
                reason = reason.with_fact("status", &status);
            }
            if let Some(after) = failure.retry_after {
                reason = reason.with_fact("server asked for", &format!("{} ms", after.0));
            }
            reason
        }
        TraceDetail::Repaired { why } => {
            ReasonText::new("repaired", format!("The request was repaired: {why}"))
        }
        TraceDetail::Retracted { why } => {
            ReasonText::new("retracted", format!("A partial answer was discarded: {why}"))
        }
        TraceDetail::Sealed => ReasonText::new(
            "sealed",
            "The stream was cut after a tool had started; the answer was kept up to there.",
        ),
        TraceDetail::Call(call) => {
            let title = summarize_call(call);
            let (kind, why) = match (&call.denied, &call.asked) {
                (Some(why), _) => ("denied", format!("{title} did not run: {why}")),
                (None, Some(asked)) => ("ruled", format!("{title}: {}", asked.why)),
                (None, None) => {
                    let report = call.report.as_ref()?;
                    call.started_at?;
                    ("ruled", format!("{title}: {}", report.reason))
                }
            };
            let mut reason = ReasonText::new(kind, why);
            if let Some(rule) = call.report.as_ref().and_then(|report| report.rule.as_ref()) {
                reason = reason.with_fact("rule", rule);
                if let Some(place) = sources.find(rule) {
                    reason = reason.with_fact("stands in", &place);
                }
            }
            if let Some(answer) = call.asked.as_ref().and_then(|asked| asked.answer.as_ref()) {
                let said = if answer.is_allowed { "allow" } else { "deny" };
                reason = reason.with_fact("answered", &said);
            }
            reason
        }
        TraceDetail::End(ending) => {
            let mut reason = ReasonText::new("ended", describe_terminal(ending.terminal));
            reason.name = Some(ending.terminal.name());
            reason.with_fact("turns", &ending.turns).with_fact("in its own words", &ending.why)
        }
        TraceDetail::Answer { .. }
        | TraceDetail::Thinking { .. }
        | TraceDetail::Request(_)
        | TraceDetail::Summary { .. }
        | TraceDetail::Note { .. } => return None,
    })
}

const WORDS_CHARS_MAX: usize = 200;
const LOSSES_SHOWN: usize = 20;
