//! The page of the bench, from the numbers alone.

use super::figures::{BenchFigures, LIMITS, LimitKind, is_fine};
use crate::json::text;

const HEADER: &str = "\
# Benchmarks

Made by `cargo xtask bench`, which fails when a limit is missed; a short form with wide limits runs on every
change. Every number is kept in JSON beside the plots.

The floor is the least an agent can be: `.ci/bench/floor.py`, a loop in Python that asks, runs the command and
asks again, with no permissions, journal, limits or snapshots. Both talk, in turns, to a server on the same machine
that answers at once. Medians count.
";

/// The whole page; without numbers, what will be measured and the limits.
#[must_use]
pub fn render_page(figures: Option<&BenchFigures>) -> String {
    let mut page = HEADER.to_owned();
    let Some(figures) = figures else {
        page.push_str("\nNo release was measured yet.\n\n| what | limit |\n|---|---|\n");
        for limit in LIMITS {
            let bound = limit.promised.describe(limit.unit);
            page.push_str(&format!("| {} | {bound} |\n", limit.what));
        }
        return page;
    };
    page.push_str(&format!(
        "\nMeasured on {}: {} runs of each, {} turns a session.\n\n\
         | what | windlass | floor | limit | kept |\n|---|---|---|---|---|\n",
        figures.text("machine"),
        figures.text("reps"),
        figures.text("turns"),
    ));
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
