//! The numbers of one run of the bench: all of them are kept, medians are judged.

use serde_json::Value;

use crate::json::{put, rows, text};

/// What a number must keep to.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// So many times the floor's.
    TimesFloor(f64),
    /// The floor's and so much more.
    AboveFloor(f64),
    /// So much, whatever the floor does.
    AtMost(f64),
}

/// A number with its limits.
#[derive(Clone, Copy, Debug)]
pub struct FigureLimit {
    /// As the numbers are kept.
    pub name: &'static str,
    /// For people.
    pub what: &'static str,
    /// Behind the number.
    pub unit: &'static str,
    /// What the page promises.
    pub promised: Bound,
    /// What no noise of a shared machine reaches.
    pub wide: Bound,
}

/// Which of the two is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// What the page promises.
    Promised,
    /// For every change.
    Wide,
}

pub(super) const LIMITS: &[FigureLimit] = &[
    FigureLimit {
        name: "start_ms",
        what: "from start to the first request",
        unit: "ms",
        promised: Bound::TimesFloor(0.25),
        wide: Bound::TimesFloor(0.75),
    },
    FigureLimit {
        name: "turn_ms",
        what: "one turn with a shell command, journal and snapshots on",
        unit: "ms",
        promised: Bound::AboveFloor(1.0),
        wide: Bound::AboveFloor(8.0),
    },
    FigureLimit {
        name: "tool_start_ms",
        what: "from a complete call to the started tool, while the answer goes on",
        unit: "ms",
        promised: Bound::AboveFloor(5.0),
        wide: Bound::AtMost(150.0),
    },
    FigureLimit {
        name: "peak_mb",
        what: "peak of resident memory in a session of many turns",
        unit: "MB",
        promised: Bound::AtMost(25.0),
        wide: Bound::AtMost(40.0),
    },
    FigureLimit {
        name: "ten_sessions_s",
        what: "ten sessions at once, start to end",
        unit: "s",
        promised: Bound::TimesFloor(0.5),
        wide: Bound::TimesFloor(1.5),
    },
    FigureLimit {
        name: "first_request_kb",
        what: "size of the first request",
        unit: "kB",
        promised: Bound::AtMost(12.0),
        wide: Bound::AtMost(16.0),
    },
];

/// A number that a bench of a crate prints, with its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct CrateFigure {
    /// The bench.
    pub(super) bench: &'static str,
    /// How the line begins, behind blanks. The last line that does counts: the largest case.
    line: &'static str,
    /// The word before the number; without one, the last quantity of the line counts.
    after: Option<&'static str>,
    pub(super) what: &'static str,
    /// Empty for a ratio.
    pub(super) unit: &'static str,
    pub(super) at_most: f64,
    /// As README says it, if it does.
    readme: Option<&'static str>,
}

pub(super) const CRATE_FIGURES: &[CrateFigure] = &[
    CrateFigure {
        bench: "echo",
        line: "first frame:",
        after: None,
        what: "from start to the first frame in the terminal",
        unit: "ms",
        at_most: 10.0,
        readme: Some("first frame in the terminal"),
    },
    CrateFigure {
        bench: "echo",
        line: "idle for",
        after: None,
        what: "resident memory of an idle session",
        unit: "MB",
        at_most: 20.0,
        readme: Some("memory of an idle session"),
    },
    CrateFigure {
        bench: "echo",
        line: "time to the echo",
        after: Some("p50"),
        what: "from a key to its echo, while an answer streams",
        unit: "ms",
        at_most: 10.0,
        readme: Some("key to its echo while an answer streams"),
    },
    CrateFigure {
        bench: "step",
        line: "one streamed piece of text",
        after: None,
        what: "one step of the loop for a piece of an answer",
        unit: "µs",
        at_most: 1.0,
        readme: None,
    },
    CrateFigure {
        bench: "open",
        line: "opened, and its first request prepared",
        after: None,
        what: "open a session of 100 MB",
        unit: "ms",
        at_most: 300.0,
        readme: Some("open a session of 100 MB"),
    },
    CrateFigure {
        bench: "list",
        line: "listed  ",
        after: None,
        what: "list 10,000 sessions",
        unit: "ms",
        at_most: 100.0,
        readme: None,
    },
    CrateFigure {
        bench: "look",
        line: "look, nothing changed / git status",
        after: Some("status"),
        what: "snapshot of 10,000 unchanged files, to a `git status`",
        unit: "",
        at_most: 0.6,
        readme: Some("snapshot of 10,000 unchanged files, to a `git status`"),
    },
    CrateFigure {
        bench: "look",
        line: "100 files undone ",
        after: None,
        what: "rewind of 100 changed files",
        unit: "ms",
        at_most: 200.0,
        readme: Some("rewind of 100 changed files"),
    },
    CrateFigure {
        bench: "cell",
        line: "cat a.txt",
        after: None,
        what: "what the read-only cell adds to a command",
        unit: "ms",
        at_most: 2.0,
        readme: Some("what the read-only cell adds to a command"),
    },
];

