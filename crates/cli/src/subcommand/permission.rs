//! `windlass permission`: what would come of a call, without running it. Nothing is decided here; the
//! judgement is the one a run would make.

use std::io::{BufRead, Read, Write};

use serde_json::{Value, json};
use windlass_driver::Disk;
use windlass_permission::check::{answer, explain, report};
use windlass_vocabulary::{Json, ToolCall};

use crate::args::{ExplainArgs, PolicyArgs, PolicyCommand, RememberArgs, SettingsArgs};
use crate::compose;
use crate::environment::Lookup;
use crate::exit::Exit;
use crate::layers;
use crate::refusal::{Refusal, one_line};

/// Does it.
pub(crate) fn run(args: &PolicyArgs, lookup: &impl Lookup) -> Result<Exit, Refusal> {
    match &args.command {
        PolicyCommand::Check => Ok(check()),
        PolicyCommand::Explain(args) => explained(args, lookup),
        PolicyCommand::Remember(args) => remembered(args, lookup),
    }
}

/// Cases in, decisions out, line by line. A line that is no case is answered with an error and does
/// not stop the rest.
fn check() -> Exit {
    let disk = Disk::new();
    let mut is_fine = true;
    let mut out = std::io::stdout().lock();
    let mut lines = std::io::stdin().lock();
    loop {
        let (text, is_case) = match next(&mut lines) {
            Ok(None) => break,
            Ok(Some(Line::Text(line))) if line.trim().is_empty() => continue,
            Ok(Some(Line::Text(line))) => answer(&line, &disk),
            Ok(Some(Line::NoText(problem))) => (error(&problem), false),
            Err(problem) => {
                // It would be the same the next time.
                let _ = writeln!(out, "{}", error(&format!("cannot be read: {problem}")));
                return Exit::FAILED;
            }
        };
        is_fine &= is_case;
        if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
            // Nobody reads on.
            break;
        }
    }
    if is_fine { Exit::DONE } else { Exit::FAILED }
}

fn error(problem: &str) -> String {
    json!({ "id": null, "error": problem }).to_string()
}

/// A line of the input.
enum Line {
    Text(String),
    /// Why it cannot be a case.
    NoText(String),
}

/// The next line, if there is one; of a line that is too long only so much is held.
fn next(lines: &mut impl BufRead) -> std::io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let is_long = bytes.len() as u64 >= LINE_BYTES_MAX && !bytes.ends_with(b"\n");
    if is_long {
        lines.skip_until(b'\n')?;
        return Ok(Some(Line::NoText(format!("longer than {LINE_BYTES_MAX} bytes"))));
    }
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => Line::Text(text),
        Err(error) => Line::NoText(format!("not text: {error}")),
    }))
}

const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Writes rules down for this project, as an answer to a question would.
fn remembered(args: &RememberArgs, lookup: &impl Lookup) -> Result<Exit, Refusal> {
    let rules = compose::rules(&args.rules)?;
    if let Some((rule, why)) = rules.iter().find_map(|rule| Some((rule, rule.idle_as_allow()?))) {
        return Err(Refusal::usage(format!("`{rule}` would never allow anything: {why}")));
    }
    let texts: Vec<String> = rules.iter().map(ToString::to_string).collect();
    let cwd = compose::working_directory()?;
    let request = layers::request(&SettingsArgs::default(), &cwd, lookup)?;
    let path = windlass_settings::remember(&request, &texts)
        .map_err(|error| Refusal::failed(error.to_string()))?;
    let line = format!("{} allows {}", path.display(), texts.join(", "));
    let _ = writeln!(std::io::stdout(), "{}", one_line(&line));
    Ok(Exit::DONE)
}

fn explained(args: &ExplainArgs, lookup: &impl Lookup) -> Result<Exit, Refusal> {
    let (mut policy, layers) = compose::policy_here(&args.permission, &args.settings, lookup)?;
    for warning in layers.warnings() {
        // If nobody reads it, the answer still stands.
        let _ = writeln!(std::io::stderr(), "windlass: {}", one_line(&warning));
    }
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
    let source = report.rule.as_deref().and_then(|rule| layers.loaded.rule_origin(rule));
    let text = match args.json {
        true => {
            let mut object = serde_json::to_value(&report).unwrap_or_default();
            if let (Some(source), Some(object)) = (source, object.as_object_mut()) {
                object.insert("rule_source".to_owned(), Value::from(source));
            }
            format!("{object}\n")
        }
        false => {
            let source =
                source.map(|source| format!("\nThe rule stands in {}\n", one_line(source)));
            format!("{}{}", explain(&report).trim_end(), source.unwrap_or_default())
        }
    };
    // If nobody reads it, the code still tells.
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(std::io::stdout(), "{text}{end}");
    Ok(Exit::DONE)
}
