//! `cargo xtask reliability`: the figures of the walk, the simulator, the soak and the table of faults, as
//! one page. Each run prints its own lines; the page shows those, with the command that repeats them.

use std::fs;
use std::path::Path;

use crate::program::run_to_end;
use crate::tidy::RepositoryTree;

/// How it is called.
pub const USAGE: &str = "cargo xtask reliability [--minutes N] [--seeds N]";
const PAGE_FILE: &str = "docs/reliability.md";
const FAULTS: &str = "docs/faults.md";

const HEADER: &str = "# Reliability\n\n\
     Made by `cargo xtask reliability`. Each figure is what the command beside it printed; it fails, and no page \
     is\nwritten, when one of them finds something wrong. CI runs the first three on every change, with one \
     minute of\nsoak.\n";

/// One way to look for what is wrong.
struct ReliabilityRun {
    what: &'static str,
    words: Vec<String>,
    /// How many lines of its end are shown.
    lines: usize,
}

/// Runs everything and writes the page.
///
/// # Errors
///
/// When a run finds something wrong, which is then told by its own lines.
pub fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let mut minutes = "20";
    let mut seeds = "20000";
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{word} needs a number; {USAGE}"))?;
        value.parse::<f64>().map_err(|_| format!("{value} is not a number; {USAGE}"))?;
        match *word {
            "--minutes" => minutes = value,
            "--seeds" => seeds = value,
            other => return Err(format!("`{other}` is not known; {USAGE}")),
        }
    }
    let own = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let runs = [
        ReliabilityRun {
            what: "Every state the loop can reach",
            words: own("lab check".to_owned()),
            lines: 12,
        },
        ReliabilityRun {
            what: "Seeded worlds full of faults",
            words: own(format!("lab sim --seeds {seeds}")),
            lines: 60,
        },
        ReliabilityRun {
            what: "The real program: kills, full disks, cut connections",
            words: own(format!("soak --minutes {minutes}")),
            lines: 2,
        },
    ];
    let mut page = HEADER.to_owned();
    for one in &runs {
        let words: Vec<&str> = one.words.iter().map(String::as_str).collect();
        println!("reliability: cargo {}", words.join(" "));
        let output = run_to_end(root, "cargo", &words)?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(format!("cargo {}: {}", words.join(" "), text.trim_end()));
        }
        let lines: Vec<&str> = text.lines().collect();
        let shown = lines.get(lines.len().saturating_sub(one.lines)..).unwrap_or_default();
        page.push_str(&format!(
            "\n## {}\n\n`cargo {}`\n\n```text\n{}\n```\n",
            one.what,
            words.join(" "),
            shown.join("\n")
        ));
    }
    page.push_str(&render_faults(&RepositoryTree::read(root)?));
    fs::write(root.join(PAGE_FILE), page).map_err(|error| format!("{PAGE_FILE}: {error}"))
}

/// How many faults are known and how many tests show that they do no harm.
#[must_use]
pub fn render_faults(tree: &RepositoryTree) -> String {
    let faults = tree.file(FAULTS).map_or("", |file| file.text.as_str());
    let mut rows = 0_usize;
    let mut tests = 0_usize;
    for line in faults.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let is_row = cells.get(1).is_some_and(|cell| {
            cell.starts_with(|c: char| c.is_ascii_uppercase())
                && cell.ends_with(|c: char| c.is_ascii_digit())
        });
        if is_row {
            rows += 1;
            tests += cells.get(4).map_or(0, |cell| cell.matches('`').count() / 2);
        }
    }
    let properties = tree
        .rust_files()
        .filter(|file| file.path.starts_with("crates/") && file.text.contains("proptest!"))
        .count();
    format!(
        "\n## Known faults\n\n{rows} faults in [faults.md](faults.md), each with what happens then and the tests \
         that show it: {tests} tests.\n\n## Any bytes\n\nParsers and decoders of {properties} files take any bytes \
         in any cutting in every test run, by properties: no\npanic, and the same result however they are cut.\n"
    )
}