impl CrateFigure {
    /// Reads it from what the bench printed.
    fn read(&self, said: &str) -> Option<f64> {
        let line = said.lines().map(str::trim_start).rfind(|line| line.starts_with(self.line))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(after) = self.after {
            let at = words.iter().position(|word| *word == after)?;
            let word = words.get(at + 1)?;
            return match self.unit {
                "" => word.parse().ok(),
                unit => read_quantity(word, unit),
            };
        }
        // A unit may stand apart.
        let pairs = words.windows(2).map(<[&str]>::concat);
        let mut quantities = words.iter().map(|&word| word.to_owned()).chain(pairs).rev();
        quantities.find_map(|word| read_quantity(&word, self.unit))
    }

    /// A measured value with its unit.
    pub(super) fn describe(&self, value: f64) -> String {
        format!("{value:.2} {}", self.unit).trim_end().to_owned()
    }

    pub(super) fn describe_limit(&self) -> String {
        format!("{} {}", self.at_most, self.unit).trim_end().to_owned()
    }
}

/// 2317.4 as `2,317`.
fn group_thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    match digits.split_at_checked(digits.len().saturating_sub(3)) {
        Some((thousands, rest)) if !thousands.is_empty() => format!("{thousands},{rest}"),
        Some(_) | None => digits,
    }
}

