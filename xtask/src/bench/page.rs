//! The page of the bench, from the numbers alone.

use super::figures::{BenchFigures, LIMITS, LimitKind, is_fine};
use crate::json::text;

/// The whole page.
#[must_use]
pub fn render_page(figures: &BenchFigures) -> String {
    let mut page = format!(
        "# Benchmarks\n\n\
         Made by `cargo xtask bench`, which fails when a limit is missed; a short form with wide limits runs on \
         every change.\nEvery number is kept in `docs/benchmarks/figures.json`.\n\n\
         The floor is the least an agent can be: {}.\nIt is `.ci/bench/floor.py`: a loop in Python that asks, runs \
         the command, and asks again. Both talk to a\nserver on this machine that answers at once, in turns, {} \
         runs of each, {} turns a session. Medians count.\n\nMeasured on {}.\n\n\
         | what | windlass | floor | limit | kept |\n|---|---|---|---|---|\n",
        "no permissions, no journal, no limits, no snapshots",
        figures.text("reps"),
        figures.text("turns"),
        figures.text("machine"),
    );
    for limit in LIMITS {
        let (name, unit) = (limit.name, limit.unit);
        let kept = if figures.keeps(limit, LimitKind::Promised) { "yes" } else { "**no**" };
        page.push_str(&format!(
            "| {} | {:.2} {unit} | {:.2} {unit} | {} | {kept} |\n",
            limit.what,
            figures.median("windlass", name),
            figures.median("floor", name),
            limit.promised.describe(unit),
        ));
    }
    page.push_str("\nEach bar is a median; the dots are single runs.\n\n");
    for limit in LIMITS {
        page.push_str(&format!("![{}](benchmarks/{}.svg)\n\n", limit.what, limit.name));
    }
    page.push_str(
        "## Benches of the crates\n\nEach has its own limits and fails when one is missed.\n",
    );
    for bench in figures.benches() {
        let kept = if is_fine(bench) { "" } else { " (a limit was missed)" };
        page.push_str(&format!(
            "\n### {}\n\n`{}`{kept}\n\n```text\n{}\n```\n",
            text(bench, "/what"),
            text(bench, "/command"),
            text(bench, "/said")
        ));
    }
    page
}
