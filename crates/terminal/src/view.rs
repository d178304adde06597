//! The live lines: from what is the case to what is shown. Pure.

use std::time::Duration;

use crate::app::{App, Running};
use crate::line::{Line, Role};
use crate::painter::Cursor;
use crate::{text, tool};

/// The live lines on a screen of so many rows, and where the cursor stands.
#[must_use]
pub fn live(app: &App, rows: usize) -> (Vec<Line>, Cursor) {
    let mut below = Vec::new();
    let mut cursor = Cursor::default();
    if let Some(approval) = app.approvals.front() {
        below.extend(approval.lines(app.width));
        cursor.row = below.len().saturating_sub(1);
    } else {
        below.extend(
            app.queued
                .iter()
                .map(|said| Line::of(format!("  waits: {}", text::one_line(said)), Role::Quiet)),
        );
        below.extend(menu(app));
        let (row, column) = app.composer.cursor();
        cursor = Cursor { row: below.len() + row, column: column + 2 };
        below.extend(composed(app));
    }
    below.push(status(app));
    let room = rows.saturating_sub(below.len() + 1);
    let mut lines = working(app, room);
    cursor.row += lines.len();
    lines.extend(below);
    let over = lines.len().saturating_sub(rows.max(1));
    lines.drain(..over);
    cursor.row = cursor.row.saturating_sub(over);
    (lines, cursor)
}

/// The answer as far as it has come, calls under way, and why nothing happens.
fn working(app: &App, room: usize) -> Vec<Line> {
    let mut lines = text::markdown(&app.answer, app.width);
    lines.extend(app.running.iter().map(|running| under_way(app, running)));
    if let Some(waiting) = &app.waiting {
        lines.push(Line::of(format!("  {waiting}"), Role::Warning).cut(app.width));
    } else if app.is_busy && app.running.is_empty() && app.approvals.is_empty() {
        let word = match (app.is_thinking, app.answer.is_empty()) {
            (true, _) => "thinking",
            (_, true) => "asking",
            _ => "writing",
        };
        let words =
            format!("{} {word} ({})", sign(app.now), elapsed(app.now.saturating_sub(app.began)));
        lines.push(Line::of(words, Role::Busy));
    }
    let over = lines.len().saturating_sub(room);
    lines.drain(..over);
    lines
}

fn under_way(app: &App, running: &Running) -> Line {
    let time = elapsed(app.now.saturating_sub(running.since));
    let mut line = Line::of(format!("{} ", sign(app.now)), Role::Busy)
        .and(tool::title(&running.call), Role::Plain)
        .and(format!("  {time}"), Role::Quiet);
    if !running.tail.is_empty() {
        line.push(format!("  {}", running.tail), Role::Quiet);
    }
    line.cut(app.width)
}

fn menu(app: &App) -> Vec<Line> {
    let title = |name: &str, words: &str| format!("  /{name} {words}");
    app.menu()
        .iter()
        .map(|hint| {
            Line::of(format!("{:28}", title(&hint.name, &hint.words)), Role::Code)
                .and(text::one_line(&hint.about), Role::Quiet)
                .cut(app.width)
        })
        .collect()
}

fn composed(app: &App) -> Vec<Line> {
    if app.composer.is_empty() {
        let words = match app.is_busy {
            true => "type to add to the work; Esc stops it",
            false => "ask for something; /help shows what else there is",
        };
        return vec![Line::of("> ", Role::User).and(words, Role::Quiet).cut(app.width)];
    }
    let signs = std::iter::once("> ").chain(std::iter::repeat("  "));
    let lines = app.composer.text().split('\n').zip(signs);
    lines.map(|(line, sign)| Line::of(sign, Role::User).and(line, Role::Plain)).collect()
}

fn status(app: &App) -> Line {
    let about = &app.about;
    let mut line = Line::of(about.model.clone(), Role::Quiet);
    let mut add = |words: String| line.push(format!(" · {words}"), Role::Quiet);
    add(app.mode.name().to_owned());
    add(about.directory.clone());
    if let Some(branch) = &about.branch {
        add(branch.clone());
    }
    if about.window > 0 && app.tokens > 0 {
        let percent = app.tokens.saturating_mul(100) / about.window;
        add(format!("{} {percent}%", bar(percent)));
    }
    match about.budget {
        Some(budget) => add(format!("{} of {}", dollars(app.cost), dollars(budget))),
        None if app.cost > 0 => add(dollars(app.cost)),
        None => {}
    }
    if app.is_busy {
        add(format!("turn {}", app.turn));
    }
    if let Some(hint) = app.hint {
        add(hint.to_owned());
    }
    line.cut(app.width)
}

fn bar(percent: u64) -> String {
    let full = usize::try_from(percent.min(100).div_ceil(10)).unwrap_or(0);
    format!("{}{}", "▰".repeat(full), "▱".repeat(10 - full))
}

fn dollars(micro: u64) -> String {
    format!("${}.{:04}", micro / 1_000_000, (micro % 1_000_000) / 100)
}

fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

fn sign(now: Duration) -> char {
    const SIGNS: [char; 4] = ['◐', '◓', '◑', '◒'];
    let at = usize::try_from(now.as_millis() / 250).unwrap_or(0) % SIGNS.len();
    SIGNS.get(at).copied().unwrap_or('●')
}
