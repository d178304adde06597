//! `windlass hooks`: which hooks are in force, and what they say to a sample.
//!
//! The hooks of a sample really run. Nothing follows from what they say.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_driver::hooks::{Ground, HookEvent, Joint, Listed, Occasion, OnFailure, Said};
use windlass_driver::{Disk, HookSet, Surroundings};
use windlass_permission::{Policy, Rule, speaks_of};
use windlass_vocabulary::{HookVerdict, Json, ToolCall};

use crate::args::{HooksCommand, HooksListArgs, HooksTestArgs, SettingsArgs};
use crate::compose::working_directory;
use crate::environment::Lookup;
use crate::exit::Exit;
use crate::folder;
use crate::front::table::{Side, table};
use crate::layers::Layers;
use crate::nearest::nearest;
use crate::refusal::{Refusal, one_line};
use crate::signals::Signals;

/// Does it, and says how to exit.
pub(crate) async fn run(command: HooksCommand, lookup: &impl Lookup) -> Result<Exit, Refusal> {
    match command {
        HooksCommand::List(args) => Ok(crate::say(&list(&args, lookup)?)),
        HooksCommand::Test(args) => {
            let mut signals = Signals::listen()?;
            tokio::select! {
                signal = signals.next() => Ok(signal.exit()),
                tested = test(&args, lookup) => {
                    let (text, exit) = tested?;
                    Ok(match crate::say(&text) {
                        Exit::DONE => exit,
                        failed => failed,
                    })
                }
            }
        }
    }
}

/// The hooks in force, as a table.
pub(crate) fn list(args: &HooksListArgs, lookup: &impl Lookup) -> Result<String, Refusal> {
    let (set, notes) = configured(&args.settings, lookup)?;
    let hooks = set.listing();
    if args.json {
        let hooks: Vec<Value> = hooks.iter().map(object).collect();
        return Ok(format!("{}\n", json!({ "hooks": hooks, "problems": notes })));
    }
    let mut text = match hooks.is_empty() {
        true => "There are no hooks.\n".to_owned(),
        false => {
            let rows: Vec<[String; 5]> = hooks.iter().map(row).collect();
            table([Side::Left; 5], &rows)
        }
    };
    for note in notes {
        text.push_str(&format!("! {}\n", one_line(&note)));
    }
    Ok(text)
}

fn row(hook: &Listed) -> [String; 5] {
    let matcher = if hook.matcher.is_empty() { "*" } else { &hook.matcher };
    let condition = hook.condition.as_ref().map(|rule| format!(" if {rule}")).unwrap_or_default();
    let happens = if hook.event.happens() { "" } else { " (never happens here)" };
    [
        format!("{}{happens}", hook.event.name()),
        format!("{matcher}{condition}"),
        hook.kind.to_owned(),
        hook.name.clone(),
        hook.source.clone(),
    ]
    .map(|cell| one_line(&cell))
}

fn object(hook: &Listed) -> Value {
    let on_failure = hook.on_failure.map(|what| match what {
        OnFailure::Continue => "continue",
        OnFailure::Block => "block",
    });
    json!({
        "event": hook.event.name(),
        "matcher": hook.matcher,
        "if": hook.condition,
        "type": hook.kind,
        "hook": hook.name,
        "timeout_ms": u64::try_from(hook.limit_millis).unwrap_or(u64::MAX),
        "on_failure": on_failure,
        "source": hook.source,
    })
}

