//! `windlass batch`: one session per row, followed to the end, with a report.
//!
//! A session's id is derived from the batch's name, the row's number and its prompt, so that
//! repeating the command submits nothing twice and continues waiting.

use std::path::Path;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use windlass_fleet::session_spec::{SessionSpec, WorkspaceSpec};
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_vocabulary::to_hex;

use super::gateway_client::GatewayClient;
use super::row_file::{BatchRow, fill_template, read_rows};
use super::{text_of, to_unchecked_spec, to_usd};
use crate::args::BatchArgs;

pub(crate) async fn run(args: BatchArgs) -> Result<Exit, CommandError> {
    let spec = to_unchecked_spec(&args.spec);
    let rows = read_rows(&args.rows).map_err(CommandError::usage)?;
    let mut prompts = Vec::new();
    let mut specs = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let wrong = |words: String| CommandError::usage(format!("row {}: {words}", number + 1));
        prompts.push(fill_template(&args.template, row).map_err(wrong)?);
        specs.push(fill_spec(&spec, row).map_err(wrong)?);
    }
    let worst = match spec.max_budget_usd {
        #[allow(clippy::cast_precision_loss, reason = "for people")]
        Some(most) => format!("at most ${:.2}", most * prompts.len() as f64),
        None => "without a bound in money; add --max-budget-usd".to_owned(),
    };
    if args.dry_run {
        println!("{} sessions, {worst}; the first prompt is:", prompts.len());
        println!("{}", prompts.first().map_or("", String::as_str));
        return Ok(Exit::SUCCESS);
    }
    let client = GatewayClient::new(&args.server)?;
    let file = args.rows.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = args.name.clone().unwrap_or(file);
    let batch = text_of(&client.post("/v1/batches", &json!({ "name": name })).await?, "id");
    eprintln!("{} sessions, {worst}", prompts.len());
    let mut ids = Vec::new();
    for (number, (prompt, spec)) in prompts.iter().zip(&specs).enumerate() {
        let id = derive_id(&batch, number, prompt);
        let body = json!({ "id": id, "prompt": prompt, "spec": spec, "batch": batch,
            "row": number + 1, "name": format!("{name} {}", number + 1),
            "priority": args.spec.priority });
        match client.post("/v1/sessions", &body).await {
            Ok(_) => {}
            Err(error) if error.message().contains("is there already") => {}
            Err(error) => {
                let words = error.message();
                return Err(CommandError::failure(format!("row {}: {words}", number + 1)));
            }
        }
        ids.push(id);
    }
    let outcomes = wait_for_all(&client, &ids).await?;
    let report = render_report(&name, &args.server.server, &outcomes);
    print!("{report}");
    if let Some(path) = &args.report {
        write_report(path, &report, &outcomes)?;
    }
    let is_done = outcomes.iter().all(|outcome| text_of(outcome, "state") == "done");
    Ok(if is_done { Exit::SUCCESS } else { Exit::FAILURE })
}

/// The spec of one row: `--git` and `--commit` may name columns, too.
fn fill_spec(spec: &SessionSpec, row: &BatchRow) -> Result<SessionSpec, String> {
    let workspace = match &spec.workspace {
        None => None,
        Some(WorkspaceSpec { git, commit }) => {
            let commit = commit.as_ref().map(|commit| fill_template(commit, row)).transpose()?;
            Some(WorkspaceSpec { git: fill_template(git, row)?, commit })
        }
    };
    let spec = SessionSpec { workspace, ..spec.clone() };
    spec.check().map(|()| spec)
}

