//! `windlass batch`: one session per row, followed to the end, with a report.
//!
//! A session's id is derived from the batch's name, the row's number and its prompt, so that
//! repeating the command submits nothing twice and continues waiting.

use std::time::Duration;

use ring::digest::{SHA256, digest};
use serde_json::json;
use windlass_fleet::session_spec::{SessionSpec, WorkspaceSpec, to_micro_usd};
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_vocabulary::to_hex;

use super::batch_progress::BatchProgress;
use super::batch_report::BatchReport;
use super::gateway_client::GatewayClient;
use super::row_file::{BatchRow, fill_template, read_rows};
use super::{text_of, to_unchecked_spec};
use crate::args::BatchArgs;

/// What is submitted for one row.
struct PlannedSession {
    prompt: String,
    spec: SessionSpec,
}

pub(crate) async fn run(args: BatchArgs) -> Result<Exit, CommandError> {
    let planned = plan_sessions(&args)?;
    let worst = describe_worst_case(&args, planned.len());
    if args.dry_run {
        println!("{} sessions, {worst}; the first prompt is:", planned.len());
        println!("{}", planned.first().map_or("", |first| first.prompt.as_str()));
        return Ok(Exit::SUCCESS);
    }
    if let Some(budget) = args.batch_budget_usd {
        to_micro_usd(budget)
            .map_err(|_| CommandError::usage("--batch-budget-usd must be a number above 0"))?;
    }
    let client = GatewayClient::new(&args.server)?;
    let file = args.rows.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = args.name.clone().unwrap_or(file);
    let mut body = json!({ "name": name });
    if let (Some(budget), Some(fields)) = (args.batch_budget_usd, body.as_object_mut()) {
        fields.insert("max_budget_usd".to_owned(), json!(budget));
    }
    let batch = text_of(&client.post("/v1/batches", &body).await?, "id");
    eprintln!("{} sessions, {worst}", planned.len());
    let ids = submit_all(&client, &args, &name, &batch, &planned).await?;
    let outcomes = BatchProgress::new(&client, &batch, ids).follow().await?;
    let report = BatchReport { name: &name, server: &args.server.server, outcomes: &outcomes };
    print!("{}", report.to_markdown());
    if let Some(path) = &args.report {
        report.write(path)?;
    }
    let is_done = outcomes.iter().all(|outcome| outcome.state() == "done");
    Ok(if is_done { Exit::SUCCESS } else { Exit::FAILURE })
}

fn plan_sessions(args: &BatchArgs) -> Result<Vec<PlannedSession>, CommandError> {
    let spec = to_unchecked_spec(&args.spec);
    let rows = read_rows(&args.rows).map_err(CommandError::usage)?;
    let plan = |(index, row): (usize, &BatchRow)| {
        let number = index + 1;
        let wrong = |words: String| CommandError::usage(format!("row {number}: {words}"));
        let prompt = fill_template(&args.template, row).map_err(wrong)?;
        let prefix = args.branch_prefix.as_deref();
        let spec = fill_spec(&spec, row, number, prefix).map_err(wrong)?;
        Ok(PlannedSession { prompt, spec })
    };
    rows.iter().enumerate().map(plan).collect()
}

/// The bound in money: that of all sessions, or of the batch if it is lower.
fn describe_worst_case(args: &BatchArgs, count: usize) -> String {
    match (args.spec.max_budget_usd, args.batch_budget_usd) {
        #[allow(clippy::cast_precision_loss, reason = "for people")]
        (Some(most), budget) => {
            let all = most * count as f64;
            format!("at most ${:.2}", budget.map_or(all, |budget| all.min(budget)))
        }
        (None, _) => "without a bound in money; add --max-budget-usd".to_owned(),
    }
}

/// Submits every row that is not there already. Returns the ids of the sessions.
async fn submit_all(
    client: &GatewayClient,
    args: &BatchArgs,
    name: &str,
    batch: &str,
    planned: &[PlannedSession],
) -> Result<Vec<String>, CommandError> {
    let mut ids = Vec::new();
    for (number, PlannedSession { prompt, spec }) in planned.iter().enumerate() {
        let id = derive_id(batch, number, prompt);
        let body = json!({ "id": id, "prompt": prompt, "spec": spec, "batch": batch,
            "row": number + 1, "name": format!("{name} {}", number + 1),
            "priority": args.spec.priority });
        let mut tries = 0;
        loop {
            let Err(error) = client.try_post("/v1/sessions", &body).await else { break };
            // Its answer was lost, or the batch goes on.
            if error.is_existing_session() {
                break;
            }
            tries += 1;
            if !error.is_transient() || tries >= TRIES_MAX {
                let words = error.words();
                return Err(CommandError::failure(format!("row {}: {words}", number + 1)));
            }
            tokio::time::sleep(TRY_PAUSE * tries).await;
        }
        ids.push(id);
    }
    Ok(ids)
}

/// The spec of one row: `--git`, `--commit` and `--branch-prefix` may name columns, too.
fn fill_spec(
    spec: &SessionSpec,
    row: &BatchRow,
    number: usize,
    branch_prefix: Option<&str>,
) -> Result<SessionSpec, String> {
    let workspace = match &spec.workspace {
        None => None,
        Some(WorkspaceSpec { git, commit, .. }) => {
            let commit = commit.as_ref().map(|commit| fill_template(commit, row)).transpose()?;
            let prefix = branch_prefix.map(|prefix| fill_template(prefix, row)).transpose()?;
            let push_branch = prefix.map(|prefix| format!("{prefix}{number}"));
            Some(WorkspaceSpec { git: fill_template(git, row)?, commit, push_branch })
        }
    };
    let spec = SessionSpec { workspace, ..spec.clone() };
    spec.check().map(|()| spec)
}

/// A UUID derived from the batch and the row.
fn derive_id(batch: &str, number: usize, prompt: &str) -> String {
    let name = format!("{batch}\n{number}\n{prompt}");
    let hex = to_hex(digest(&SHA256, name.as_bytes()).as_ref());
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
    format!("{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

const TRIES_MAX: u32 = 6;
const TRY_PAUSE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_may_name_its_repository() {
        let workspace =
            WorkspaceSpec { git: "{repository}".to_owned(), commit: None, push_branch: None };
        let spec = SessionSpec { workspace: Some(workspace), ..SessionSpec::default() };
        let row = |url: &str| BatchRow::from([("repository".to_owned(), url.to_owned())]);
        let filled = fill_spec(&spec, &row("https://example.org/one"), 7, Some("night/")).unwrap();
        let workspace = filled.workspace.unwrap();
        assert_eq!(workspace.git, "https://example.org/one");
        assert_eq!(workspace.push_branch.as_deref(), Some("night/7"));
        let fill = |row: &BatchRow, prefix| fill_spec(&spec, row, 1, prefix).unwrap_err();
        assert!(fill(&row("ext::sh"), None).contains("workspace.git"));
        assert!(fill(&BatchRow::new(), None).contains("`repository`"));
        assert!(fill(&row("https://example.org/one"), Some("a b/")).contains("push_branch"));
    }
}
