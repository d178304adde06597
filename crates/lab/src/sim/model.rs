//! A model: answers of every shape, every stop reason, failures before and in the middle.

use std::sync::Arc;

use windlass_engine::Event;
use windlass_vocabulary::{
    AttemptId, Block, Concurrency, Delta, EffectClass, FailureKind, Inspection, Json, ModelFailure,
    ModelRequest, ProviderBlock, Stop, Thinking, Tokens, ToolCall, ToolCallId, ToolName, Usage,
    Wire,
};

use super::fault::{Faults, failure};
use super::random::Random;

/// What an answer may be billed at most, as the request was reserved.
#[derive(Clone, Copy, Debug)]
pub struct Billing {
    /// Input tokens.
    pub input_max: u64,
    /// Must the bill be honest? Where no money is at stake it may be absurd.
    pub is_honest: bool,
}

/// What the model and the tools of a session are like.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Blocks that are tool calls, in percent.
    pub calls: u64,
    /// Blocks of an answer, at most.
    pub blocks_max: u64,
    /// Results that are long, in percent.
    pub long_results: u64,
    /// Answers that end in another way than they should, in percent.
    pub odd_ends: u64,
}

impl Habits {
    /// Some models talk, some work; some tools are verbose.
    pub fn draw(random: &mut Random) -> Self {
        Self {
            calls: random.one_of([10, 40, 80]),
            blocks_max: random.one_of([2, 4, 4, 10]),
            long_results: random.one_of([5, 10, 60]),
            odd_ends: random.one_of([0, 25, 25, 80]),
        }
    }
}

/// An answer: events with the time that passes before each.
pub fn answer(
    random: &mut Random,
    (faults, habits): (&Faults, &Habits),
    request: &ModelRequest,
    billing: Billing,
    names: &mut u64,
) -> Vec<(u64, Event)> {
    let attempt = request.attempt;
    let fail = |random: &mut Random, names: &mut u64| {
        *names += 1;
        Event::ModelFailed { attempt, failure: failure(random, *names) }
    };
    if random.percent(faults.refused) {
        return vec![(random.below(200), fail(random, names))];
    }
    let mut events = vec![(random.below(200), Event::ModelStarted { attempt })];
    let mut used = usage(random, request, billing);
    for delta in blocks(random, habits, names) {
        events.push((random.below(20), Event::ModelDelta { attempt, delta }));
        if random.percent(5) {
            let delta = Delta::Usage(Usage { output: Tokens(used.output.0 / 2), ..used });
            events.push((0, Event::ModelDelta { attempt, delta }));
        }
    }
    if random.percent(faults.cut) {
        let kept = random.below(events.len() as u64 + 1);
        events.truncate(usize::try_from(kept).unwrap_or(0));
        events.push((random.below(300), fail(random, names)));
        return events;
    }
    let stop = match random.below(5) {
        _ if !random.percent(habits.odd_ends) => Stop::EndTurn,
        0 | 1 => Stop::OutputLimit,
        2 => Stop::WindowFull,
        3 => Stop::Pause,
        _ => Stop::Refusal,
    };
    if stop == Stop::OutputLimit {
        used.output = request.output_max;
    }
    events.push((random.below(20), Event::ModelEnded { attempt, stop, usage: used }));
    events
}

/// An answer that only says something.
#[must_use]
pub fn brief(attempt: AttemptId) -> Vec<(u64, Event)> {
    let delta = Delta::Block(Block::Text("Of course.".to_owned()));
    let (stop, usage) = (Stop::EndTurn, Usage::default());
    vec![(1, Event::ModelDelta { attempt, delta }), (1, Event::ModelEnded { attempt, stop, usage })]
}

/// What the server says when it has been silent for too long; the driver's watchdog says it.
#[must_use]
pub fn silence(request: AttemptId, number: u64) -> Event {
    let words = format!("failure#{number}#");
    Event::ModelFailed {
        attempt: request,
        failure: ModelFailure::new(FailureKind::Transport, words),
    }
}

fn usage(random: &mut Random, request: &ModelRequest, billing: Billing) -> Usage {
    let output = random.below(request.output_max.0.saturating_add(1));
    if !billing.is_honest && random.percent(10) {
        let absurd = |random: &mut Random| Tokens(random.bits() >> random.below(64));
        return Usage { input: absurd(random), output: Tokens(output), ..Usage::default() };
    }
    let input = match random.below(4) {
        0 => billing.input_max,
        1 => 0,
        _ => random.below(billing.input_max.saturating_add(1)),
    };
    let cached = random.below(input.saturating_add(1));
    let (cache_write, cache_read) = match random.percent(50) {
        true => (cached, 0),
        false => (0, cached),
    };
    Usage {
        input: Tokens(input - cached),
        output: Tokens(output),
        cache_write: Tokens(cache_write),
        cache_read: Tokens(cache_read),
    }
}

