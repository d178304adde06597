//! `windlass permission`: what would come of a call, without running it. Nothing is decided here; the
//! judgement is the one a run would make.

use std::io::{BufRead, Write};

use serde_json::{Value, json};
use windlass_driver::Disk;
use windlass_permission::check::{answer, explain, report};
use windlass_vocabulary::{Json, ToolCall};

use crate::args::{ExplainArgs, PolicyArgs, PolicyCommand};
use crate::compose;
use crate::exit::Exit;
use crate::refusal::Refusal;

/// Does it.
pub(crate) fn run(args: &PolicyArgs) -> Result<Exit, Refusal> {
    match &args.command {
        PolicyCommand::Check => Ok(check()),
        PolicyCommand::Explain(args) => explained(args),
    }
}

/// Cases in, decisions out, line by line. A line that is no case is answered with an error and does
/// not stop the rest.
fn check() -> Exit {
    let disk = Disk::new();
    let mut is_fine = true;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let (text, is_case) = match line {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => answer(&line, &disk),
            // Not text: the rest of the input may be.
            Err(error) => (json!({ "error": format!("not text: {error}") }).to_string(), false),
        };
        is_fine &= is_case;
        if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
            // Nobody reads on.
            break;
        }
    }
    if is_fine { Exit::DONE } else { Exit::FAILED }
}

fn explained(args: &ExplainArgs) -> Result<Exit, Refusal> {
    let mut policy = compose::policy_here(&args.permission)?;
    // What would be asked is what people want to see here.
    policy.can_ask = true;
    let tool = args.tool.as_deref().unwrap_or("Bash");
    let input = match &args.tool {
        None => json!({ "command": args.command }),
        Some(_) => serde_json::from_str::<Value>(&args.command).map_err(|error| {
            Refusal::usage(format!("the input of {tool} must be JSON: {error}"))
        })?,
    };
    let call = ToolCall {
        id: "explained".into(),
        name: tool.into(),
        input: Json::from_checked(&input.to_string()),
        signature: None,
    };
    let report = report(&policy, &call, &Disk::new());
    let text = match args.json {
        true => format!("{}\n", serde_json::to_string(&report).unwrap_or_default()),
        false => explain(&report),
    };
    // If nobody reads it, the code still tells.
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(std::io::stdout(), "{text}{end}");
    Ok(Exit::DONE)
}
