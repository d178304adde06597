//! `cargo xtask bench`: the program beside the least an agent can be (`.ci/bench/floor.py`), and the
//! benches of the crates. Writes `docs/benchmarks.md` with its plots, and fails when a limit is missed. Other
//! agents that are found on PATH are measured beside it, and judged by nobody.
//!
//! `--short` is for every change: fewer runs, wide limits, no page. Both compare medians of runs that were
//! made in turns, so a busy machine slows both and trips nothing.

mod figures;
mod page;
mod plot;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::json::put;
use crate::program::{run_text, run_to_end};
pub use figures::{BenchFigures, FigureLimit, LimitKind};
pub use page::render_page;
pub use plot::render_plot;

/// How it is called.
pub const USAGE: &str = "cargo xtask bench [--short] [--binary PROGRAM] [--page]";
/// Where the numbers are kept that the page is made from.
pub const FIGURES_FILE: &str = "docs/benchmarks/figures.json";
/// The page.
pub const PAGE_FILE: &str = "docs/benchmarks.md";

/// A bench of a crate that fails by itself when it is over its limit.
struct CrateBench {
    what: &'static str,
    package: &'static str,
    bench: &'static str,
    /// It starts the program, and is given the one that was built for people; how the bench itself was built
    /// does not matter then.
    starts_program: bool,
}

const CRATE_BENCHES: &[CrateBench] = &[
    CrateBench {
        what: "one step of the loop, at most 1 µs a delta",
        package: "windlass-lab",
        bench: "step",
        starts_program: false,
    },
    CrateBench {
        what: "open a session of 100 MB, at most 300 ms",
        package: "windlass-journal",
        bench: "open",
        starts_program: false,
    },
    CrateBench {
        what: "list 10,000 sessions, at most 100 ms",
        package: "windlass-journal",
        bench: "list",
        starts_program: false,
    },
    CrateBench {
        what: "first frame, idle memory at most 20 MB, key to echo",
        package: "windlass",
        bench: "echo",
        starts_program: true,
    },
    CrateBench {
        what: "what the journal costs a turn",
        package: "windlass-driver",
        bench: "turn",
        starts_program: false,
    },
    CrateBench {
        what: "a snapshot of an unchanged tree, at most 0.6 of a `git status`; a rewind of 100 files, at most 200 ms",
        package: "windlass-workspace",
        bench: "look",
        starts_program: false,
    },
    CrateBench {
        what: "what the read-only cell adds to a command, at most 2 ms",
        package: "windlass-driver",
        bench: "cell",
        starts_program: false,
    },
];

/// What was asked for.
#[derive(Debug)]
pub struct BenchOptions {
    is_short: bool,
    /// Only write the page again from the numbers that are kept.
    is_page_only: bool,
    binary: String,
}

impl BenchOptions {
    /// Reads the words behind `cargo xtask bench`.
    ///
    /// # Errors
    ///
    /// When a word is not known.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let binary = "target/release/windlass".to_owned();
        let mut options = Self { is_short: false, is_page_only: false, binary };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match *word {
                "--short" => options.is_short = true,
                "--page" => options.is_page_only = true,
                "--binary" => options.binary = rest.next().copied().unwrap_or_default().to_owned(),
                other => return Err(format!("`{other}` is not known; {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// Measures, writes and judges.
///
/// # Errors
///
/// When something cannot be measured, or a limit is missed; each missed one is a line.
pub fn run(root: &Path, options: &BenchOptions) -> Result<(), String> {
    let kept = root.join(FIGURES_FILE);
    if options.is_page_only {
        let figures = fs::read_to_string(&kept).ok().map(|text| BenchFigures::parse(&text));
        return write_page(root, figures.transpose()?.as_ref());
    }
    let binary = root.join(&options.binary);
    let binary = binary.canonicalize().map_err(|why| format!("{}: {why}", binary.display()))?;
    let binary = binary.to_string_lossy();
    let (reps, turns) = if options.is_short { ("7", "20") } else { ("15", "50") };
    let mut words = vec!["-B", ".ci/bench/measure.py", &binary, "--reps", reps, "--turns", turns];
    if !options.is_short {
        words.push("--peers");
    }
    let measured = run_text(root, "python3", &words)?;
    let mut value: Value = serde_json::from_str(&measured).map_err(|error| error.to_string())?;
    put(&mut value, "machine", json!(describe_machine(root)));
    if !options.is_short {
        put(&mut value, "benches", run_crate_benches(root, &binary));
    }
    let figures = BenchFigures::from_value(value)?;
    if !options.is_short {
        let folder = root.join("docs/benchmarks");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        fs::write(&kept, figures.to_text()).map_err(|error| error.to_string())?;
        write_page(root, Some(&figures))?;
    }
    let missed =
        figures.judge(if options.is_short { LimitKind::Wide } else { LimitKind::Promised });
    match missed.is_empty() {
        true => Ok(()),
        false => Err(missed.join("\n")),
    }
}

fn write_page(root: &Path, figures: Option<&BenchFigures>) -> Result<(), String> {
    for file in render_files(figures) {
        fs::write(root.join(&file.path), &file.text)
            .map_err(|error| format!("{}: {error}", file.path))?;
    }
    Ok(())
}

/// A file that is made from the numbers.
pub struct RenderedFile {
    /// From the root of the repository.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// The page, and its plots if there are numbers.
#[must_use]
pub fn render_files(figures: Option<&BenchFigures>) -> Vec<RenderedFile> {
    let page = RenderedFile { path: PAGE_FILE.to_owned(), text: render_page(figures) };
    let mut files = vec![page];
    let Some(figures) = figures else {
        return files;
    };
    let agents = figures.agents();
    let own = agents.get(..2).unwrap_or_default();
    for limit in figures::LIMITS {
        files.push(RenderedFile {
            path: format!("docs/benchmarks/{}.svg", limit.name),
            text: render_plot(figures, limit, own),
        });
        if agents.len() > own.len() {
            files.push(RenderedFile {
                path: format!("docs/benchmarks/agents_{}.svg", limit.name),
                text: render_plot(figures, limit, &agents),
            });
        }
    }
    files
}

/// Runs each bench to its end; one that fails is noted, so that the page shows all of them.
fn run_crate_benches(root: &Path, binary: &str) -> Value {
    let rows = CRATE_BENCHES.iter().map(|one| {
        println!("bench: {} {}", one.package, one.bench);
        let words =
            ["bench", "--locked", "--quiet", "--package", one.package, "--bench", one.bench];
        let given = format!("WINDLASS_BENCH_BINARY={binary}");
        let ended = match one.starts_program {
            true => {
                let before = [given.as_str(), "cargo"];
                let words = [&before[..], &words, &["--profile", "dev"]].concat();
                run_to_end(root, "env", &words)
            }
            false => run_to_end(root, "cargo", &words),
        };
        let (is_fine, text) = match ended {
            Ok(output) => {
                (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
            }
            Err(problem) => (false, problem),
        };
        let command = format!("cargo bench -p {} --bench {}", one.package, one.bench);
        json!({"what": one.what, "command": command, "is_fine": is_fine, "said": text.trim_end()})
    });
    Value::Array(rows.collect())
}

fn describe_machine(root: &Path) -> String {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let name = name.map_or("unknown processor", |(_, name)| name.trim());
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let kernel = run_text(root, "uname", &["-sr"]).unwrap_or_default();
    format!("{count} × {name}, {}", kernel.trim())
}
