//! The page of the bench, from the numbers alone.

use super::figures::{BenchFigures, CRATE_FIGURES, LIMITS, LimitKind, is_fine};
use crate::json::text;

const HEADER: &str = "\
# Benchmarks

Made by `cargo xtask bench`, which fails when a limit is missed; a short form with wide limits runs on every
change. Every number is kept in JSON beside the plots.

The floor is the least an agent can be: `.ci/bench/floor.py`, a loop in Python that asks, runs the command and
asks again, with no permissions, journal, limits or snapshots. Both talk, in turns, to a server on the same machine
that answers at once. Medians count.
";

const AGENTS_HEADER: &str = "
## Beside other agents

The ones that were installed, each from its own package, in every third round of the same runs: a home of its own with
the least configuration that makes it ask the server and run commands without questions (`.ci/bench/agents.py`), its
telemetry and updates off by its own switches. It says what they add to a model, not what they are good for. Memory
is that of the largest process. To repeat it:

```sh
npm install --prefix target/peers @openai/codex @earendil-works/pi-coding-agent@0.87.1 opencode-ai
PATH=\"$PWD/target/peers/node_modules/.bin:$PATH\" cargo xtask bench
```
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
        for figure in CRATE_FIGURES {
            let bound = figure.describe_limit();
            page.push_str(&format!("| {} | {bound} |\n", figure.what));
        }
        return page;
    };
    page.push_str(&format!(
        "\nMeasured on {}: {} runs of each, {} turns a session.\n\nThe load of the machine was {} \
         when it began. Above the number of its processors, times are\nlonger than on a quiet machine, and only agents of \
         this page can be compared with each other.\n\n\
         | what | windlass | floor | limit | kept |\n|---|---|---|---|---|\n",
        figures.text("machine"),
        figures.text("reps"),
        figures.text("turns"),
        figures.text("load"),
    ));
    for limit in LIMITS {
        let name = limit.name;
        let unit = limit.unit;
        let kept = if figures.keeps(limit, LimitKind::Promised) { "yes" } else { "**no**" };
        page.push_str(&format!(
            "| {} | {:.2} {unit} | {:.2} {unit} | {} | {kept} |\n",
            limit.what,
            figures.median("windlass", name),
            figures.median("floor", name),
            limit.promised.describe(unit),
        ));
    }
    for figure in CRATE_FIGURES {
        let (value, kept) = match figures.crate_figure(figure) {
            Some(one) if one <= figure.at_most => (figure.describe(one), "yes"),
            Some(one) => (figure.describe(one), "**no**"),
            None => ("not measured in this run".to_owned(), ""),
        };
        let bound = figure.describe_limit();
        page.push_str(&format!("| {} | {value} | | {bound} | {kept} |\n", figure.what));
    }
    add_agents(&mut page, figures);
    page.push_str("\n## Plots\n\nEach bar is a median; the dots are single runs.\n\n");
    for limit in LIMITS {
        page.push_str(&format!("![{}](benchmarks/{}.svg)\n\n", limit.what, limit.name));
    }
    if figures.benches().is_empty() {
        page.truncate(page.trim_end().len());
        page.push('\n');
        return page;
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

/// The same numbers of other agents, if some were there.
fn add_agents(page: &mut String, figures: &BenchFigures) {
    let agents = figures.agents();
    if agents.len() < 3 {
        return;
    }
    page.push_str(AGENTS_HEADER);
    page.push_str(&format!("\n| what | {} |\n|---|", agents.join(" | ")));
    page.push_str(&"---|".repeat(agents.len()));
    page.push_str("\n| version |");
    for agent in &agents {
        page.push_str(&format!(" {} |", figures.version(agent)));
    }
    for limit in LIMITS {
        page.push_str(&format!("\n| {} |", limit.what));
        for agent in &agents {
            let is_measured = !figures.samples(agent, limit.name).is_empty();
            let value = format!("{:.1} {}", figures.median(agent, limit.name), limit.unit);
            page.push_str(&format!(" {} |", if is_measured { &value } else { "failed" }));
        }
    }
    page.push('\n');
    for limit in LIMITS {
        page.push_str(&format!("\n![{}](benchmarks/agents_{}.svg)\n", limit.what, limit.name));
    }
}
