//! A model: answers of every shape, every stop reason, failures before and in the middle.

use std::sync::Arc;

use windlass_engine::Event;
use windlass_vocabulary::{
    AttemptId, Concurrency, ContentBlock, Delta, EffectClass, FailureKind, Json, ModelFailure,
    ModelRequest, ModelStopReason, ProviderBlock, ThinkingBlock, Tokens, ToolCall, ToolCallId,
    ToolInspection, ToolName, Usage, WireFormat,
};

use super::fault::{Faults, draw_failure};
use super::seeded_random::SeededRandom;

/// What an answer may be billed at most, as the request was reserved.
#[derive(Clone, Copy, Debug)]
pub struct Billing {
    pub input_max: u64,
    /// Must the bill be honest? Where no money is at stake it may be absurd.
    pub is_honest: bool,
}

/// What the model and the tools of a session are like.
#[derive(Clone, Copy, Debug)]
pub struct ModelHabits {
    pub calls: u64,
    pub blocks_max: u64,
    pub long_results: u64,
    /// Answers that end in another way than they should, in percent.
    pub odd_ends: u64,
}

impl ModelHabits {
    /// Some models talk, some work; some tools are verbose.
    pub fn draw(random: &mut SeededRandom) -> Self {
        Self {
            calls: random.choose([10, 40, 80]),
            blocks_max: random.choose([2, 4, 4, 10]),
            long_results: random.choose([5, 10, 60]),
            odd_ends: random.choose([0, 25, 25, 80]),
        }
    }
}

/// An answer: events with the time that passes before each.
pub fn draw_answer(
    random: &mut SeededRandom,
    (faults, habits): (&Faults, &ModelHabits),
    request: &ModelRequest,
    billing: Billing,
    names: &mut u64,
) -> Vec<(u64, Event)> {
    let attempt = request.attempt;
    let fail = |random: &mut SeededRandom, names: &mut u64| {
        *names += 1;
        Event::ModelFailed { attempt, failure: draw_failure(random, *names) }
    };
    if random.draw_percent(faults.refused) {
        return vec![(random.draw_below(200), fail(random, names))];
    }
    let mut events = vec![(random.draw_below(200), Event::ModelStarted { attempt, ids: None })];
    let mut used = draw_usage(random, request, billing);
    for delta in draw_blocks(random, habits, names) {
        events.push((random.draw_below(20), Event::ModelDelta { attempt, delta }));
        if random.draw_percent(5) {
            let delta = Delta::Usage(Usage { output: Tokens(used.output.0 / 2), ..used });
            events.push((0, Event::ModelDelta { attempt, delta }));
        }
    }
    if random.draw_percent(faults.cut) {
        let kept = random.draw_below(events.len() as u64 + 1);
        events.truncate(usize::try_from(kept).unwrap_or(0));
        events.push((random.draw_below(300), fail(random, names)));
        return events;
    }
    let stop = match random.draw_below(5) {
        _ if !random.draw_percent(habits.odd_ends) => ModelStopReason::EndTurn,
        0 | 1 => ModelStopReason::OutputLimit,
        2 => ModelStopReason::WindowFull,
        3 => ModelStopReason::Pause,
        _ => ModelStopReason::Refusal,
    };
    if stop == ModelStopReason::OutputLimit {
        used.output = request.output_max;
    }
    events.push((random.draw_below(20), Event::ModelEnded { attempt, stop, usage: used }));
    events
}

#[must_use]
pub fn build_brief_answer(attempt: AttemptId) -> Vec<(u64, Event)> {
    let delta = Delta::Block(ContentBlock::Text("Of course.".to_owned()));
    let stop = ModelStopReason::EndTurn;
    let usage = Usage::default();
    vec![(1, Event::ModelDelta { attempt, delta }), (1, Event::ModelEnded { attempt, stop, usage })]
}

/// What the server says when it has been silent for too long; the driver's watchdog says it.
#[must_use]
pub fn build_silence_failure(request: AttemptId, number: u64) -> Event {
    let words = format!("failure#{number}#");
    Event::ModelFailed {
        attempt: request,
        failure: ModelFailure::new(FailureKind::Transport, words),
    }
}

