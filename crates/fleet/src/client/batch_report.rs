//! The report of a batch: outcome, cost, changes and final answer of each row, as Markdown for people
//! and as JSON for programs.

use std::path::Path;

use serde_json::{Value, json};
use windlass_host::command_error::CommandError;

use super::batch_progress::RowOutcome;
use super::{json_of, text_of, to_usd};

pub(crate) struct BatchReport<'a> {
    pub(crate) name: &'a str,
    pub(crate) server: &'a str,
    pub(crate) outcomes: &'a [RowOutcome],
}

impl BatchReport<'_> {
    pub(crate) fn to_markdown(&self) -> String {
        let cost = |outcome: &RowOutcome| json_of(&outcome.session, "cost_micro_usd").as_i64();
        let total: i64 = self.outcomes.iter().filter_map(cost).sum();
        let done = self.outcomes.iter().filter(|outcome| outcome.state() == "done").count();
        let mut text = format!(
            "# {}\n\n{done} of {} sessions are done, {}\n\n\
             | row | session | state | cost | patch | branch | why |\n|---|---|---|---|---|---|---|\n",
            escape_cell(self.name),
            self.outcomes.len(),
            to_usd(&json!(total))
        );
        for outcome in self.outcomes {
            text.push_str(&self.render_row(outcome));
        }
        for outcome in self.outcomes {
            text.push_str(&render_answer(outcome));
        }
        text
    }

    fn render_row(&self, outcome: &RowOutcome) -> String {
        let session = &outcome.session;
        let [id, state, reason, branch, problem] =
            ["id", "state", "reason", "branch", "branch_problem"]
                .map(|name| escape_cell(&text_of(session, name)));
        let patch = match json_of(session, "patch") {
            Value::Bool(true) => {
                format!("[patch]({}/v1/sessions/{id}/patch)", self.server.trim_end_matches('/'))
            }
            _ => String::new(),
        };
        let branch = if problem.is_empty() { branch } else { format!("not pushed: {problem}") };
        format!(
            "| {} | {id} | {state} | {} | {patch} | {branch} | {reason} |\n",
            json_of(session, "row"),
            to_usd(json_of(session, "cost_micro_usd")),
        )
    }

    /// Each row as the gateway describes it, with its whole answer.
    fn to_json(&self) -> Value {
        let rows = self.outcomes.iter().map(|outcome| {
            let mut row = outcome.session.clone();
            if let Some(fields) = row.as_object_mut() {
                fields.insert("result".to_owned(), json!(read_answer(outcome)));
                let kind = json_of(&outcome.result, "subtype");
                fields.insert("outcome".to_owned(), kind.clone());
            }
            row
        });
        rows.collect()
    }

    /// Writes the Markdown to this path, and the JSON beside it.
    pub(crate) fn write(&self, path: &Path) -> Result<(), CommandError> {
        let failed = |error| CommandError::failure(format!("{}: {error}", path.display()));
        std::fs::write(path, self.to_markdown()).map_err(failed)?;
        std::fs::write(path.with_extension("json"), self.to_json().to_string()).map_err(failed)
    }
}

/// The final answer; `None` if there is none.
fn read_answer(outcome: &RowOutcome) -> Option<String> {
    outcome.result.get("result")?.as_str().map(str::to_owned)
}

/// The first lines of a row's answer in a code block: it is a model's text and must not become part of
/// the report.
fn render_answer(outcome: &RowOutcome) -> String {
    let answer = read_answer(outcome).unwrap_or_default();
    let mut lines: Vec<String> = Vec::new();
    for line in answer.trim().lines().take(LINES_MAX) {
        lines.push(line.chars().filter(|c| !c.is_control()).take(COLUMNS_MAX).collect());
    }
    if lines.iter().all(String::is_empty) {
        return String::new();
    }
    let is_cut = lines.iter().map(String::len).sum::<usize>() + lines.len() <= answer.trim().len();
    let runs = lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    let rest = if is_cut { "\n…" } else { "" };
    format!(
        "\n## Row {}\n\n{fence}text\n{}{rest}\n{fence}\n",
        json_of(&outcome.session, "row"),
        lines.join("\n")
    )
}

/// Text for a cell of a table.
fn escape_cell(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}

const LINES_MAX: usize = 8;
const COLUMNS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(answer: &str) -> RowOutcome {
        RowOutcome {
            session: json!({ "id": "x", "row": 3, "state": "done", "reason": "a | b",
                "cost_micro_usd": 1_500_000, "patch": false, "branch": "night/3" }),
            result: json!({ "subtype": "success", "result": answer }),
        }
    }

    #[test]
    fn an_answer_stays_within_its_block_and_is_whole_in_json() {
        let long = format!("one\n```\n{}", "line\n".repeat(100));
        let outcomes = [outcome(&long), outcome("short"), outcome("")];
        let report = BatchReport { name: "n", server: "http://x", outcomes: &outcomes };
        let text = report.to_markdown();
        assert!(text.contains("| 3 | x | done | $1.5000 |  | night/3 | a \\| b |"), "{text}");
        assert!(text.contains("## Row 3\n\n````text\none\n```\nline"), "{text}");
        assert!(
            text.contains("line\n…\n````\n") && text.contains("```text\nshort\n```\n"),
            "{text}"
        );
        assert_eq!(text.matches("## Row").count(), 2);
        let json = report.to_json();
        assert_eq!(json[0]["result"], long);
        assert_eq!(json[0]["outcome"], "success");
        assert_eq!(json[1]["result"], "short");
    }
}