/// The pieces of an answer, whole blocks after what is shown of them.
fn blocks(random: &mut Random, habits: &Habits, names: &mut u64) -> Vec<Delta> {
    let mut deltas = Vec::new();
    for _ in 0..=random.below(habits.blocks_max) {
        match random.below(7) {
            _ if random.percent(habits.calls) => call(random, names, &mut deltas),
            0 | 1 => {
                let text = "thinking ".repeat(usize::from(random.small(0, 5)));
                deltas.push(Delta::Thinking(text.clone()));
                let signature = random.percent(70).then(|| Arc::from("seal"));
                deltas.push(Delta::Block(Block::Thinking(Thinking { text, signature })));
            }
            2..6 => {
                let times = random.one_of([0, 1, 3, 10, 60]);
                let text = random.one_of(["word ", "word ", "wörter 語 "]).repeat(times);
                deltas.push(Delta::Text("word ".to_owned()));
                deltas.push(Delta::Text("more".to_owned()));
                deltas.push(Delta::Block(Block::Text(text)));
            }
            _ => deltas.push(Delta::Block(Block::Provider(ProviderBlock {
                wire: Wire::AnthropicMessages,
                kind: Arc::from("server_tool_use"),
                is_reasoning: false,
                json: Json::from_checked("{\"type\":\"server_tool_use\"}"),
            }))),
        }
    }
    if random.percent(3) {
        let (results, tokens) = (random.below(5), Tokens(random.below(5_000)));
        deltas.push(Delta::Cleared { results, tokens });
    }
    if random.percent(5) {
        deltas.push(Delta::Raw(Json::empty_object()));
    }
    deltas
}

fn call(random: &mut Random, names: &mut u64, deltas: &mut Vec<Delta>) {
    *names += 1;
    // Some providers use one name twice, or letters that no file name should have.
    let id = match random.below(40) {
        0 => "doubled".to_owned(),
        1 => format!("odd/{}", random.below(3)),
        2 => format!("odd:{}", random.below(3)),
        _ => format!("call{names}"),
    };
    let id = ToolCallId::from(id.as_str());
    let tool = random.one_of(["Read", "Read", "Bash", "Bash", "Edit", "Task", "Unknown"]);
    let name = ToolName::from(tool);
    // Few inputs, so that the same call comes again and circles close.
    let padding = if random.percent(10) { "größer ".repeat(30) } else { String::new() };
    let input = format!("{{\"command\":\"run {padding}{}\"}}", random.below(3));
    let input = Json::from_checked(&input);
    deltas.push(Delta::CallStarted { id: id.clone(), name: name.clone() });
    deltas.push(Delta::CallInput("{\"comm".to_owned()));
    let inspection = inspect(random, tool);
    let call = ToolCall { id, name, input, signature: None };
    deltas.push(Delta::Call { call, inspection });
}

/// What the registry says of a call.
pub fn inspect(random: &mut Random, tool: &str) -> Inspection {
    if random.percent(8) {
        return Inspection::refused("the input is not valid");
    }
    match tool {
        "Read" => Inspection::SHARED_READ,
        "Edit" => Inspection { class: EffectClass::Idempotent, ..Inspection::EXCLUSIVE_EFFECT },
        "Task" => Inspection {
            spends: true,
            concurrency: Concurrency::Shared,
            ..Inspection::EXCLUSIVE_EFFECT
        },
        "Bash" => Inspection::EXCLUSIVE_EFFECT,
        _ => Inspection::refused("there is no such tool"),
    }
}

/// A summary or a label: good, empty, far too long, or a failure.
pub fn summary(
    random: &mut Random,
    faults: &Faults,
    request: &ModelRequest,
    billing: Billing,
    names: &mut u64,
) -> (Result<String, ModelFailure>, Usage) {
    let used = usage(random, request, billing);
    if !random.percent(faults.summary) {
        return (Ok("A good summary.".to_owned()), used);
    }
    let result = match random.below(3) {
        0 => Ok(" \n".to_owned()),
        1 => Ok("far too long ".repeat(2_000)),
        _ => {
            *names += 1;
            Err(failure(random, *names))
        }
    };
    (result, used)
}