/// `1.5ms` as 1500 where microseconds are wanted; nothing for another kind of unit.
fn read_quantity(word: &str, unit: &str) -> Option<f64> {
    const UNITS: &[&[(&str, f64)]] =
        &[&[("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)], &[("kB", 1e3), ("MB", 1e6)]];
    let end = word.find(|one: char| !one.is_ascii_digit() && one != '.')?;
    let (number, given) = word.split_at_checked(end)?;
    let number: f64 = number.parse().ok()?;
    let size = |kind: &[(&str, f64)], unit: &str| {
        kind.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size)
    };
    UNITS.iter().find_map(|kind| Some(number * size(kind, given)? / size(kind, unit)?))
}

/// One run of the bench.
pub struct BenchFigures {
    value: Value,
}

impl BenchFigures {
    /// Reads numbers that were kept.
    ///
    /// # Errors
    ///
    /// When a number is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::from_value(serde_json::from_str(text).map_err(|error| error.to_string())?)
    }

    pub(super) fn from_value(value: Value) -> Result<Self, String> {
        let figures = Self { value };
        for limit in LIMITS {
            for agent in ["windlass", "floor"] {
                if figures.samples(agent, limit.name).is_empty() {
                    return Err(format!("no {} of {agent}", limit.name));
                }
            }
        }
        Ok(figures)
    }

    pub(super) fn to_text(&self) -> String {
        format!("{:#}\n", self.value)
    }

    /// Sorted.
    pub(super) fn samples(&self, agent: &str, name: &str) -> Vec<f64> {
        let samples = rows(&self.value, &format!("/agents/{agent}/{name}"));
        let mut samples: Vec<f64> = samples.iter().filter_map(Value::as_f64).collect();
        samples.sort_by(f64::total_cmp);
        samples
    }

    pub(super) fn median(&self, agent: &str, name: &str) -> f64 {
        let samples = self.samples(agent, name);
        samples.get(samples.len() / 2).copied().unwrap_or_default()
    }

    pub(super) fn text(&self, name: &str) -> String {
        match self.value.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        }
    }

    /// Everyone who was measured: ours and the floor, then the others.
    pub(super) fn agents(&self) -> Vec<String> {
        let own = ["windlass", "floor"].map(str::to_owned);
        let all = self.value.pointer("/agents").and_then(Value::as_object);
        let others = all.into_iter().flatten().map(|(name, _)| name.clone());
        let others = others.filter(|name| !own.contains(name));
        own.iter().cloned().chain(others).collect()
    }

    /// The row of README's table for a number, rounded as people read it.
    #[must_use]
    pub fn render_readme_row(&self, what: &str, name: &str, agents: &[&str]) -> String {
        let unit = LIMITS.iter().find(|limit| limit.name == name).map_or("", |limit| limit.unit);
        let mut row = format!("| {what} |");
        for agent in agents {
            let median = self.median(agent, name);
            let rounded = match unit == "s" && median < 10.0 {
                true => format!("{median:.1}"),
                false => group_thousands(median),
            };
            row.push_str(&format!(" {rounded} {unit} |"));
        }
        row
    }

    /// The rows of README's table of our own numbers, with the command that repeats each.
    #[must_use]
    pub fn render_readme_figures(&self) -> Vec<String> {
        let rows = CRATE_FIGURES.iter().filter_map(|figure| {
            let value = figure.describe(self.crate_figure(figure)?);
            let command = text(self.find_bench(figure.bench)?, "/command");
            Some(format!("| {} | {value} | `{command}` |", figure.readme?))
        });
        rows.collect()
    }

    pub(super) fn version(&self, agent: &str) -> &str {
        text(&self.value, &format!("/versions/{agent}"))
    }

    /// A number of a bench of a crate, if it was run.
    pub(super) fn crate_figure(&self, figure: &CrateFigure) -> Option<f64> {
        figure.read(text(self.find_bench(figure.bench)?, "/said"))
    }

    /// Why there is no number.
    pub(super) fn explain_gap(&self, figure: &CrateFigure) -> String {
        let Some(bench) = self.find_bench(figure.bench) else {
            return format!("not measured; run `cargo xtask bench --only {}`", figure.bench);
        };
        let said = text(bench, "/said").lines().last().unwrap_or_default().trim();
        match said {
            "" => "not measured: the bench printed nothing".to_owned(),
            _ => format!("not measured: {said}"),
        }
    }

    /// Puts new runs in the place of earlier ones.
    pub(super) fn replace_benches(&mut self, measured: Vec<Value>) {
        let is_new =
            |old: &Value| measured.iter().any(|new| text(new, "/command") == text(old, "/command"));
        let mut all: Vec<Value> =
            self.benches().iter().filter(|old| !is_new(old)).cloned().collect();
        all.extend(measured);
        put(&mut self.value, "benches", Value::Array(all));
    }

    fn find_bench(&self, name: &str) -> Option<&Value> {
        let ending = format!("--bench {name}");
        self.benches().iter().find(|one| text(one, "/command").ends_with(&ending))
    }

    /// The rows of the crates' own benches.
    pub(super) fn benches(&self) -> &[Value] {
        rows(&self.value, "/benches")
    }

    /// The largest value that keeps the limit.
    pub(super) fn limit(&self, limit: &FigureLimit, kind: LimitKind) -> f64 {
        let floor = self.median("floor", limit.name);
        let bound = match kind {
            LimitKind::Promised => limit.promised,
            LimitKind::Wide => limit.wide,
        };
        match bound {
            Bound::TimesFloor(times) => floor * times,
            Bound::AboveFloor(more) => floor + more,
            Bound::AtMost(most) => most,
        }
    }

    pub(super) fn keeps(&self, limit: &FigureLimit, kind: LimitKind) -> bool {
        self.median("windlass", limit.name) <= self.limit(limit, kind)
    }

    /// A line for each limit that is missed.
    #[must_use]
    pub fn judge(&self, kind: LimitKind) -> Vec<String> {
        let mut missed = Vec::new();
        for limit in LIMITS {
            let ours = self.median("windlass", limit.name);
            let floor = self.median("floor", limit.name);
            let most = self.limit(limit, kind);
            let line = format!(
                "{}: {ours:.2} {}, at most {most:.2} (floor {floor:.2})",
                limit.what, limit.unit
            );
            println!("bench: {line}");
            if !self.keeps(limit, kind) {
                missed.push(format!("missed: {line}"));
            }
        }
        // The short form runs no bench of a crate.
        if kind == LimitKind::Wide {
            return missed;
        }
        for figure in CRATE_FIGURES {
            match self.crate_figure(figure) {
                Some(value) if value <= figure.at_most => {}
                Some(value) => missed.push(format!(
                    "missed: {}: {}, at most {}",
                    figure.what,
                    figure.describe(value),
                    figure.describe_limit(),
                )),
                None => {
                    missed.push(format!("missed: {}: {}", figure.what, self.explain_gap(figure)));
                }
            }
        }
        for bench in self.benches().iter().filter(|bench| !is_fine(bench)) {
            missed.push(format!("missed: {}", text(bench, "/command")));
        }
        missed
    }
}

/// Whether a bench of a crate kept its limits.
pub(super) fn is_fine(bench: &Value) -> bool {
    bench.get("is_fine").and_then(Value::as_bool) == Some(true)
}

impl Bound {
    pub(super) fn describe(self, unit: &str) -> String {
        match self {
            Self::TimesFloor(times) => format!("{times} × floor"),
            Self::AboveFloor(more) => format!("floor + {more} {unit}"),
            Self::AtMost(most) => format!("{most} {unit}"),
        }
    }
}
