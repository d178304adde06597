//! The overview of a session: its runs, time, costs and agents.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_assembly::report::why::describe_terminal;
use windlass_journal::session_facts::{FILES_MAX, find_named_file};
use windlass_journal::session_trace::{SessionTrace, TraceDetail, TracedRun};
use windlass_journal::{SessionFacts, SessionSummary, is_being_written};
use windlass_vocabulary::Usage;

use super::call_json::call_status;
use super::items::{merge, request_status};
use super::session_rows::row_to_json;
use super::timed_spans::SpentTime;
use crate::viewer::{FoundSession, SharedTrace, ViewFailure, Viewer, list_agent_journals};

pub(super) fn answer_overview(
    viewer: &Viewer,
    session: &FoundSession,
) -> Result<Value, ViewFailure> {
    let trace = viewer.traces.open(&session.journal)?;
    trace.wait_for_items(1)?;
    let agents = list_agents(viewer, session, &trace, AGENT_LEVELS_MAX)?;
    let parent = match &session.parent {
        Some((id, agent)) => find_parent_call(viewer, id, agent)?,
        None => Value::Null,
    };
    let row = session_row(session, &trace);
    Ok(trace.read(|trace| {
        json!({
            "session": row,
            "items": trace.items.len(),
            "seq": trace.seq,
            "complete": trace.is_complete,
            "damaged": trace.damaged,
            "running_ms": running_millis(trace),
            "runs": trace.runs.iter().enumerate().map(run_to_json).collect::<Vec<_>>(),
            "totals": totals_to_json(trace, session.row.state == "running"),
            "agents": agents,
            "parent": parent,
        })
    }))
}

/// The session's row, completed from its trace so far; an agent's row comes from its own journal.
fn session_row(session: &FoundSession, trace: &SharedTrace) -> Value {
    let mut row = session.row.clone();
    if session.parent.is_some() {
        row.summary = SessionSummary::read(&session.journal).unwrap_or_default();
        row.summary.id.clone_from(&session.id);
        row.state = if is_being_written(&session.journal) { "running" } else { "done" };
        row.agents = list_agent_journals(&session.journal).len();
        row.facts = None;
    }
    if row.facts.is_none() {
        row.facts = Some(Arc::new(trace.read(collect_facts)));
    }
    row_to_json(&row)
}

/// The facts of the journal as far as it is traced.
fn collect_facts(trace: &SessionTrace) -> SessionFacts {
    let mut facts = SessionFacts::default();
    for (_, bill) in &trace.bills {
        facts.usage += bill.billed;
        if !facts.models.iter().any(|model| model == bill.model.as_str()) {
            facts.models.push(bill.model.as_str().to_owned());
        }
    }
    for item in &trace.items {
        let Some(call) = item.detail.call() else { continue };
        if !facts.tools.contains(call.tool.as_str()) {
            facts.tools.insert(call.tool.as_str().to_owned());
        }
        if facts.files.len() < FILES_MAX {
            facts.files.extend(find_named_file(&call.input.text));
        }
        facts.errors += u64::from(call.result.as_ref().is_some_and(|result| result.is_error));
    }
    facts
}

fn run_to_json((place, run): (usize, &TracedRun)) -> Value {
    let ending = run.ending.as_ref();
    json!({
        "n": place + 1,
        "seq": run.place.seq,
        "item": run.item,
        "start": run.place.at,
        "end": run.ended_at,
        "turns": ending.map(|ending| ending.turns),
        "terminal": ending.map(|ending| ending.terminal.name()),
        "words": ending.map(|ending| describe_terminal(ending.terminal)),
        "why": ending.map(|ending| ending.why.clone()),
        "prompt": run.prompt,
        "cost_micro_usd": run.cost.0,
        "input_tokens": run.usage.input_total().0,
        "output_tokens": run.usage.output.0,
    })
}

fn running_millis(trace: &SessionTrace) -> u64 {
    let run = |run: &TracedRun| run.ended_at.unwrap_or(trace.last_at).saturating_sub(run.place.at);
    trace.runs.iter().map(run).sum()
}

