//! The live lines: from what is the case to what is shown. Pure.

mod composed;
pub mod context;
mod status;

use std::time::Duration;

use crate::app::{App, Child, Running};
use crate::line::{Line, Role};
use crate::painter::Cursor;
use crate::{text, tool};

/// The live lines on a screen of so many rows, and where the cursor stands.
#[must_use]
pub fn live(app: &App) -> (Vec<Line>, Cursor) {
    let rows = app.rows;
    let mut below = Vec::new();
    let mut cursor = Cursor::default();
    if let Some((_, picker)) = &app.picker {
        below.extend(picker.lines(app.width, rows.saturating_sub(2).min(LIST_MAX)));
        cursor.row = below.len().saturating_sub(2);
    } else if let Some(field) = &app.field {
        below.extend(field.lines(app.width, rows.saturating_sub(2).min(LIST_MAX)));
        cursor.row = below.len().saturating_sub(1);
    } else {
        if let Some(approval) = app.approvals.front() {
            let room = rows.saturating_sub(4);
            below.extend(approval.lines(app.width, room, app.is_armed()));
            cursor.row = below.len().saturating_sub(1);
            if app.approvals.len() > 1 {
                let more = format!("  {} more questions wait", app.approvals.len() - 1);
                below.push(Line::of(more, Role::Quiet).cut(app.width));
            }
        }
        if app.is_composing() {
            below.extend(queued(app));
            below.extend(suggested(app));
            let (lines, at) = composed::lines(app, rows);
            cursor = Cursor { row: below.len() + at.row, column: at.column };
            below.extend(lines);
        }
    }
    below.extend(status::own(app));
    below.push(status::line(app));
    let room = rows.saturating_sub(below.len() + 1);
    let mut lines = working(app, room);
    cursor.row += lines.len();
    lines.extend(below);
    let over = lines.len().saturating_sub(rows.max(1));
    lines.drain(..over);
    cursor.row = cursor.row.saturating_sub(over);
    (lines, cursor)
}

/// What a terminal without live lines shows: what is asked, and what is being typed.
#[must_use]
pub fn linear(app: &App) -> (Vec<Line>, String) {
    if let Some((_, picker)) = &app.picker {
        return (picker.lines(app.width, LIST_MAX), "? ".to_owned());
    }
    if let Some(field) = &app.field {
        return (field.lines(app.width, LIST_MAX), "? ".to_owned());
    }
    match app.approvals.front().filter(|_| !app.is_composing()) {
        Some(approval) => (approval.lines(app.width, LINEAR_MAX, app.is_armed()), "? ".to_owned()),
        None => {
            let typed = app.composer.text();
            let last = typed.rsplit('\n').next().unwrap_or_default();
            (Vec::new(), format!("> {}", windlass_permission::display::visible(last)))
        }
    }
}

/// The answer as far as it has come, calls under way, and why nothing happens.
fn working(app: &App, room: usize) -> Vec<Line> {
    let mut below: Vec<Line> =
        app.running.iter().flat_map(|running| under_way(app, running)).collect();
    if let Some(waiting) = &app.waiting {
        below.push(Line::of(format!("  {waiting}"), Role::Warning).cut(app.width));
    } else if app.is_busy && app.running.is_empty() && app.approvals.is_empty() {
        below.push(busy(app));
    }
    below.extend(tasks(app));
    let over = below.len().saturating_sub(room);
    below.drain(..over);
    let above = room.saturating_sub(below.len());
    let mut lines: Vec<Line> = app.answer.lines().rev().take(above).cloned().collect();
    lines.reverse();
    lines.extend(below);
    lines
}

fn busy(app: &App) -> Line {
    let word = match (app.thought.is_empty(), app.answer.is_empty()) {
        (false, _) => "thinking",
        (_, true) => "asking",
        _ => "writing",
    };
    let time = elapsed(app.now.saturating_sub(app.began));
    let mut line = Line::of(format!("{} {word} ({time})", sign(app.now)), Role::Busy);
    if !app.thought.is_empty() {
        let words = text::one_line(&app.thought);
        let room = app.width.saturating_sub(line.width() + 4);
        let from = words.char_indices().rev().nth(room.max(1)).map_or(0, |(at, _)| at);
        line.push(format!("  …{}", words.get(from..).unwrap_or_default()), Role::Quiet);
    }
    line.cut(app.width)
}