fn draw_usage(random: &mut SeededRandom, request: &ModelRequest, billing: Billing) -> Usage {
    let output = random.draw_below(request.output_max.0.saturating_add(1));
    if !billing.is_honest && random.draw_percent(10) {
        let absurd =
            |random: &mut SeededRandom| Tokens(random.next_bits() >> random.draw_below(64));
        return Usage { input: absurd(random), output: Tokens(output), ..Usage::default() };
    }
    let input = match random.draw_below(4) {
        0 => billing.input_max,
        1 => 0,
        _ => random.draw_below(billing.input_max.saturating_add(1)),
    };
    let cached = random.draw_below(input.saturating_add(1));
    let (cache_write, cache_read) = match random.draw_percent(50) {
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
fn draw_blocks(random: &mut SeededRandom, habits: &ModelHabits, names: &mut u64) -> Vec<Delta> {
    let mut deltas = Vec::new();
    for _ in 0..=random.draw_below(habits.blocks_max) {
        match random.draw_below(7) {
            _ if random.draw_percent(habits.calls) => draw_call(random, names, &mut deltas),
            0 | 1 => {
                let text = "thinking ".repeat(usize::from(random.draw_small(0, 5)));
                deltas.push(Delta::Thinking(text.clone()));
                let signature = random.draw_percent(70).then(|| Arc::from("seal"));
                deltas
                    .push(Delta::Block(ContentBlock::Thinking(ThinkingBlock { text, signature })));
            }
            2..6 => {
                let times = random.choose([0, 1, 3, 10, 60]);
                let text = random.choose(["word ", "word ", "wörter 語 "]).repeat(times);
                deltas.push(Delta::Text("word ".to_owned()));
                deltas.push(Delta::Text("more".to_owned()));
                deltas.push(Delta::Block(ContentBlock::Text(text)));
            }
            _ => deltas.push(Delta::Block(ContentBlock::Provider(ProviderBlock {
                wire: WireFormat::AnthropicMessages,
                kind: Arc::from("server_tool_use"),
                is_reasoning: false,
                json: Json::from_checked("{\"type\":\"server_tool_use\"}"),
            }))),
        }
    }
    if random.draw_percent(3) {
        let results = random.draw_below(5);
        let tokens = Tokens(random.draw_below(5_000));
        deltas.push(Delta::Cleared { results, tokens });
    }
    if random.draw_percent(5) {
        deltas.push(Delta::Raw(Json::empty_object()));
    }
    deltas
}

fn draw_call(random: &mut SeededRandom, names: &mut u64, deltas: &mut Vec<Delta>) {
    *names += 1;
    // Some providers use one name twice, or letters that no file name should have.
    let id = match random.draw_below(40) {
        0 => "doubled".to_owned(),
        1 => format!("odd/{}", random.draw_below(3)),
        2 => format!("odd:{}", random.draw_below(3)),
        _ => format!("call{names}"),
    };
    let id = ToolCallId::from(id.as_str());
    let tool = random.choose(["Read", "Read", "Bash", "Bash", "Edit", "Task", "Unknown"]);
    let name = ToolName::from(tool);
    // Few inputs, so that the same call comes again and circles close.
    let padding = if random.draw_percent(10) { "größer ".repeat(30) } else { String::new() };
    let input = format!("{{\"command\":\"run {padding}{}\"}}", random.draw_below(3));
    let input = Json::from_checked(&input);
    deltas.push(Delta::CallStarted { id: id.clone(), name: name.clone() });
    deltas.push(Delta::CallInput("{\"comm".to_owned()));
    let inspection = draw_inspection(random, tool);
    let call = ToolCall { id, name, input, signature: None };
    deltas.push(Delta::Call { call, inspection });
}

pub fn draw_inspection(random: &mut SeededRandom, tool: &str) -> ToolInspection {
    if random.draw_percent(8) {
        return ToolInspection::from_problem("the input is not valid");
    }
    match tool {
        "Read" => ToolInspection::SHARED_READ,
        "Edit" => {
            ToolInspection { class: EffectClass::Idempotent, ..ToolInspection::EXCLUSIVE_EFFECT }
        }
        "Task" => ToolInspection {
            spends: true,
            concurrency: Concurrency::Shared,
            ..ToolInspection::EXCLUSIVE_EFFECT
        },
        "Bash" => ToolInspection::EXCLUSIVE_EFFECT,
        _ => ToolInspection::from_problem("there is no such tool"),
    }
}

/// A summary or a label: good, empty, far too long, or a failure.
pub fn draw_summary(
    random: &mut SeededRandom,
    faults: &Faults,
    request: &ModelRequest,
    billing: Billing,
    names: &mut u64,
) -> (Result<String, ModelFailure>, Usage) {
    let used = draw_usage(random, request, billing);
    if !random.draw_percent(faults.summary) {
        return (Ok("A good summary.".to_owned()), used);
    }
    let result = match random.draw_below(3) {
        0 => Ok(" \n".to_owned()),
        1 => Ok("far too long ".repeat(2_000)),
        _ => {
            *names += 1;
            Err(draw_failure(random, *names))
        }
    };
    (result, used)
}
