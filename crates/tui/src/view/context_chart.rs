//! What fills the context window, as a chart: one cell per hundredth, and a legend.

use windlass_vocabulary::context_usage::{ContextComponent, ContextUsage};

use crate::styled_line::{StyledLine, TextStyle};
use crate::words;

fn label_component(component: &ContextComponent) -> (&'static str, TextStyle) {
    match component {
        ContextComponent::System => (words::CONTEXT_SYSTEM, TextStyle::Heading),
        ContextComponent::Tools => (words::CONTEXT_TOOLS, TextStyle::Code),
        ContextComponent::Memory | ContextComponent::Pins => {
            (words::CONTEXT_MEMORY, TextStyle::Link)
        }
        ContextComponent::Summaries => (words::CONTEXT_SUMMARIES, TextStyle::Warning),
        ContextComponent::Requests => (words::CONTEXT_PROMPTS, TextStyle::User),
        ContextComponent::Answers | ContextComponent::Reasoning => {
            (words::CONTEXT_ANSWERS, TextStyle::Success)
        }
        ContextComponent::Results(_) => (words::CONTEXT_RESULTS, TextStyle::Busy),
    }
}

struct ChartGroup {
    label: &'static str,
    style: TextStyle,
    tokens: u64,
}

/// In the order of their first part.
fn group_by_label(inventory: &ContextUsage) -> Vec<ChartGroup> {
    let mut groups: Vec<ChartGroup> = Vec::new();
    for part in &inventory.parts {
        let (label, style) = label_component(&part.component);
        match groups.iter_mut().find(|group| group.label == label) {
            Some(group) => group.tokens += part.tokens.0,
            None => groups.push(ChartGroup { label, style, tokens: part.tokens.0 }),
        }
    }
    groups
}

/// Divides `count` cells among the groups; returns the style of each cell.
pub fn allot_cells(inventory: &ContextUsage, count: usize) -> Vec<TextStyle> {
    let groups = group_by_label(inventory);
    let total: u64 = groups.iter().map(|group| group.tokens).sum();
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    // A cell belongs to the group of its middle.
    let middle = |cell: u64| {
        cell.saturating_mul(total).saturating_mul(2).saturating_add(total) / (2 * count.max(1))
    };
    (0..count)
        .map(|cell| {
            let mut left = middle(cell);
            let group = groups.iter().find(|group| {
                let is_here = left < group.tokens;
                left = left.saturating_sub(group.tokens);
                is_here
            });
            group.map_or(TextStyle::Dim, |group| group.style)
        })
        .collect()
}

pub fn render_context_chart(inventory: &ContextUsage, width: usize) -> Vec<StyledLine> {
    let window = inventory.window.0.max(1);
    let percent = inventory.total.0.saturating_mul(100) / window;
    let head = format!(
        "{}: {} of {} tokens ({})",
        inventory.model,
        format_thousands(inventory.total.0),
        format_thousands(inventory.window.0),
        words::format_percent(percent)
    );
    let mut lines = StyledLine::from_text(head, TextStyle::Bold).wrap(width, 2);
    let full =
        usize::try_from(percent.min(100)).unwrap_or(100).max(usize::from(inventory.total.0 > 0));
    let reserved = usize::try_from(inventory.reserved.0.saturating_mul(100) / window).unwrap_or(0);
    let reserved = reserved.min(100 - full);
    let mut cells: Vec<ChartCell> =
        allot_cells(inventory, full).into_iter().map(|style| ("■", style)).collect();
    cells.resize(100 - reserved, ("·", TextStyle::Dim));
    cells.resize(100, ("▒", TextStyle::Dim));
    let mut legend: Vec<ChartLegendEntry> = group_by_label(inventory)
        .into_iter()
        .map(|group| ChartLegendEntry {
            label: format!("■ {}", group.label),
            style: group.style,
            tokens: group.tokens,
        })
        .collect();
    for (label, tokens) in [
        (words::CONTEXT_FREE, inventory.free_tokens()),
        (words::CONTEXT_RESERVED, inventory.reserved),
    ] {
        let tokens = tokens.0;
        legend.push(ChartLegendEntry { label: label.to_owned(), style: TextStyle::Dim, tokens });
    }
    match width < BESIDE_MIN {
        true => render_legend_below(&cells, &legend, width, &mut lines),
        false => render_legend_beside(&cells, &legend, width, &mut lines),
    }
    lines
}

fn render_legend_beside(
    cells: &[ChartCell],
    legend: &[ChartLegendEntry],
    width: usize,
    lines: &mut Vec<StyledLine>,
) {
    for row in 0..legend.len().max(10) {
        let mut line = StyledLine::from_text("  ", TextStyle::Plain);
        match cells.get(row * 10..row * 10 + 10) {
            Some(ten) => ten.iter().for_each(|(sign, style)| line.push(format!("{sign} "), *style)),
            None => line.push(" ".repeat(20), TextStyle::Plain),
        }
        if let Some(ChartLegendEntry { label, style, tokens }) = legend.get(row) {
            line.push(format!(" {label:<25}"), *style);
            line.push(format!("{:>9}", format_thousands(*tokens)), TextStyle::Plain);
        }
        lines.push(line.truncate_to_width(width));
    }
}

/// For narrow screens.
fn render_legend_below(
    cells: &[ChartCell],
    legend: &[ChartLegendEntry],
    width: usize,
    lines: &mut Vec<StyledLine>,
) {
    for row in cells.chunks(25) {
        let mut line = StyledLine::from_text("  ", TextStyle::Plain);
        row.iter().for_each(|(sign, style)| line.push(*sign, *style));
        lines.push(line.truncate_to_width(width));
    }
    for ChartLegendEntry { label, style, tokens } in legend {
        let line = StyledLine::from_text(format!("  {label:<25}"), *style);
        lines.push(
            line.with_span(format!("{:>9}", format_thousands(*tokens)), TextStyle::Plain)
                .truncate_to_width(width),
        );
    }
}

fn format_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

type ChartCell = (&'static str, TextStyle);

struct ChartLegendEntry {
    label: String,
    style: TextStyle,
    tokens: u64,
}

/// From this width on the legend fits beside the chart.
const BESIDE_MIN: usize = 58;

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_vocabulary::Tokens;
    use windlass_vocabulary::context_usage::ContextUsagePart;

    #[test]
    fn every_number_is_there_however_narrow_it_is() {
        let part =
            |component, tokens| ContextUsagePart { component, tokens: Tokens(tokens), count: 1 };
        let inventory = ContextUsage {
            model: "a-model-with-a-long-name".into(),
            window: Tokens(200_000),
            total: Tokens(61_234),
            reserved: Tokens(20_000),
            threshold: Tokens(180_000),
            parts: vec![
                part(ContextComponent::System, 12_000),
                part(ContextComponent::Requests, 49_234),
            ],
            levels: Default::default(),
            losses: Vec::new(),
        };
        for width in [40, 57, 58, 80, 200] {
            let lines = render_context_chart(&inventory, width);
            assert!(lines.iter().all(|line| line.width() <= width), "{width}");
            let words: Vec<String> = lines.iter().map(StyledLine::plain_text).collect();
            let words = words.join("\n");
            for number in ["61,234", "12,000", "49,234", "20,000", "30%"] {
                assert!(words.contains(number), "{width}: {number}:\n{words}");
            }
        }
    }
}
