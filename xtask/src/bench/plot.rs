//! One plot: a bar for each median, a dot for every run, a line for the limit. Plain SVG with the
//! colours of the reader's page.

use super::figures::{BenchFigures, FigureLimit, LimitKind};

const WIDTH: f64 = 640.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 70.0;
const ROW: f64 = 34.0;
const TOP: f64 = 34.0;

const STYLE: &str = "text{font:13px sans-serif;fill:#24292f}.o{fill:#2f81f7}.f{fill:#8c959f}\
                     .d{fill:#24292f;opacity:.35}.l{stroke:#cf222e;stroke-width:2;stroke-dasharray:4 3}\
                     @media(prefers-color-scheme:dark){text{fill:#e6edf3}.d{fill:#e6edf3}}";

/// The plot of one number of some agents.
#[must_use]
pub fn render_plot(figures: &BenchFigures, limit: &FigureLimit, agents: &[String]) -> String {
    let most = figures.limit(limit, LimitKind::Promised);
    let all = agents.iter().map(|agent| figures.samples(agent, limit.name));
    // One run in twenty may lie outside: a single pause must not flatten the rest.
    let outer: Vec<f64> =
        all.filter_map(|samples| samples.get(samples.len() * 19 / 20).copied()).collect();
    let scale = outer.into_iter().chain([most]).fold(0.0, f64::max) * 1.05;
    let x = |value: f64| LEFT + (value / scale).min(1.0) * (WIDTH - LEFT - RIGHT);
    let bottom = TOP + agents.len() as f64 * ROW;
    let height = bottom + 12.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         <text x=\"0\" y=\"16\">{}, {}</text>\n",
        limit.what, limit.what, limit.unit
    );
    for (row, agent) in agents.iter().enumerate() {
        let class = if agent == "windlass" { "o" } else { "f" };
        let y = TOP + row as f64 * ROW;
        let median = figures.median(agent, limit.name);
        svg.push_str(&format!(
            "<text x=\"0\" y=\"{:.0}\">{agent}</text>\n\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"22\" rx=\"3\"/>\n",
            y + 16.0,
            x(median) - LEFT
        ));
        for sample in figures.samples(agent, limit.name) {
            svg.push_str(&format!(
                "<circle class=\"d\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>\n",
                x(sample),
                y + 11.0
            ));
        }
        svg.push_str(&format!(
            "<text x=\"{:.0}\" y=\"{:.0}\">{median:.2}</text>\n",
            WIDTH - RIGHT + 8.0,
            y + 16.0
        ));
    }
    let line = x(most);
    svg.push_str(&format!(
        "<line class=\"l\" x1=\"{line:.1}\" x2=\"{line:.1}\" y1=\"{:.0}\" y2=\"{bottom:.0}\"/>\n</svg>\n",
        TOP - 6.0
    ));
    svg
}
