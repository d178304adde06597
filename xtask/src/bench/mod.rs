//! `cargo xtask bench`: the program beside the least an agent can be (`.ci/bench/floor.py`), and the
//! benches of the crates. Writes `docs/benchmarks.md` with its plots, and fails when a limit is missed. Other
//! agents that are found on PATH are measured beside it, and judged by nobody.
//!
//! `--short` is for every change: fewer runs, wide limits, no page. Both compare medians of runs that were
//! made in turns, so a busy machine slows both and trips nothing. `--only` measures benches of crates again and
//! keeps all other numbers.

mod figures;
mod page;
mod plot;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::json::put;
use crate::program::{run_text, run_to_end};
pub use figures::{BenchFigures, FigureLimit, LimitKind};
pub use page::render_page;
pub use plot::render_plot;

/// How it is called.
pub const USAGE: &str =
    "cargo xtask bench [--short | --page | --only BENCH[,BENCH]] [--binary PROGRAM]";
/// Where the numbers are kept that the page is made from.
pub const FIGURES_FILE: &str = "docs/benchmarks/figures.json";
/// The page.
pub const PAGE_FILE: &str = "docs/benchmarks.md";

/// A bench of a crate that fails by itself when it is over its limit.
#[derive(Debug)]
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
    /// Only these benches of crates; all of them when empty.
    only: Vec<&'static CrateBench>,
    binary: String,
}

impl BenchOptions {
    /// Reads the words behind `cargo xtask bench`.
    ///
    /// # Errors
    ///
    /// When a word or a bench is not known.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let binary = "target/release/windlass".to_owned();
        let mut options = Self { is_short: false, is_page_only: false, only: Vec::new(), binary };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match *word {
                "--short" => options.is_short = true,
                "--page" => options.is_page_only = true,
                "--only" => options.only = find_benches(rest.next().copied().unwrap_or_default())?,
                "--binary" => options.binary = rest.next().copied().unwrap_or_default().to_owned(),
                other => return Err(format!("`{other}` is not known; {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// The benches of these names.
fn find_benches(names: &str) -> Result<Vec<&'static CrateBench>, String> {
    let find = |name| {
        CRATE_BENCHES.iter().find(|one| one.bench == name).ok_or_else(|| {
            let known: Vec<&str> = CRATE_BENCHES.iter().map(|one| one.bench).collect();
            format!("there is no bench `{name}`; there are {}", known.join(", "))
        })
    };
    names.split(',').map(find).collect()
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
    let is_started = options.only.is_empty() || options.only.iter().any(|one| one.starts_program);
    let binary = match is_started {
        true => binary.canonicalize().map_err(|why| format!("{}: {why}", binary.display()))?,
        false => binary,
    };
    let binary = binary.to_string_lossy();
    if !options.only.is_empty() {
        let text = fs::read_to_string(&kept).map_err(|why| format!("{FIGURES_FILE}: {why}"))?;
        let mut figures = BenchFigures::parse(&text)?;
        figures.replace_benches(run_crate_benches(root, &options.only, &binary));
        return keep(root, &figures);
    }
    let (reps, turns) = if options.is_short { ("7", "20") } else { ("15", "50") };
    let mut words = vec!["-B", ".ci/bench/measure.py", &binary, "--reps", reps, "--turns", turns];
    if !options.is_short {
        words.push("--peers");
    }
    let measured = run_text(root, "python3", &words)?;
    let mut value: Value = serde_json::from_str(&measured).map_err(|error| error.to_string())?;
    put(&mut value, "machine", json!(describe_machine(root)));
    if !options.is_short {
        let all: Vec<&CrateBench> = CRATE_BENCHES.iter().collect();
        put(&mut value, "benches", Value::Array(run_crate_benches(root, &all, &binary)));
    }
    let figures = BenchFigures::from_value(value)?;
    match options.is_short {
        true => judge(&figures, LimitKind::Wide),
        false => keep(root, &figures),
    }
}

/// Writes the numbers and their page, and judges them.
fn keep(root: &Path, figures: &BenchFigures) -> Result<(), String> {
    fs::create_dir_all(root.join("docs/benchmarks")).map_err(|error| error.to_string())?;
    fs::write(root.join(FIGURES_FILE), figures.to_text()).map_err(|error| error.to_string())?;
    write_page(root, Some(figures))?;
    judge(figures, LimitKind::Promised)
}

fn judge(figures: &BenchFigures, kind: LimitKind) -> Result<(), String> {
    let missed = figures.judge(kind);
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

/// Runs each bench to its end; one that fails is noted, so that the page shows all of them. All are built
/// first: a compiler beside a measurement would be measured, too.
fn run_crate_benches(root: &Path, benches: &[&CrateBench], binary: &str) -> Vec<Value> {
    for one in benches {
        println!("bench: building {}", one.bench);
        // What went wrong is told when it is run.
        let _ = start_bench(root, one, binary, &["--no-run"]);
    }
    let measure = |one: &&CrateBench| {
        println!("bench: {} {}", one.package, one.bench);
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or_default();
        let (is_fine, said) = match start_bench(root, one, binary, &[]) {
            Ok(output) => {
                (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
            }
            Err(problem) => (false, problem),
        };
        let command = format!("cargo bench -p {} --bench {}", one.package, one.bench);
        let said = said.trim_end();
        json!({"what": one.what, "command": command, "is_fine": is_fine, "load": load, "said": said})
    };
    benches.iter().map(measure).collect()
}

fn start_bench(
    root: &Path,
    bench: &CrateBench,
    binary: &str,
    more: &[&str],
) -> Result<Output, String> {
    let mut words = vec!["bench", "--locked", "--quiet", "--package", bench.package];
    words.extend(["--bench", bench.bench]);
    words.extend(more);
    if !bench.starts_program {
        return run_to_end(root, "cargo", &words);
    }
    words.extend(["--profile", "dev"]);
    let given = format!("WINDLASS_BENCH_BINARY={binary}");
    run_to_end(root, "env", &[&[&given, "cargo"], &words[..]].concat())
}

fn describe_machine(root: &Path) -> String {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let name = name.map_or("unknown processor", |(_, name)| name.trim());
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let kernel = run_text(root, "uname", &["-sr"]).unwrap_or_default();
    format!("{count} × {name}, {}", kernel.trim())
}
