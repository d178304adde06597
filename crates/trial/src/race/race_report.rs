//! The report on all continuations of a race.

use serde_json::{Value, json};
use windlass_driver::snapshot::count_differences;
use windlass_driver::trial::TrialPreview;
use windlass_host::display::text_table::{ColumnAlignment, render_table};

use super::continuation::{Continuation, ContinuationEnd};
use crate::preview_report::{preview_to_json, render_preview};

#[derive(Debug)]
pub(super) struct RaceRow {
    pub(super) continuation: Continuation,
    pub(super) end: ContinuationEnd,
    pub(super) preview: TrialPreview,
}

#[derive(Debug)]
pub(super) struct RaceReport {
    /// The session they continue.
    pub(super) parent: String,
    pub(super) rows: Vec<RaceRow>,
}

impl RaceReport {
    /// Renders the answer and diff of each, then a table to choose from.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        let heads = ["", "variant", "end", "turns", "cost", "files", "lines", "session"];
        let mut table = vec![heads.map(str::to_owned)];
        for (place, row) in self.rows.iter().enumerate() {
            let RaceRow { continuation, end, preview } = row;
            let number = place + 1;
            let label = continuation.variant.label();
            text.push_str(&format!("── {number} {label}\n{}\n", end.answer.trim_end()));
            text.push_str(&render_preview(preview));
            text.push('\n');
            let counts = preview.files.iter().filter_map(count_differences);
            let (came, went) = counts.fold((0, 0), |(came, went), counts| {
                (came + counts.insertions, went + counts.deletions)
            });
            table.push([
                number.to_string(),
                label,
                end.reason.clone(),
                end.turns.to_string(),
                format!("${:.4}", end.cost_usd),
                preview.files.len().to_string(),
                format!("+{came} -{went}"),
                continuation.session.clone(),
            ]);
        }
        let sides = [
            ColumnAlignment::Right,
            ColumnAlignment::Left,
            ColumnAlignment::Left,
            ColumnAlignment::Right,
            ColumnAlignment::Right,
            ColumnAlignment::Right,
            ColumnAlignment::Left,
            ColumnAlignment::Left,
        ];
        text.push_str(&render_table(sides, &table));
        text
    }

    pub(super) fn to_json(&self, applied: Option<usize>) -> Value {
        let rows = self.rows.iter().enumerate().map(|(place, row)| {
            let RaceRow { continuation, end, preview } = row;
            let variant = &continuation.variant;
            json!({
                "number": place + 1,
                "session_id": continuation.session,
                "model": variant.model,
                "effort": variant.effort,
                "prompt": variant.prompt,
                "is_error": end.is_error,
                "reason": end.reason,
                "num_turns": end.turns,
                "cost_usd": end.cost_usd,
                "result": end.answer,
                "changes": preview_to_json(preview),
            })
        });
        let total: f64 = self.rows.iter().map(|row| row.end.cost_usd).sum();
        json!({
            "session_id": self.parent,
            "continuations": rows.collect::<Vec<_>>(),
            "total_cost_usd": total,
            "applied": applied,
        })
    }
}
