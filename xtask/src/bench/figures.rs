//! The numbers of one run of the bench: all of them are kept, medians are judged.

use serde_json::Value;

use crate::json::{rows, text};

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
