//! The commands that talk to a gateway: submit, batch, ps, attach, answer, cancel, logs.

pub(crate) mod attach;
pub(crate) mod batch;
mod batch_progress;
mod batch_report;
mod gateway_client;
mod row_file;

use std::io::IsTerminal;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use windlass_fleet::session_spec::{SessionSpec, WorkspaceSpec};
use windlass_host::command_error::CommandError;
use windlass_host::display::escape_control_characters;
use windlass_host::exit::Exit;

use self::gateway_client::GatewayClient;
use crate::args::{AnswerArgs, AnswerWord, PsArgs, SessionArg, SpecArgs, SubmitArgs};

fn to_unchecked_spec(args: &SpecArgs) -> SessionSpec {
    let git = args.git.clone();
    SessionSpec {
        model: args.model.clone(),
        permission_mode: args.permission_mode.clone(),
        deny_questions: args.deny_questions,
        allowed_tools: args.allowed_tools.clone(),
        disallowed_tools: args.disallowed_tools.clone(),
        max_turns: args.max_turns,
        max_budget_usd: args.max_budget_usd,
        retries: args.retries,
        append_system_prompt: None,
        workspace: git.map(|git| WorkspaceSpec {
            git,
            commit: args.commit.clone(),
            push_branch: None,
        }),
    }
}

pub(crate) async fn submit(args: SubmitArgs) -> Result<Exit, CommandError> {
    let mut spec = to_unchecked_spec(&args.spec);
    if let Some(workspace) = &mut spec.workspace {
        workspace.push_branch = args.push_branch;
    }
    spec.check().map_err(CommandError::usage)?;
    let prompt = match args.prompt {
        Some(prompt) => prompt,
        None => std::io::read_to_string(std::io::stdin())
            .map_err(|error| CommandError::usage(format!("standard input: {error}")))?,
    };
    let client = GatewayClient::new(&args.server)?;
    let body = json!({ "prompt": prompt, "spec": spec, "name": args.name,
        "priority": args.spec.priority });
    let created = client.post("/v1/sessions", &body).await?;
    let id = text_of(&created, "id");
    if !args.wait {
        println!("{id}");
        return Ok(Exit::SUCCESS);
    }
    eprintln!("session {id}");
    attach::wait_for_result(&client, &id).await
}

pub(crate) async fn ps(args: PsArgs) -> Result<Exit, CommandError> {
    let client = GatewayClient::new(&args.server)?;
    let (path, name) = match (args.workers, args.batches, &args.state) {
        (true, ..) => ("/v1/workers".to_owned(), "workers"),
        (_, true, _) => ("/v1/batches".to_owned(), "batches"),
        (_, _, Some(state)) => {
            let state = encode_query(state);
            (format!("/v1/sessions?limit=1000&state={state}"), "sessions")
        }
        (_, _, None) => ("/v1/sessions?limit=1000".to_owned(), "sessions"),
    };
    let listed = client.get(&path).await?;
    let rows = listed.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    for row in &rows {
        if args.json {
            println!("{row}");
        } else if args.workers {
            let alive = if row.get("alive") == Some(&Value::Bool(true)) { "alive" } else { "gone" };
            let [id, host] = ["id", "host"].map(|name| text_of(row, name));
            println!(
                "{id}  {alive}  {} of {}  {host}",
                json_of(row, "running"),
                json_of(row, "capacity")
            );
        } else if args.batches {
            println!("{}", to_line(&describe_batch(row)));
        } else {
            let [id, state] = ["id", "state"].map(|name| text_of(row, name));
            let note = [text_of(row, "name"), text_of(row, "reason")].join(" ");
            println!(
                "{id}  {state:9}  {:>9}  {}",
                to_usd(json_of(row, "cost_micro_usd")),
                to_line(note.trim())
            );
        }
    }
    if listed.get("next").is_some_and(Value::is_string) {
        eprintln!("there are more; narrow the list with --state");
    }
    Ok(Exit::SUCCESS)
}

fn describe_batch(row: &Value) -> String {
    let budget = match json_of(row, "budget_micro_usd") {
        Value::Null => String::new(),
        budget => format!(" of {}", to_usd(budget)),
    };
    let spent = to_usd(json_of(row, "spent_micro_usd"));
    let [ended, sessions] = ["ended", "sessions"].map(|name| json_of(row, name).to_string());
    format!("{ended} of {sessions} ended  {spent}{budget}  {}", text_of(row, "name"))
}

pub(crate) async fn answer(args: AnswerArgs) -> Result<Exit, CommandError> {
    let client = GatewayClient::new(&args.server)?;
    let path = format!("/v1/sessions/{}", args.session);
    let open = client.get(&format!("{path}/questions")).await?;
    let open = open.get("questions").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(word) = args.answer else {
        for one in &open {
            let asked = one.get("asked").cloned().unwrap_or_default();
            let [tool, input] =
                ["tool_name", "input"].map(|name| json_of(&asked, name).to_string());
            println!(
                "{}  {}",
                text_of(one, "question"),
                to_terminal_text(&format!("{tool}  {input}"))
            );
        }
        return Ok(Exit::SUCCESS);
    };
    let question = match (args.question, open.as_slice()) {
        (Some(question), _) => question,
        (None, [one]) => text_of(one, "question"),
        (None, []) => return Err(CommandError::failure("no question is open")),
        (None, _) => {
            return Err(CommandError::usage(
                "several questions are open; name one with --question",
            ));
        }
    };
    let behavior = match word {
        AnswerWord::Allow => "allow",
        AnswerWord::Deny => "deny",
    };
    let body = json!({ "question": question, "behavior": behavior, "message": args.message });
    client.post(&format!("{path}/answers"), &body).await?;
    println!("{behavior}: {question}");
    Ok(Exit::SUCCESS)
}

pub(crate) async fn cancel(args: SessionArg) -> Result<Exit, CommandError> {
    let client = GatewayClient::new(&args.server)?;
    let answer = client.post(&format!("/v1/sessions/{}/cancel", args.session), &json!({})).await?;
    let state = text_of(&answer, "state");
    println!("{}", if state == "running" { "cancelling" } else { &state });
    Ok(Exit::SUCCESS)
}

pub(crate) async fn patch(args: SessionArg) -> Result<Exit, CommandError> {
    let client = GatewayClient::new(&args.server)?;
    print!("{}", client.get_text(&format!("/v1/sessions/{}/patch", args.session)).await?);
    Ok(Exit::SUCCESS)
}

/// A value for the query of a URL.
fn encode_query(value: &str) -> String {
    utf8_percent_encode(value, NON_ALPHANUMERIC).to_string()
}

/// A text of a session or a user for this terminal, which it must not steer.
fn to_terminal_text(text: &str) -> String {
    match std::io::stdout().is_terminal() {
        // Line breaks and tabs do no harm.
        true => escape_control_characters(text).into_owned(),
        false => text.to_owned(),
    }
}

/// The same on one line of a list.
fn to_line(text: &str) -> String {
    to_terminal_text(&text.replace(['\n', '\r', '\t'], " "))
}

fn json_of<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

fn text_of(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Formats millionths of a dollar.
fn to_usd(micro: &Value) -> String {
    let micro = micro.as_i64().unwrap_or(0);
    format!("${}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100)
}
