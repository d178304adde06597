//! How long a ruling takes, the parse of the shell line included.
//!
//! `cargo bench -p windlass-permission --bench decide`. Prints a table and fails when a typical
//! command takes 200 µs or longer, when ten thousand rules add a millisecond or more, or when a pattern
//! made to be slow takes five milliseconds. Without
//! `--bench` (when tests build everything) each is tried once.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use windlass_permission::{Policy, PriorDecision, Rule, decide};
use windlass_vocabulary::{Json, PermissionMode, ToolCall, ToolCallId, ToolInspection, ToolName};

/// A ruling on a typical command.
const RULING_MAX: Duration = Duration::from_micros(200);

/// What ten thousand rules may add.
const RULES_MAX: Duration = Duration::from_millis(1);

/// A pattern made to be slow, on a path made for it.
const HOSTILE_MAX: Duration = Duration::from_millis(5);

/// Rounds; the best counts, because noise only ever adds.
const ROUNDS: u32 = 300;

/// What people and models run.
const COMMANDS: &[&str] = &[
    "ls -la src",
    "git log --oneline -5",
    "cargo test --workspace 2>&1 | tail -20",
    "cd src && grep -rn 'fn main' . | head -5",
    "for f in src/*.rs; do wc -l \"$f\"; done | sort -n",
    "wc -l src/* | sort -n",
    "git add -A && git commit -m \"$(cat <<'EOF'\nfix: say what is wrong\n\nIt's (really) done.\nEOF\n)\"",
    "find . -name '*.rs' -type f | head -20; echo \"done: $(date)\"",
    "if [ -f Cargo.toml ]; then cargo build --release; else echo 'no project' >&2; fi",
];

fn policy(extra: usize) -> Policy {
    let parse = |text: &str| Rule::parse(text).unwrap_or_else(|error| unreadable(&error));
    let mut policy = Policy { mode: PermissionMode::Default, can_ask: true, ..Policy::default() };
    policy.directories = vec!["/w/repo".to_owned()];
    let allow =
        ["Bash(cargo test:*)", "Bash(cargo build:*)", "Bash(git add:*)", "Bash(git commit:*)"];
    policy.rules.allow = allow.iter().map(|text| parse(text)).collect();
    policy.rules.deny = ["Bash(rm:*)", "Bash(curl:*)", "Read(.env)"].map(parse).into();
    for at in 0..extra {
        match at % 5 {
            0 => policy.rules.allow.push(parse(&format!("Bash(tool{at} run:*)"))),
            1 => policy.rules.deny.push(parse(&format!("Bash(other{at}:*)"))),
            2 => policy.rules.deny.push(parse(&format!("Read(./secret{at}/**)"))),
            3 => policy.rules.ask.push(parse(&format!("Edit(place{at}/*.txt)"))),
            _ => policy.rules.allow.push(parse(&format!("mcp__server{at}__tool"))),
        }
    }
    policy
}

fn unreadable(error: &windlass_permission::RuleError) -> Rule {
    println!("{error}");
    Rule { tool: "*".to_owned(), content: None }
}

fn call(command: &str) -> ToolCall {
    let input = serde_json::json!({ "command": command }).to_string();
    ToolCall {
        id: ToolCallId::from("call"),
        name: ToolName::from("Bash"),
        input: Json::from_checked(&input),
        signature: None,
    }
}

fn best(rounds: u32, policy: &Policy, command: &str) -> Duration {
    let facts = ToolInspection::EXCLUSIVE_EFFECT;
    let timed = (0..rounds).map(|_| {
        let call = call(command);
        let start = Instant::now();
        black_box(decide(policy, call, &facts, PriorDecision::None));
        start.elapsed()
    });
    timed.min().unwrap_or_default()
}

/// The longest that a ruling takes on a path that nearly fits, many times over.
fn measure_hostile_patterns(rounds: u32) -> Duration {
    let deep = format!("/w/repo/{}", vec!["a"; 200].join("/"));
    let wide = format!("/w/repo/{}", "a".repeat(250));
    let patterns = ["a*".repeat(60), "**/a/".repeat(40), "**/a*/".repeat(40), "[a-z]*".repeat(40)];
    let mut longest = Duration::ZERO;
    for pattern in patterns {
        let rule = Rule::parse(&format!("Read({pattern}b)"));
        let mut policy = policy(0);
        policy.rules.deny.push(rule.unwrap_or_else(|error| unreadable(&error)));
        for path in [&deep, &wide] {
            let timed = (0..rounds).map(|_| {
                let input = serde_json::json!({ "file_path": path }).to_string();
                let input = Json::from_checked(&input);
                let call = ToolCall { name: ToolName::from("Read"), input, ..call("") };
                let start = Instant::now();
                let facts = ToolInspection::SHARED_READ;
                black_box(decide(&policy, call, &facts, PriorDecision::None));
                start.elapsed()
            });
            longest = longest.max(timed.min().unwrap_or_default());
        }
    }
    longest
}

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let rounds = if is_measured { ROUNDS } else { 1 };
    let (few, many) = (policy(0), policy(10_000));
    let mut is_missed = false;
    println!("{:>10} {:>12}  command", "ruling", "10,000 rules");
    for command in COMMANDS {
        let plain = best(rounds, &few, command);
        let added = best(rounds, &many, command).saturating_sub(plain);
        is_missed |= plain >= RULING_MAX || added >= RULES_MAX;
        let shown = command.lines().next().unwrap_or_default();
        println!("{plain:>10.1?} {:>12}  {shown}", format!("+{added:.1?}"));
    }
    let hostile = measure_hostile_patterns(rounds);
    println!("{hostile:>10.1?} {:>12}  a path pattern made to be slow", "");
    is_missed |= hostile >= HOSTILE_MAX;
    if is_measured && is_missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
