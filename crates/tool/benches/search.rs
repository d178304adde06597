//! Grep and Glob against ripgrep itself on one large tree, in the same run.
//! `cargo bench -p windlass-tool --bench search`
//!
//! Prints a table and fails when the best of ours takes more than 1.2 times the best of ripgrep's.
//! Where there is no `rg` it says so and shows our own times. Without `--bench` (when tests build
//! everything) a small tree is searched once.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_permission::{PermissionDecision, Policy, PriorDecision, decide};
use windlass_tool::{ToolCallContext, ToolRegistry, ToolSessionContext};
use windlass_vocabulary::{
    Json, PermissionMode, ToolCall, ToolCallId, ToolInspection, ToolName, ToolOutcome,
};

/// At most so many times what ripgrep takes.
const RATIO_MAX: f64 = 1.2;
/// The best of so many counts: noise only ever adds.
const ROUNDS: usize = 30;

struct Case {
    name: &'static str,
    tool: &'static str,
    input: Value,
    rg: &'static [&'static str],
}

fn main() -> ExitCode {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let (directories, rounds) = if is_measured { (400, ROUNDS) } else { (4, 1) };
    let Ok(place) = tempfile::tempdir() else { return ExitCode::FAILURE };
    let root = place.path().join("tree");
    if let Err(error) = plant(&root, directories) {
        println!("no tree to search: {error}");
        return ExitCode::FAILURE;
    }
    let has_rg = Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_rg {
        println!("rg is not installed: nothing to compare with");
    }
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    let fixture = SearchFixture {
        registry: ToolRegistry::with_builtin_tools(),
        context: Arc::new(ToolSessionContext::new(&root, place.path().join("spill"))),
        runtime,
    };
    println!("{:<28} {:>10} {:>10} {:>7}", "search", "ours", "rg", "ratio");
    let mut is_missed = false;
    for case in cases() {
        let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
        for _ in 0..rounds {
            ours = ours.min(fixture.run(&case));
            if has_rg {
                theirs = theirs.min(rg(&root, case.rg));
            }
        }
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        if has_rg {
            println!("{:<28} {ours:>10.1?} {theirs:>10.1?} {ratio:>6.2}x", case.name);
        } else {
            println!("{:<28} {ours:>10.1?}", case.name);
        }
        is_missed |= is_measured && has_rg && ratio > RATIO_MAX;
    }
    if is_missed {
        println!("slower than {RATIO_MAX} times ripgrep");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "Grep, a rare word",
            tool: "Grep",
            input: json!({"pattern": "needle_in_hay"}),
            rg: &["-l", "needle_in_hay"],
        },
        Case {
            name: "Grep, an expression",
            tool: "Grep",
            input: json!({"pattern": "fn [a-z]+_42\\(", "output_mode": "content"}),
            rg: &["-n", "fn [a-z]+_42\\("],
        },
        Case {
            name: "Grep, a count without case",
            tool: "Grep",
            input: json!({"pattern": "FUNCTION", "-i": true, "output_mode": "count"}),
            rg: &["-c", "-i", "FUNCTION"],
        },
        Case {
            name: "Glob, one kind of file",
            tool: "Glob",
            input: json!({"pattern": "**/*.md"}),
            rg: &["--files", "-g", "**/*.md"],
        },
        Case {
            // Ours come newest first; theirs need not look at any file for that.
            name: "Glob, all files",
            tool: "Glob",
            input: json!({"pattern": "**/*"}),
            rg: &["--files"],
        },
        Case {
            // Ours come newest first, which takes a look at every file; so must theirs.
            name: "Glob, all files by time",
            tool: "Glob",
            input: json!({"pattern": "**/*"}),
            rg: &["--files", "--sortr", "modified"],
        },
    ]
}

/// A tree like that of a large project: many directories, small files, some ignored.
fn plant(root: &Path, directories: usize) -> std::io::Result<()> {
    let body: String = (0..120)
        .map(|n| format!("fn function_{n}(value: u64) -> u64 {{ value.wrapping_add({n}) }}\n"))
        .collect();
    std::fs::create_dir_all(root.join(".git"))?;
    std::fs::write(root.join(".gitignore"), "target/\n*.o\n")?;
    for number in 0..directories {
        let directory = root.join(format!("part_{}/module_{number}/src", number % 20));
        std::fs::create_dir_all(&directory)?;
        let kinds = ["rs", "py", "md", "txt", "o"].into_iter().cycle();
        for (file, kind) in (0..50).zip(kinds) {
            let mut content = body.clone();
            if number % 100 == 7 && file == 11 {
                content.push_str("// needle_in_hay\n");
            }
            std::fs::write(directory.join(format!("file_{file}.{kind}")), content)?;
        }
    }
    Ok(())
}

struct SearchFixture {
    registry: ToolRegistry,
    context: Arc<ToolSessionContext>,
    runtime: tokio::runtime::Runtime,
}

impl SearchFixture {
    fn run(&self, case: &Case) -> Duration {
        let call = ToolCall {
            id: ToolCallId::from("call"),
            name: ToolName::from(case.tool),
            input: Json::from_checked(&case.input.to_string()),
            signature: None,
        };
        let policy = Policy { mode: PermissionMode::BypassPermissions, ..Policy::default() };
        let ruling = decide(&policy, call, &ToolInspection::SHARED_READ, PriorDecision::None);
        let (PermissionDecision::Allow(granted), Some(tool)) =
            (ruling, self.registry.get(case.tool))
        else {
            return Duration::MAX;
        };
        let began = Instant::now();
        let call = ToolCallContext::new(Arc::clone(&self.context));
        let outcome: ToolOutcome = self.runtime.block_on(tool.run(granted, call));
        let took = began.elapsed();
        if outcome.is_error {
            println!("{}: {outcome:?}", case.name);
        }
        took
    }
}

fn rg(root: &Path, arguments: &[&str]) -> Duration {
    let began = Instant::now();
    let ended = Command::new("rg")
        .args(["--no-config", "--hidden", "--glob", "!.git"])
        .args(arguments)
        .arg(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .output();
    if ended.is_err() {
        return Duration::MAX;
    }
    began.elapsed()
}
