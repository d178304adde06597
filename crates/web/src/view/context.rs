//! What filled the context window, what was removed from it, and what each request cost.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_assembly::report::why::describe_context_level;
use windlass_journal::session_trace::{
    SessionTrace, TraceDetail, TraceItem, TracedCall, TracedRequest,
};
use windlass_vocabulary::Usage;
use windlass_vocabulary::context_usage::{ContextComponent, ContextUsage};

use super::items::merge;
use super::window_changes::explain_window_changes;
use crate::viewer::{FoundSession, ViewFailure, Viewer, list_agent_journals};

pub(super) fn answer_context(
    viewer: &Viewer,
    session: &FoundSession,
) -> Result<Value, ViewFailure> {
    let trace = viewer.traces.open(&session.journal)?;
    trace.wait_for_end()?;
    let mut agents = Vec::new();
    for (name, journal) in list_agent_journals(&session.journal).into_iter().take(AGENTS_MAX) {
        let nested = viewer.traces.open(&journal)?;
        nested.wait_for_end()?;
        let id = format!("{}~{name}", session.id);
        let sums = nested.read(|trace| MoneySums::of_trace(trace).to_json());
        agents.push(merge(json!({"agent": name, "session": id}), sums));
    }
    Ok(trace.read(|trace| {
        let changes = explain_window_changes(trace);
        let points = trace.contexts.iter().zip(changes).map(|(context, change)| {
            let place = context.place;
            let own = json!({
                "seq": place.seq,
                "at": place.at,
                "run": place.run,
                "turn": place.turn,
                "change": change,
            });
            merge(own, context_usage_to_json(&context.usage))
        });
        let parts = ViewedSessionMoney::sum(trace);
        json!({
            "points": points.collect::<Vec<_>>(),
            "requests": trace.requests.iter().map(request_to_json).collect::<Vec<_>>(),
            "shrinks": list_shrinks(trace),
            "levels": list_levels(trace),
            "by_turn": parts.by_turn(),
            "by_tool": list_tools(trace),
            "by_agent": parts.by_agent().into_iter().chain(agents).collect::<Vec<_>>(),
            "by_model": parts.by_model(),
            "totals": totals_to_json(trace),
        })
    }))
}

pub(super) fn context_usage_to_json(usage: &ContextUsage) -> Value {
    let parts: Vec<Value> = usage
        .parts
        .iter()
        .map(|part| {
            json!({
                "component": component_name(&part.component),
                "tokens": part.tokens.0,
                "count": part.count,
            })
        })
        .collect();
    json!({
        "total": usage.total.0,
        "window": usage.window.0,
        "reserved": usage.reserved.0,
        "threshold": usage.threshold.0,
        "parts": parts,
    })
}

fn component_name(component: &ContextComponent) -> String {
    match component {
        ContextComponent::System => "system".to_owned(),
        ContextComponent::Tools => "tools".to_owned(),
        ContextComponent::Memory => "memory".to_owned(),
        ContextComponent::Pins => "pins".to_owned(),
        ContextComponent::Summaries => "summaries".to_owned(),
        ContextComponent::Requests => "requests".to_owned(),
        ContextComponent::Answers => "answers".to_owned(),
        ContextComponent::Reasoning => "reasoning".to_owned(),
        ContextComponent::Results(tool) => format!("results:{tool}"),
    }
}

fn request_to_json(request: &TracedRequest) -> Value {
    let bill = request.bill.as_ref();
    let usage = bill.map_or(request.answer.usage, |bill| bill.billed);
    json!({
        "seq": request.place.seq,
        "item": request.item,
        "at": request.place.at,
        "run": request.place.run,
        "turn": request.place.turn,
        "agent": bill.map(|bill| bill.agent.as_str().to_owned()),
        "model": request.model.as_str(),
        "source": request.source.name(),
        "predicted_tokens": bill.map_or(request.shape.estimate.0, |bill| bill.predicted.0),
        "predicted_cache_read_tokens": bill.map(|bill| bill.predicted_read.0),
        "input_tokens": usage.input_total().0,
        "cache_read_tokens": usage.cache_read.0,
        "cache_write_tokens": usage.cache_write.0,
        "output_tokens": usage.output.0,
        "cost_micro_usd": bill.map(|bill| bill.cost.0),
        "cache_miss": bill.and_then(|bill| bill.cache_miss.clone()),
    })
}

fn list_shrinks(trace: &SessionTrace) -> Vec<Value> {
    let shrunk = trace.items.iter().enumerate().filter_map(|(n, item)| {
        let TraceDetail::Shrunk { level, freed, losses } = &item.detail else { return None };
        Some(json!({
            "seq": item.place.seq,
            "item": n,
            "at": item.place.at,
            "level": level,
            "freed_tokens": freed.0,
            "losses": losses,
            "words": describe_context_level(*level),
        }))
    });
    shrunk.collect()
}