async fn test(args: &HooksTestArgs, lookup: &impl Lookup) -> Result<(String, Exit), Refusal> {
    let event = event(&args.event)?;
    let given = given(args)?;
    let (set, notes) = configured(&args.settings, lookup)?;
    let cwd = working_directory()?;
    let tool = args.tool.as_deref().unwrap_or("Bash");
    let (target, input) = sample(event, tool, given, &cwd);
    let policy =
        Policy { directories: vec![cwd.to_string_lossy().into_owned()], ..Policy::default() };
    let call = ToolCall {
        id: "sample".into(),
        name: tool.into(),
        input: Json::from_checked(&input.get("tool_input").unwrap_or(&json!({})).to_string()),
        signature: None,
    };
    let speaks = |rule: &str| {
        Rule::parse(rule).map_or(true, |rule| speaks_of(&rule, &policy, &call, &Disk::new()))
    };
    let chosen = set.chosen(event, target.as_deref(), speaks);
    let spill = std::env::temp_dir().join(format!("windlass-hooks-{}", std::process::id()));
    let ground = Ground {
        project: folder::project(&cwd),
        environment: Surroundings::new(&cwd, &spill).environment,
        spill,
        aside: Arc::default(),
        watcher: None,
        counsel: None,
        waker: None,
        cwd,
    };
    let occasion = Occasion {
        input: Value::Object(input),
        about: target,
        tool_use_id: event.is_about_a_call().then(|| "sample".to_owned()),
        ..Occasion::default()
    };
    let joint = chosen.run(occasion, &ground).await;
    let objects = matches!(joint.verdict, HookVerdict::Block(_) | HookVerdict::Halt(_));
    let is_fine = !objects && joint.warnings.is_empty();
    let text = match args.json {
        true => format!("{}\n", joined(event, &joint, &notes)),
        false => words(event, &joint, &notes),
    };
    Ok((text, if is_fine { Exit::DONE } else { Exit::FAILED }))
}

fn configured(
    args: &SettingsArgs,
    lookup: &impl Lookup,
) -> Result<(HookSet, Vec<String>), Refusal> {
    let mut layers = Layers::read(args, false, &working_directory()?, lookup)?;
    let set = layers.hooks();
    Ok((set, layers.warnings()))
}

fn event(name: &str) -> Result<HookEvent, Refusal> {
    HookEvent::named(name).ok_or_else(|| {
        let all = HookEvent::ALL.iter().filter(|event| event.happens()).map(|event| event.name());
        let near = nearest(name, all.clone());
        let meant = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        let all: Vec<&str> = all.collect();
        Refusal::usage(format!("there is no event `{name}`{meant} There are: {}", all.join(", ")))
    })
}

fn given(args: &HooksTestArgs) -> Result<Map<String, Value>, Refusal> {
    match args.input.as_deref().map(serde_json::from_str) {
        None => Ok(Map::new()),
        Some(Ok(Value::Object(fields))) => Ok(fields),
        Some(_) => Err(Refusal::usage("--input: give a JSON object")),
    }
}

