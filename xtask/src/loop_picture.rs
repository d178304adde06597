//! `cargo xtask picture`: the loop as a picture, drawn from the table of the walk (`docs/loop.md`). Where a box
//! stands is decided here; which boxes and arrows there are, and what stands beside them, is not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const TABLE_FILE: &str = "docs/loop.md";
/// The picture.
pub const PICTURE_FILE: &str = "docs/loop.svg";

/// A phase, and the middle of its box.
const PLACES: &[(&str, f64, f64)] = &[
    ("Settling", 200.0, 80.0),
    ("Stopping", 650.0, 80.0),
    ("Attaching", 1100.0, 80.0),
    ("Preparing", 200.0, 330.0),
    ("Streaming", 650.0, 330.0),
    ("RunningTools", 1100.0, 330.0),
    ("Compacting", 200.0, 660.0),
    ("Waiting", 650.0, 660.0),
];
/// How the words of the table begin that lead into another phase. Everything else that is no end is a transition,
/// and prepares the next call.
const STEPS: &[(&str, &str)] = &[
    ("call the model", "Streaming"),
    ("wait for tools", "RunningTools"),
    ("wait before the next try", "Waiting"),
    ("take in what arrived", "Attaching"),
    ("run stop hooks", "Stopping"),
    ("summarize", "Compacting"),
    ("prepare", "Preparing"),
    ("`", "Preparing"),
];
const BOX_WIDTH: f64 = 210.0;
const LINE: f64 = 15.0;
const STYLE: &str = "text{font:12px sans-serif;fill:#24292f}.p{font:bold 15px sans-serif}.e{fill:#57606a}\
                     rect{fill:#ddf4ff;stroke:#2f81f7}path{fill:none;stroke:#57606a;stroke-width:1.5}\
                     marker path{fill:#57606a}.l{stroke:#fff;stroke-width:4;paint-order:stroke}\
                     @media(prefers-color-scheme:dark){text{fill:#e6edf3}.e{fill:#9198a1}rect{fill:#0d2136}\
                     .l{stroke:#0d1117}path{stroke:#9198a1}marker path{fill:#9198a1}}";

/// What the table says of every phase.
#[derive(Default)]
struct LoopGraph {
    /// The terminals a phase may end in.
    ends: BTreeMap<String, BTreeSet<String>>,
    /// From a phase to another, and why.
    arrows: BTreeMap<(String, String), BTreeSet<String>>,
}

/// Writes the picture.
///
/// # Errors
///
/// When the table has something that no picture was thought of for.
pub fn run(root: &Path) -> Result<(), String> {
    let table = fs::read_to_string(root.join(TABLE_FILE)).map_err(|why| why.to_string())?;
    let picture = render_picture(&table)?;
    fs::write(root.join(PICTURE_FILE), picture).map_err(|why| format!("{PICTURE_FILE}: {why}"))
}

/// The picture of a table.
///
/// # Errors
///
/// When a phase has no place, or words lead nowhere.
pub fn render_picture(table: &str) -> Result<String, String> {
    let graph = read_table(table)?;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1240 730\" width=\"1240\" height=\"730\" \
         role=\"img\">\n<title>The phases of the loop, and what leads from one to another</title>\n\
         <style>{STYLE}</style>\n<defs><marker id=\"a\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" \
         markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L10 5L0 10z\"/></marker></defs>\n"
    );
    let mut labels = String::new();
    for ((from, to), reasons) in &graph.arrows {
        let start = find_place(from)?;
        let end = find_place(to)?;
        let middles = [(start, graph.height(from)), (end, graph.height(to))];
        let curve = Curve::between(middles, reasons.len());
        svg.push_str(&curve.render());
        labels.push_str(&curve.render_label(reasons));
    }
    for (name, x, y) in PLACES {
        svg.push_str(&graph.render_box(name, *x, *y));
    }
    svg.push_str(&labels);
    svg.push_str("</svg>\n");
    Ok(svg)
}

fn read_table(table: &str) -> Result<LoopGraph, String> {
    let mut graph = LoopGraph::default();
    for line in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[_, phase, _, follows, _] = cells.as_slice() else {
            return Err(format!("no row of three cells: {line}"));
        };
        let phase = phase.split(':').next().unwrap_or(phase).to_owned();
        find_place(&phase)?;
        for what in follows.split(", ") {
            if let Some(end) = what.strip_prefix("end ") {
                let ends = graph.ends.entry(phase.clone()).or_default();
                ends.insert(end.trim_matches('`').to_owned());
                continue;
            }
            // What is said beside an end.
            if what == "the call deferred" {
                continue;
            }
            let step = STEPS.iter().find(|(words, _)| what.starts_with(words));
            let (_, to) = step.ok_or_else(|| format!("`{what}` leads nowhere; see {PLACES:?}"))?;
            let arrow = (phase.clone(), (*to).to_owned());
            graph.arrows.entry(arrow).or_default().insert(what.trim_matches('`').to_owned());
        }
    }
    Ok(graph)
}