fn list_levels(trace: &SessionTrace) -> Vec<Value> {
    let mut levels: BTreeMap<u8, (u64, u64)> = BTreeMap::new();
    for item in &trace.items {
        if let TraceDetail::Shrunk { level, freed, .. } = &item.detail {
            let (times, tokens) = levels.entry(*level).or_default();
            *times += 1;
            *tokens += freed.0;
        }
    }
    let level = |(level, (times, tokens)): (u8, (u64, u64))| {
        json!({
            "level": level,
            "times": times,
            "freed_tokens": tokens,
            "words": describe_context_level(level),
        })
    };
    levels.into_iter().map(level).collect()
}

fn list_calls(trace: &SessionTrace) -> impl Iterator<Item = (&TracedCall, &TraceItem)> {
    trace.items.iter().filter_map(|item| Some((item.detail.call()?, item)))
}

fn list_tools(trace: &SessionTrace) -> Vec<Value> {
    #[derive(Default)]
    struct ToolSums {
        calls: u64,
        failed: u64,
        millis: u64,
        bytes: usize,
        spent: u64,
    }
    let mut tools: BTreeMap<&str, ToolSums> = BTreeMap::new();
    for (call, item) in list_calls(trace) {
        let sums = tools.entry(call.tool.as_str()).or_default();
        sums.calls += 1;
        sums.spent += call.spent.0;
        if let (Some(start), Some(end)) = (call.started_at, item.ended_at) {
            sums.millis += end.saturating_sub(start);
        }
        if let Some(result) = &call.result {
            sums.failed += u64::from(result.is_error);
            sums.bytes += result.text.bytes;
        }
    }
    let tool = |(tool, sums): (&str, ToolSums)| {
        json!({
            "tool": tool,
            "calls": sums.calls,
            "failed": sums.failed,
            "ms": sums.millis,
            "result_bytes": sums.bytes,
            "spent_micro_usd": sums.spent,
        })
    };
    tools.into_iter().map(tool).collect()
}

#[derive(Default)]
struct MoneySums {
    requests: u64,
    cost: u64,
    usage: Usage,
}

impl MoneySums {
    fn of_trace(trace: &SessionTrace) -> Self {
        let mut sums = Self::default();
        for (_, bill) in &trace.bills {
            sums.requests += 1;
            sums.cost += bill.cost.0;
            sums.usage += bill.billed;
        }
        sums
    }

    fn to_json(&self) -> Value {
        json!({
            "requests": self.requests,
            "cost_micro_usd": self.cost,
            "input_tokens": self.usage.input_total().0,
            "output_tokens": self.usage.output.0,
            "cache_read_tokens": self.usage.cache_read.0,
            "cache_write_tokens": self.usage.cache_write.0,
        })
    }
}

/// Costs by turn, agent and model.
#[derive(Default)]
struct ViewedSessionMoney {
    turns: BTreeMap<(u32, u32), MoneySums>,
    agents: BTreeMap<String, MoneySums>,
    models: BTreeMap<String, MoneySums>,
}

impl ViewedSessionMoney {
    fn sum(trace: &SessionTrace) -> Self {
        let mut money = Self::default();
        for (place, bill) in &trace.bills {
            let sums = [
                money.turns.entry((place.run, place.turn)).or_default(),
                money.agents.entry(bill.agent.as_str().to_owned()).or_default(),
                money.models.entry(bill.model.as_str().to_owned()).or_default(),
            ];
            for sum in sums {
                sum.requests += 1;
                sum.cost += bill.cost.0;
                sum.usage += bill.billed;
            }
        }
        money
    }

    fn by_turn(&self) -> Vec<Value> {
        let turn = |((run, turn), sums): (&(u32, u32), &MoneySums)| {
            merge(json!({"run": run, "turn": turn}), sums.to_json())
        };
        self.turns.iter().map(turn).collect()
    }

    fn by_agent(&self) -> Vec<Value> {
        let agent = |(agent, sums): (&String, &MoneySums)| {
            merge(json!({"agent": agent, "session": null}), sums.to_json())
        };
        self.agents.iter().map(agent).collect()
    }

    fn by_model(&self) -> Vec<Value> {
        let model =
            |(model, sums): (&String, &MoneySums)| merge(json!({"model": model}), sums.to_json());
        self.models.iter().map(model).collect()
    }
}

fn totals_to_json(trace: &SessionTrace) -> Value {
    let nested: u64 = list_calls(trace).map(|(call, _)| call.spent.0).sum();
    let sums = MoneySums::of_trace(trace);
    let (mut predicted, mut kept, mut misses) = (0, 0, 0_u64);
    for (_, bill) in &trace.bills {
        predicted += bill.predicted.0;
        kept += bill.kept.0;
        misses += u64::from(bill.cache_miss.is_some());
    }
    let own = json!({
        "predicted_tokens": predicted,
        "set_aside_micro_usd": kept,
        "cache_misses": misses,
        "agents_cost_micro_usd": nested,
    });
    merge(sums.to_json(), own)
}

const AGENTS_MAX: usize = 64;