/// What a hook would be told, and what its matcher is held against.
fn sample(
    event: HookEvent,
    tool: &str,
    given: Map<String, Value>,
    cwd: &Path,
) -> (Option<String>, Map<String, Value>) {
    let mut fields = Map::from_iter(
        [
            ("session_id", json!("00000000-0000-4000-8000-000000000000")),
            ("transcript_path", json!("")),
            ("cwd", json!(cwd.to_string_lossy())),
            ("hook_event_name", json!(event.name())),
            ("permission_mode", json!("default")),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    let own = match event {
        _ if event.is_about_a_call() => {
            let input = match given.is_empty() && tool == "Bash" {
                true => json!({ "command": "echo sample" }),
                false => Value::Object(given.clone()),
            };
            json!({ "tool_name": tool, "tool_input": input, "tool_use_id": "sample" })
        }
        HookEvent::SessionStart => json!({ "source": "startup" }),
        HookEvent::UserPromptSubmit => json!({ "prompt": "a sample prompt" }),
        HookEvent::UserPromptExpansion => json!({
            "expansion_type": "slash_command",
            "command_name": "sample",
            "command_args": "",
            "command_source": "user",
            "prompt": "a sample prompt",
        }),
        HookEvent::Notification => {
            json!({ "message": "a sample", "notification_type": "permission_prompt" })
        }
        HookEvent::SubagentStart => {
            json!({ "agent_id": "agent-1", "agent_type": "general-purpose" })
        }
        HookEvent::Stop | HookEvent::SubagentStop => json!({
            "stop_hook_active": false, "last_assistant_message": "Done.",
            "background_tasks": [], "session_crons": [],
            "agent_id": "agent-1", "agent_type": "general-purpose",
        }),
        HookEvent::StopFailure => json!({ "error": "server_error" }),
        HookEvent::PreCompact => json!({ "trigger": "manual", "custom_instructions": "" }),
        HookEvent::PostCompact => json!({ "trigger": "manual", "compact_summary": "A summary." }),
        HookEvent::PostToolBatch => json!({ "tool_calls": [{
            "tool_name": tool, "tool_input": {}, "tool_use_id": "sample", "tool_response": "",
        }] }),
        HookEvent::SessionEnd => json!({ "reason": "other" }),
        HookEvent::TaskCreated | HookEvent::TaskCompleted => {
            json!({ "task_id": "1", "task_subject": "a sample task" })
        }
        HookEvent::TeammateIdle => json!({ "teammate_name": "agent-1", "team_name": "sample" }),
        HookEvent::ConfigChange => json!({
            "source": "user_settings", "file_path": cwd.join(".claude/settings.json"),
        }),
        _ => json!({}),
    };
    let own = own.as_object().cloned().unwrap_or_default();
    fields.extend(own);
    if !event.is_about_a_call() {
        fields.extend(given);
    }
    match event {
        HookEvent::PostToolUse => drop(fields.insert("tool_response".to_owned(), json!({}))),
        HookEvent::PostToolUseFailure => drop(fields.insert("error".to_owned(), json!("failed"))),
        HookEvent::PermissionRequest => drop(fields.remove("tool_use_id")),
        _ => {}
    }
    let target =
        ["tool_name", "source", "notification_type", "agent_type", "error", "trigger", "reason"];
    let target = target.iter().find_map(|name| fields.get(*name)?.as_str()).map(str::to_owned);
    (target, fields)
}

fn words(event: HookEvent, joint: &Joint, notes: &[String]) -> String {
    let mut text = String::new();
    for note in notes {
        text.push_str(&format!("! {}\n", one_line(note)));
    }
    if joint.said.is_empty() {
        text.push_str(&format!("No hook is meant at {}.\n", event.name()));
        return text;
    }
    for said in &joint.said {
        text.push_str(&spoken(said));
    }
    text.push_str(&format!("together: {}\n", decided(&joint.verdict)));
    if let Some(request) = &joint.request {
        text.push_str(&format!("together, to the question: {request:?}\n"));
    }
    text
}

fn spoken(said: &Said) -> String {
    let code = said.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    let name = one_line(&said.name);
    let source = one_line(&said.source);
    let millis = said.took.as_millis();
    let mut text = format!("{name} ({source}): {millis} ms{code}\n");
    let mut line = |what: &str, words: &str| {
        if !words.trim().is_empty() {
            text.push_str(&format!("  {what}: {}\n", one_line(words.trim())));
        }
    };
    line("failed", said.failure.as_deref().unwrap_or_default());
    line("says", &decided(&said.answer.verdict));
    said.answer.context.iter().for_each(|words| line("tells the model", words));
    line("tells you", said.answer.message.as_deref().unwrap_or_default());
    let input = said.answer.updated_input.as_ref().map(Value::to_string);
    line("changes the input to", &input.unwrap_or_default());
    line("wrote", &said.stdout);
    line("complained", &said.stderr);
    text
}

fn decided(verdict: &HookVerdict) -> String {
    match verdict {
        HookVerdict::Pass => "no opinion".to_owned(),
        HookVerdict::Allow => "allow; deny and ask rules still hold".to_owned(),
        HookVerdict::Ask(why) => format!("ask: {why}"),
        HookVerdict::Defer(why) => format!("put it off: {why}"),
        HookVerdict::Block(why) => format!("no: {why}"),
        HookVerdict::Halt(why) => format!("end the run: {why}"),
    }
}

fn joined(event: HookEvent, joint: &Joint, notes: &[String]) -> Value {
    let one = |said: &Said| {
        json!({
            "hook": said.name, "source": said.source,
            "duration_ms": u64::try_from(said.took.as_millis()).unwrap_or(u64::MAX),
            "exit_code": said.exit_code, "stdout": said.stdout, "stderr": said.stderr,
            "failure": said.failure, "verdict": verdict(&said.answer.verdict),
            "context": said.answer.context, "updated_input": said.answer.updated_input,
        })
    };
    json!({
        "event": event.name(),
        "hooks": joint.said.iter().map(one).collect::<Vec<_>>(),
        "verdict": verdict(&joint.verdict),
        "decided_by": joint.name,
        "problems": notes,
    })
}

fn verdict(verdict: &HookVerdict) -> Value {
    let (word, why) = match verdict {
        HookVerdict::Pass => ("pass", None),
        HookVerdict::Allow => ("allow", None),
        HookVerdict::Ask(why) => ("ask", Some(why)),
        HookVerdict::Defer(why) => ("defer", Some(why)),
        HookVerdict::Block(why) => ("block", Some(why)),
        HookVerdict::Halt(why) => ("halt", Some(why)),
    };
    json!({ "decision": word, "reason": why })
}