/// A call, the last lines of what it prints, and the sessions it started.
fn under_way(app: &App, running: &Running) -> Vec<Line> {
    let time = elapsed(app.now.saturating_sub(running.since));
    let line = Line::of(format!("{} ", sign(app.now)), Role::Busy)
        .and(tool::title(&running.call, &app.about.folder), Role::Plain)
        .and(format!("  {time}"), Role::Quiet);
    let mut lines = vec![line.cut(app.width)];
    let tail = running.tail.iter().map(|line| format!("  │ {line}"));
    lines.extend(tail.map(|line| Line::of(line, Role::Quiet).cut(app.width)));
    let last = running.children.len().saturating_sub(1);
    for (number, child) in running.children.iter().enumerate() {
        lines.push(branch(child, number == last).cut(app.width));
    }
    lines
}

fn branch(child: &Child, is_last: bool) -> Line {
    let turn = if is_last { "└" } else { "├" };
    let role = if child.is_over { Role::Quiet } else { Role::Plain };
    let indent = "  ".repeat(child.depth + 1);
    let calls =
        if child.calls == 1 { "1 call".to_owned() } else { format!("{} calls", child.calls) };
    Line::of(format!("{indent}{turn} {}: ", child.agent), Role::Quiet)
        .and(child.doing.clone(), role)
        .and(format!(" · {calls}"), Role::Quiet)
}

/// The task list, while there is something left to do.
fn tasks(app: &App) -> Vec<Line> {
    let is_open = |line: &&str| line.contains("[ ]") || line.contains("[~]");
    if app.hides_tasks || !app.tasks.lines().any(|line| is_open(&line)) {
        return Vec::new();
    }
    let all: Vec<&str> = app.tasks.lines().filter(|line| line.contains('[')).collect();
    let first = all.iter().position(is_open).unwrap_or(0).saturating_sub(1);
    let mut lines: Vec<Line> = all
        .iter()
        .skip(first)
        .take(TASKS_MAX)
        .map(|line| {
            let line = text::one_line(line);
            let role = match () {
                () if line.contains("[~]") => Role::Strong,
                () if line.contains("[x]") => Role::Quiet,
                () => Role::Plain,
            };
            let line = line.replacen("[x]", "✔", 1).replacen("[~]", "▸", 1).replacen("[ ]", "☐", 1);
            Line::of(format!("  {line}"), role).cut(app.width)
        })
        .collect();
    let more = all.len().saturating_sub(first + TASKS_MAX);
    if more > 0 {
        lines.push(Line::of(format!("  … {more} more"), Role::Quiet));
    }
    lines
}

/// What waits to be said.
fn queued(app: &App) -> Vec<Line> {
    let words = |said: &String| format!("  waits for the next step: {}", text::one_line(said));
    let mut lines: Vec<Line> =
        app.queued.iter().map(|said| Line::of(words(said), Role::Quiet).cut(app.width)).collect();
    let over = lines.len().saturating_sub(QUEUED_MAX);
    lines.drain(..over);
    if !lines.is_empty() && app.composer.is_empty() {
        lines.push(Line::of("  ↑ takes the last one back", Role::Quiet).cut(app.width));
    }
    lines
}

fn suggested(app: &App) -> Vec<Line> {
    let suggestions = app.suggestions();
    let chosen = app.chosen.min(suggestions.len().saturating_sub(1));
    let widest = suggestions.iter().map(|one| one.label.chars().count()).max().unwrap_or(0).min(28);
    let line = |(number, one): (usize, &crate::app::Suggestion)| {
        let role = if number == chosen { Role::Chosen } else { Role::Code };
        Line::of(format!("  {:widest$}  ", text::one_line(&one.label)), role)
            .and(text::one_line(&one.about), Role::Quiet)
            .cut(app.width)
    };
    suggestions.iter().enumerate().map(line).collect()
}

pub(crate) fn elapsed(time: Duration) -> String {
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

const LIST_MAX: usize = 16;
const LINEAR_MAX: usize = 200;
const TASKS_MAX: usize = 6;
const QUEUED_MAX: usize = 4;
