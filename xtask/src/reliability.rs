//! `cargo xtask reliability`: the figures of the walk, the simulator, the soak, the mutation runs and the table
//! of faults, as one page. Each run prints its own lines; the page shows those, with the command that repeats them.

use std::fs;
use std::path::Path;

use crate::program::run_to_end;
use crate::tidy::RepositoryTree;

/// How it is called.
pub const USAGE: &str =
    "cargo xtask reliability [--minutes N] [--seeds N] [--only walk|simulation|soak|mutants]";
const PAGE_FILE: &str = "docs/reliability.md";
const FAULTS: &str = "docs/faults.md";

const HEADER: &str = "# Reliability\n\n\
     Made by `cargo xtask reliability`. Each part is what the command beside it printed when it was last run; \
     one that\nfinds something wrong fails, and its part is not written. CI runs the walk, the simulation, the properties and \
     a\nminute of soak on every change; the mutants are run by hand.\n";

/// One way to look for what is wrong.
struct ReliabilityRun {
    name: &'static str,
    what: &'static str,
    program: &'static str,
    words: Vec<String>,
    /// How many of its lines are shown at most.
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
    let mut only = None;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{word} needs a value; {USAGE}"))?;
        if *word == "--only" {
            only = Some(*value);
            continue;
        }
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
            name: "walk",
            what: "Every state the loop can reach",
            program: "cargo",
            words: own("lab check".to_owned()),
            lines: 40,
        },
        ReliabilityRun {
            name: "simulation",
            what: "Seeded worlds full of faults",
            program: "cargo",
            words: own(format!("lab sim --seeds {seeds}")),
            lines: 150,
        },
        ReliabilityRun {
            name: "soak",
            what: "The real program: kills, full disks, cut connections",
            program: "cargo",
            words: own(format!("soak --minutes {minutes}")),
            lines: 2,
        },
        ReliabilityRun::of_mutants("Changes to the engine that a test must notice", "engine 48 7"),
        ReliabilityRun::of_mutants(
            "Changes to the permission rules that a test must notice",
            "permission 24 7",
        ),
        ReliabilityRun::of_mutants(
            "Changes to the journal's store that a test must notice",
            "journal 16 7",
        ),
    ];
    let before = fs::read_to_string(root.join(PAGE_FILE)).unwrap_or_default();
    let mut page = HEADER.to_owned();
    for one in &runs {
        let is_wanted = only.is_none_or(|only| only == one.name);
        let part = match is_wanted {
            true => Some(one.run(root)?),
            false => find_part(&before, one.what),
        };
        page.push_str(&part.unwrap_or_default());
    }
    page.push_str(&render_faults(&RepositoryTree::read(root)?));
    fs::write(root.join(PAGE_FILE), page).map_err(|error| format!("{PAGE_FILE}: {error}"))
}

impl ReliabilityRun {
    /// A sample of all changes, with its size and its seed.
    fn of_mutants(what: &'static str, sample: &str) -> Self {
        let words = sample.split(' ').map(str::to_owned).collect();
        Self { name: "mutants", what, program: ".ci/mutants", words, lines: 40 }
    }

    /// Runs it and returns its part of the page.
    fn run(&self, root: &Path) -> Result<String, String> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let command = format!("{} {}", self.program, words.join(" "));
        println!("reliability: {command}");
        // A path stands alone, so that the map is held against it.
        let (program, heading) = match self.program.contains('/') {
            true => (
                root.join(self.program).display().to_string(),
                format!("`{}` with `{}`", self.program, words.join(" ")),
            ),
            false => (self.program.to_owned(), format!("`{command}`")),
        };
        let output = run_to_end(root, &program, &words)?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(format!("{command}: {}", text.trim_end()));
        }
        let lines: Vec<&str> = text.lines().collect();
        let shown = lines.get(..self.lines.min(lines.len())).unwrap_or_default();
        Ok(format!("\n## {}\n\n{heading}\n\n```text\n{}\n```\n", self.what, shown.join("\n")))
    }
}

/// The part of an earlier page with this heading.
fn find_part(page: &str, heading: &str) -> Option<String> {
    let parts = page.split("\n## ").skip(1);
    let part = parts.into_iter().find(|part| part.lines().next() == Some(heading))?;
    Some(format!("\n## {}\n", part.trim_end_matches('\n')))
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