pub(super) fn totals_to_json(trace: &SessionTrace, is_running: bool) -> Value {
    let times = SpentTime::measure(trace);
    // Includes the costs of sub-agents.
    let mut nested = 0;
    let (mut calls, mut failed, mut denied) = (0, 0, 0);
    for item in &trace.items {
        let Some(call) = item.detail.call() else { continue };
        calls += 1;
        nested += call.spent.0;
        match call_status(call, item, is_running) {
            "failed" => failed += 1,
            "denied" => denied += 1,
            _ => {}
        }
    }
    let count = |is_counted: fn(&TraceDetail) -> bool| {
        trace.items.iter().filter(|item| is_counted(&item.detail)).count()
    };
    let mut usage = Usage::default();
    let mut cost = nested;
    for (_, bill) in &trace.bills {
        usage += bill.billed;
        cost += bill.cost.0;
    }
    let failed_requests =
        trace.requests.iter().filter(|request| request_status(request) == "failed").count();
    merge(
        times.to_json(),
        json!({
            "requests": trace.requests.len(),
            "failed_requests": failed_requests,
            "calls": calls,
            "failed_calls": failed,
            "denied_calls": denied,
            "retries": count(|detail| matches!(detail, TraceDetail::Retry { .. })),
            "compactions": count(|detail| matches!(detail, TraceDetail::Summary { .. })),
            "input_tokens": usage.input_total().0,
            "output_tokens": usage.output.0,
            "cache_read_tokens": usage.cache_read.0,
            "cache_write_tokens": usage.cache_write.0,
            "cost_micro_usd": cost,
            "agents_cost_micro_usd": nested,
        }),
    )
}

/// The agents of this session, with their own agents up to `levels` deep.
fn list_agents(
    viewer: &Viewer,
    session: &FoundSession,
    trace: &SharedTrace,
    levels: usize,
) -> Result<Vec<Value>, ViewFailure> {
    let Some(levels) = levels.checked_sub(1) else { return Ok(Vec::new()) };
    let mut agents = Vec::new();
    for (name, journal) in list_agent_journals(&session.journal) {
        let summary = SessionSummary::read(&journal).unwrap_or_default();
        let call = trace.read(|trace| find_agent_call(trace, &name));
        let nested = FoundSession {
            id: format!("{}~{name}", session.id),
            journal,
            row: session.row.clone(),
            parent: Some((session.id.clone(), name.clone())),
        };
        let below = match list_agent_journals(&nested.journal).is_empty() {
            true => Vec::new(),
            false => {
                let nested_trace = viewer.traces.open(&nested.journal)?;
                list_agents(viewer, &nested, &nested_trace, levels)?
            }
        };
        let is_running = is_being_written(&nested.journal);
        let own = json!({
            "id": nested.id,
            "state": if is_running { "running" } else { "done" },
            "start": summary.created,
            "end": (!is_running).then_some(summary.updated),
            "cost_micro_usd": summary.cost.0,
            "items": summary.messages,
            "agents": below,
        });
        agents.push(merge(call.unwrap_or_else(|| json!({"name": name})), own));
    }
    Ok(agents)
}

/// The call that started this agent.
fn find_agent_call(trace: &SessionTrace, agent: &str) -> Option<Value> {
    trace.items.iter().enumerate().find_map(|(n, item)| {
        let call = item.detail.call()?;
        if call.agent.as_deref() != Some(agent) {
            return None;
        }
        let input: Value = serde_json::from_str(&call.input.text).unwrap_or_default();
        let name = input.get("subagent_type").and_then(Value::as_str).unwrap_or(agent);
        Some(json!({
            "call": call.id.as_str(),
            "seq": item.place.seq,
            "item": n,
            "name": name,
            "description": input.get("description").and_then(Value::as_str),
        }))
    })
}

fn find_parent_call(viewer: &Viewer, id: &str, agent: &str) -> Result<Value, ViewFailure> {
    let parent = viewer.find(id)?;
    let trace = viewer.traces.open(&parent.journal)?;
    let call = trace.read(|trace| find_agent_call(trace, agent));
    Ok(merge(json!({"id": id, "item": null, "call": null}), call.unwrap_or_default()))
}

const AGENT_LEVELS_MAX: usize = 4;