fn find_place(phase: &str) -> Result<(f64, f64), String> {
    let place = PLACES.iter().find(|(name, ..)| *name == phase);
    place.map(|(_, x, y)| (*x, *y)).ok_or_else(|| format!("{phase} has no place in the picture"))
}

impl LoopGraph {
    fn ends_of(&self, phase: &str) -> Vec<&str> {
        self.ends.get(phase).into_iter().flatten().map(String::as_str).collect()
    }

    fn height(&self, phase: &str) -> f64 {
        34.0 + LINE * self.ends_of(phase).len() as f64
    }

    /// The phase, and below it the ways to end in it.
    fn render_box(&self, phase: &str, x: f64, y: f64) -> String {
        let left = x - BOX_WIDTH / 2.0;
        let top = y - self.height(phase) / 2.0;
        let mut svg = format!(
            "<rect x=\"{left}\" y=\"{top}\" width=\"{BOX_WIDTH}\" height=\"{}\" rx=\"6\"/>\n\
             <text class=\"p\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{phase}</text>\n",
            self.height(phase),
            top + 22.0
        );
        for (row, end) in self.ends_of(phase).iter().enumerate() {
            let below = top + 38.0 + LINE * row as f64;
            svg.push_str(&format!(
                "<text class=\"e\" x=\"{x}\" y=\"{below}\" text-anchor=\"middle\">ends: {end}</text>\n"
            ));
        }
        svg
    }
}

/// An arrow: beside the straight line, so that there and back are two.
struct Curve {
    start: (f64, f64),
    bend: (f64, f64),
    end: (f64, f64),
}

impl Curve {
    /// From the middle of a box to that of another, each with its height, and room for so many reasons.
    fn between(
        [(from, from_height), (to, to_height)]: [((f64, f64), f64); 2],
        reasons: usize,
    ) -> Self {
        let across = to.0 - from.0;
        let down = to.1 - from.1;
        let length = across.hypot(down);
        // To the left of its own direction; around a box that stands between.
        let is_around = down.abs() > 400.0 && across == 0.0;
        let aside = if is_around { -250.0 } else { 18.0 + 11.0 * reasons as f64 };
        let offset = (down / length * aside, -across / length * aside);
        let bend = ((from.0 + to.0) / 2.0 + offset.0, (from.1 + to.1) / 2.0 + offset.1);
        Self {
            start: meet_border(from, bend, from_height),
            bend,
            end: meet_border(to, bend, to_height),
        }
    }

    fn render(&self) -> String {
        let Self { start, bend, end } = self;
        format!(
            "<path d=\"M{:.0} {:.0}Q{:.0} {:.0} {:.0} {:.0}\" marker-end=\"url(#a)\"/>\n",
            start.0, start.1, bend.0, bend.1, end.0, end.1
        )
    }

    /// The reasons, one below the other, a third of the way along.
    fn render_label(&self, reasons: &BTreeSet<String>) -> String {
        let at = |from: f64, bend: f64, to: f64| from * 0.36 + bend * 0.48 + to * 0.16;
        let x = at(self.start.0, self.bend.0, self.end.0);
        let middle = at(self.start.1, self.bend.1, self.end.1);
        let top = middle - LINE * (reasons.len() as f64 - 1.0) / 2.0 + 4.0;
        let line = |(row, reason): (usize, &String)| {
            let y = top + LINE * row as f64;
            format!(
                "<text class=\"l\" x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"middle\">{reason}</text>\n"
            )
        };
        reasons.iter().enumerate().map(line).collect()
    }
}

/// Where the line from the middle of a box to a point leaves the box.
fn meet_border(middle: (f64, f64), to: (f64, f64), height: f64) -> (f64, f64) {
    let across = to.0 - middle.0;
    let down = to.1 - middle.1;
    let sideways = BOX_WIDTH / 2.0 / across.abs().max(0.001);
    let upright = height / 2.0 / down.abs().max(0.001);
    let part = sideways.min(upright);
    (middle.0 + across * part, middle.1 + down * part)
}
