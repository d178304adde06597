//! The last line: model, mode, context, cost and directory; and the user's own line above it.

use windlass_host::display::human_format::format_money;
use windlass_vocabulary::MicroUsd;
use windlass_vocabulary::context_usage::ContextUsage;

use super::context_chart;
use crate::app::App;
use crate::styled_line::{StyledLine, TextStyle};
use crate::words;

pub(super) fn render_status_line(app: &App) -> StyledLine {
    let line = build_line(app, BarUse::Drawn);
    match line.width() <= app.size.width {
        true => line,
        // The cost is worth more than the bar.
        false => build_line(app, BarUse::Omitted).truncate_to_width(app.size.width),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BarUse {
    Drawn,
    Omitted,
}

fn build_line(app: &App, bar: BarUse) -> StyledLine {
    let facts = &app.session.facts;
    let mut line = StyledLine::new();
    // What the next key does must not be cut off.
    if let Some(hint) = app.keys.hint {
        line.push(hint, TextStyle::Bold);
        line.push(" · ", TextStyle::Dim);
    }
    line.push(facts.model.clone(), TextStyle::Dim);
    let add = |line: &mut StyledLine, words: &str| line.push(format!(" · {words}"), TextStyle::Dim);
    if app.run.is_busy() {
        add(&mut line, &format!("turn {}", app.run.turn));
        add(&mut line, &words::format_elapsed(app.run.elapsed(app.now)));
    }
    if app.session.background_tasks > 0 {
        add(&mut line, &words::label_background(app.session.background_tasks));
    }
    if facts.context_window > 0 && app.usage.context_tokens > 0 {
        let percent = app.usage.context_tokens.saturating_mul(100) / facts.context_window;
        line.push(" · ", TextStyle::Dim);
        if bar == BarUse::Drawn {
            push_context_bar(&mut line, app.usage.inventory.as_ref(), percent);
            line.push(" ", TextStyle::Dim);
        }
        line.push(words::format_percent(percent), TextStyle::Dim);
    }
    match facts.budget {
        Some(budget) => {
            add(
                &mut line,
                &format!("{} of {}", format_dollars(app.usage.cost), format_dollars(budget)),
            );
        }
        None if app.usage.cost > 0 => add(&mut line, &format_dollars(app.usage.cost)),
        None => {}
    }
    add(&mut line, &facts.directory_label);
    if let Some(branch) = &facts.branch {
        add(&mut line, branch);
    }
    line
}

/// The user's own line. It is the output of a program, so control characters are removed.
pub(super) fn render_custom_status(app: &App) -> Option<StyledLine> {
    let words =
        app.session.status_line.as_deref().map(windlass_permission::sanitize::strip_control)?;
    let words = words.lines().next().unwrap_or_default().replace('\t', " ");
    (!words.trim().is_empty())
        .then(|| StyledLine::from_text(words, TextStyle::Dim).truncate_to_width(app.size.width))
}

/// Ten cells for the context window, in the colours of what fills it.
fn push_context_bar(line: &mut StyledLine, inventory: Option<&ContextUsage>, percent: u64) {
    let full = usize::try_from(percent.min(100).div_ceil(10)).unwrap_or(0).max(1);
    match inventory {
        Some(inventory) => {
            for style in context_chart::allot_cells(inventory, full) {
                line.push("▰", style);
            }
        }
        None => line.push("▰".repeat(full), TextStyle::Dim),
    }
    line.push("▱".repeat(10 - full), TextStyle::Dim);
}

fn format_dollars(micro: u64) -> String {
    format_money(MicroUsd(micro))
}