/// Polls each session until none of them is queued or running.
async fn wait_for_all(client: &GatewayClient, ids: &[String]) -> Result<Vec<Value>, CommandError> {
    let mut outcomes: Vec<Option<Value>> = vec![None; ids.len()];
    let mut failures = 0;
    loop {
        for (id, outcome) in ids.iter().zip(&mut outcomes).filter(|(_, it)| it.is_none()) {
            match client.get(&format!("/v1/sessions/{id}")).await {
                Ok(row) => {
                    failures = 0;
                    let is_over = !matches!(text_of(&row, "state").as_str(), "queued" | "running");
                    *outcome = is_over.then_some(row);
                }
                Err(error) if failures >= FAILURES_MAX => return Err(error),
                Err(_) => failures += 1,
            }
        }
        let done = outcomes.iter().flatten().count();
        let cost = outcomes.iter().flatten();
        let cost: i64 = cost.filter_map(|row| row.get("cost_micro_usd")?.as_i64()).sum();
        eprint!("\r{} {}", render_bar(done, ids.len()), to_usd(&json!(cost)));
        if done == ids.len() {
            eprintln!();
            return Ok(outcomes.into_iter().flatten().collect());
        }
        tokio::time::sleep(POLL).await;
    }
}

/// `[#####---------------] 1 of 4 ended`.
fn render_bar(done: usize, all: usize) -> String {
    let filled = (done * BAR_WIDTH).checked_div(all).unwrap_or(BAR_WIDTH);
    let (full, empty) = ("#".repeat(filled), "-".repeat(BAR_WIDTH - filled));
    format!("[{full}{empty}] {done} of {all} ended")
}

fn render_report(name: &str, server: &str, outcomes: &[Value]) -> String {
    let total: i64 = outcomes.iter().filter_map(|row| row.get("cost_micro_usd")?.as_i64()).sum();
    let done = outcomes.iter().filter(|row| text_of(row, "state") == "done").count();
    let mut text = format!(
        "# {name}\n\n{done} of {} sessions are done, {}\n\n| row | session | state | cost | patch | why |\n\
         |---|---|---|---|---|---|\n",
        outcomes.len(),
        to_usd(&json!(total))
    );
    for row in outcomes {
        let [id, state, reason] = ["id", "state", "reason"].map(|name| text_of(row, name));
        let cost = to_usd(row.get("cost_micro_usd").unwrap_or(&Value::Null));
        let number = row.get("row").unwrap_or(&Value::Null);
        let patch = match row.get("patch") {
            Some(Value::Bool(true)) => {
                format!("[patch]({}/v1/sessions/{id}/patch)", server.trim_end_matches('/'))
            }
            _ => String::new(),
        };
        text.push_str(&format!("| {number} | {id} | {state} | {cost} | {patch} | {reason} |\n"));
    }
    text
}

fn write_report(path: &Path, text: &str, outcomes: &[Value]) -> Result<(), CommandError> {
    let failed = |error| CommandError::failure(format!("{}: {error}", path.display()));
    std::fs::write(path, text).map_err(failed)?;
    let all = Value::from(outcomes.to_vec()).to_string();
    std::fs::write(path.with_extension("json"), all).map_err(failed)
}

/// A UUID derived from the batch and the row.
fn derive_id(batch: &str, number: usize, prompt: &str) -> String {
    let name = format!("{batch}\n{number}\n{prompt}");
    let hex = to_hex(digest(&SHA256, name.as_bytes()).as_ref());
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
    format!("{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

const BAR_WIDTH: usize = 20;
const POLL: Duration = Duration::from_secs(1);
const FAILURES_MAX: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_may_name_its_repository() {
        let workspace = WorkspaceSpec { git: "{repository}".to_owned(), commit: None };
        let spec = SessionSpec { workspace: Some(workspace), ..SessionSpec::default() };
        let row = |url: &str| BatchRow::from([("repository".to_owned(), url.to_owned())]);
        let filled = fill_spec(&spec, &row("https://example.org/one")).unwrap();
        assert_eq!(filled.workspace.unwrap().git, "https://example.org/one");
        assert!(fill_spec(&spec, &row("ext::sh")).unwrap_err().contains("workspace.git"));
        assert!(fill_spec(&spec, &BatchRow::new()).unwrap_err().contains("`repository`"));
        assert_eq!(render_bar(1, 4), "[#####---------------] 1 of 4 ended");
        assert_eq!(render_bar(4, 4), "[####################] 4 of 4 ended");
    }
}
