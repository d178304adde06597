//! What the body of the next request of a long session costs, against writing the whole history
//! down again, in the same run. `cargo bench -p windlass-dialect --bench encode`
//!
//! Prints a table and fails when the memory is less than twenty times as fast at request 1,001, or
//! when a request costs more than three times the plain copy of its body, with a thousand turns or
//! with two. Without `--bench` (when tests build everything) each is tried once, on a short history.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_dialect::{Dialect, EncodedRequestCache, dialect};
use windlass_vocabulary::{
    AgentId, AttemptId, ContentBlock, Json, Message, MessageId, MessageOrigin, ModelName,
    ModelRequest, RequestSource, Role, ThinkingBlock, ThinkingMode, Tokens, ToolCall, ToolCallId,
    ToolName, ToolResult, ToolSpec, WireFormat,
};

/// At least so many times as fast.
const RATIO_MIN: f64 = 20.0;

/// What a request may cost, in plain copies of its body. The copy it is measured by is of bytes
/// that were just written, and so are at hand.
const COPIES_MAX: u32 = 3;

/// The best of so many requests counts: noise only ever adds.
const ROUNDS: usize = 30;

const WIRES: [WireFormat; 4] = [
    WireFormat::AnthropicMessages,
    WireFormat::OpenaiChat,
    WireFormat::OpenaiResponses,
    WireFormat::Gemini,
];

struct Row {
    bytes: usize,
    again: Duration,
    memory: Duration,
    copy: Duration,
}

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let (turns, rounds) = if is_measured { (1_000, ROUNDS) } else { (10, 1) };
    let mut is_missed = false;
    println!(
        "{:<20} {:>8} {:>10} {:>12} {:>12} {:>12} {:>8}",
        "wire", "turns", "body", "again", "memory", "copy", "ratio"
    );
    for wire in WIRES {
        let Some(dialect) = dialect(wire) else { continue };
        for (turns, ratio_min) in [(turns, RATIO_MIN), (turns * 2, 0.0)] {
            let row = measured(dialect, turns, rounds);
            let ratio = row.again.as_secs_f64() / row.memory.as_secs_f64();
            println!(
                "{:<20} {turns:>8} {:>7} kB {:>12.1?} {:>12.1?} {:>12.1?} {ratio:>7.1}x",
                format!("{wire:?}"),
                row.bytes / 1000,
                row.again,
                row.memory,
                row.copy,
            );
            // What is not the copy must not grow with the history.
            is_missed |= ratio < ratio_min || row.memory > row.copy * COPIES_MAX;
        }
    }
    if is_measured && is_missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Request N + 1 of a session of N turns, and the next ones.
fn measured(dialect: &dyn Dialect, turns: usize, rounds: usize) -> Row {
    let rules = dialect.rules();
    let mut request = request();
    (0..turns).for_each(|turn| grow(&mut request, turn));
    let mut memory = EncodedRequestCache::new();
    black_box(dialect.encode_cached(&request, rules, &mut memory));
    let mut row =
        Row { bytes: 0, again: Duration::MAX, memory: Duration::MAX, copy: Duration::MAX };
    for round in 0..rounds {
        grow(&mut request, turns + round);
        let (took, remembered) = timed(|| dialect.encode_cached(&request, rules, &mut memory));
        row.memory = row.memory.min(took);
        row.bytes = remembered.body.len();
        let (took, copy) = timed(|| remembered.body.clone());
        row.copy = row.copy.min(took);
        drop(copy);
        let (took, written) = timed(|| dialect.encode(&request, rules));
        row.again = row.again.min(took);
        assert!(written == remembered, "the memory changed the request");
    }
    row
}

fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let made = black_box(run());
    (start.elapsed(), made)
}

/// An answer that thinks, speaks and calls, and the file it gets to see.
fn grow(request: &mut ModelRequest, turn: usize) {
    let id = |number: usize| MessageId(u64::try_from(number).unwrap_or(0));
    let call = ToolCallId::from(format!("toolu_{turn:06}").as_str());
    let seal = Some(Arc::from("EqoBCkgIARABGAIiQL8p".repeat(12)));
    let input =
        format!("{{\"path\":\"/home/u/src/part_{turn}.rs\",\"offset\":{turn},\"limit\":40}}");
    let answer = vec![
        ContentBlock::Thinking(ThinkingBlock { text: THOUGHT.into(), signature: seal }),
        ContentBlock::Text(format!("I will look at part {turn} next.")),
        ContentBlock::ToolUse(ToolCall {
            id: call.clone(),
            name: ToolName::from("Read"),
            input: Json::from_checked(&input),
            signature: None,
        }),
    ];
    let result = ContentBlock::ToolResult(ToolResult::from_text(call, FILE.repeat(4), false));
    request.messages.push(Arc::new(Message {
        id: id(turn * 2 + 1),
        role: Role::Assistant,
        origin: MessageOrigin::Model,
        content: answer,
        model: Some(request.model.clone()),
        pinned: false,
    }));
    request.messages.push(Arc::new(Message {
        id: id(turn * 2 + 2),
        role: Role::User,
        origin: MessageOrigin::ToolResults,
        content: vec![result],
        model: None,
        pinned: false,
    }));
}

fn request() -> ModelRequest {
    let tool = |name: &str| ToolSpec {
        name: ToolName::from(name),
        description: Arc::from(THOUGHT),
        input_schema: Json::from_checked(SCHEMA),
        result_bytes_max: 30_000,
    };
    let ask =
        Message::user_text(MessageId(0), MessageOrigin::User, "Find out why the build is slow.");
    ModelRequest {
        attempt: AttemptId(1),
        model: ModelName::from("model-a"),
        system: vec![Arc::from(FILE.repeat(10)), Arc::from("cwd: /work")],
        tools: ["Read", "Write", "Edit", "Bash", "Grep", "Glob"].map(tool).into_iter().collect(),
        messages: [Arc::new(ask)].into_iter().collect(),
        output_max: Tokens(32_000),
        thinking: ThinkingMode::Adaptive,
        effort: None,
        source: RequestSource::Main,
        agent: AgentId::from("main"),
        clear_results: None,
        without_reasoning: false,
    }
}

const THOUGHT: &str = "The slow part is probably not where the time is spent but what it waits \
    for, so I should look at what is built before it and why it cannot start earlier.";

const SCHEMA: &str = "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\
    \"description\":\"Where the file is.\"},\"offset\":{\"type\":\"integer\"},\
    \"limit\":{\"type\":\"integer\"}},\"required\":[\"path\"]}";

const FILE: &str = "   120\tfn parse_line(line: &str) -> Option<(&str, &str)> {\n   121\t    \
    let (key, value) = line.trim_end_matches('\\r').split_once(\"=\")?;\n   122\t    \
    Some((key.trim(), value.trim()))\n   123\t}\n   124\t\n   125\t/// Reads \"name\" and the \
    rest; größer than it looks.\n   126\tpub fn read(text: &str) -> Vec<(String, String)> {\n   \
    127\t    text.lines().filter_map(parse_line).map(owned).collect()\n   128\t}\n";
