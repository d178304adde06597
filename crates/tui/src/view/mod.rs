//! The live lines, rendered from the state. Pure.

mod composer_frame;
mod composer_view;
pub mod context_chart;
pub mod help_page;
mod status_line;

use std::time::Duration;

use unicode_width::UnicodeWidthStr;
use windlass_host::display::human_format::format_counted;

use crate::app::{App, RunningCall, SubagentProgress, TaskMark, WaitingCall};
use crate::painter::Cursor;
use crate::styled_line::{StyledLine, TextStyle};
use crate::{text, tool_call_view, words};

pub fn render_live(app: &App) -> (Vec<StyledLine>, Cursor) {
    let rows = app.size.rows;
    let mut below = Vec::new();
    let mut cursor = Cursor::default();
    if let Some((_, picker)) = &app.dialogs.picker {
        below.extend(picker.render(app.size.width, rows.saturating_sub(2).min(LIST_MAX)));
        cursor.row = below.len().saturating_sub(2);
    } else if let Some(input) = &app.dialogs.validated_input {
        below.extend(input.render(app.size.width, rows.saturating_sub(2).min(LIST_MAX)));
        cursor.row = below.len().saturating_sub(1);
    } else {
        if let Some(prompt) = app.dialogs.permission_prompts.front() {
            let room = rows.saturating_sub(4);
            below.extend(prompt.render(app.size.width, room, app.may_answer_prompt()));
            cursor.row = below.len().saturating_sub(1);
            if app.dialogs.permission_prompts.len() > 1 {
                let more = app.dialogs.permission_prompts.len() - 1;
                let more = format!("  {}", words::describe_waiting_questions(more));
                below.push(
                    StyledLine::from_text(more, TextStyle::Dim).truncate_to_width(app.size.width),
                );
            }
        }
        if app.is_composing() {
            below.extend(render_queued_input(app));
            if app.dialogs.is_showing_keys {
                below.extend(help_page::render_keys(app.size.width));
            }
            let is_framed = rows >= composer_frame::FRAME_ROWS_MIN;
            below.extend(is_framed.then(|| composer_frame::render_upper_rule(app)));
            let (lines, at) = composer_view::render_composer(app, rows);
            cursor = Cursor { row: below.len() + at.row, column: at.column };
            below.extend(lines);
            below.extend(is_framed.then(|| composer_frame::render_lower_rule(app)));
            below.extend(render_suggestions(app));
        }
    }
    below.extend(status_line::render_custom_status(app));
    below.push(status_line::render_status_line(app));
    let room = rows.saturating_sub(below.len() + 1);
    let mut lines = render_progress(app, room);
    // Open dialogs are separated from the text above; the composer has its line for that, unless text
    // ends right there.
    let needs_gap = app.needs_blank_line() && lines.is_empty();
    let is_dialog_below = has_open_dialog(app) && !lines.is_empty();
    lines.extend((needs_gap || is_dialog_below).then(StyledLine::new));
    cursor.row += lines.len();
    lines.extend(below);
    let over = lines.len().saturating_sub(rows.max(1));
    lines.drain(..over);
    cursor.row = cursor.row.saturating_sub(over);
    (lines, cursor)
}

/// For a terminal without live lines: the lines of the open dialog, and what is being typed.
pub fn render_linear(app: &App) -> (Vec<StyledLine>, String) {
    if let Some((_, picker)) = &app.dialogs.picker {
        return (picker.render(app.size.width, LIST_MAX), "? ".to_owned());
    }
    if let Some(input) = &app.dialogs.validated_input {
        return (input.render(app.size.width, LIST_MAX), "? ".to_owned());
    }
    match app.dialogs.permission_prompts.front().filter(|_| !app.is_composing()) {
        Some(prompt) => {
            (prompt.render(app.size.width, LINEAR_MAX, app.may_answer_prompt()), "? ".to_owned())
        }
        None => {
            let keys = match app.dialogs.is_showing_keys {
                true => help_page::render_keys(app.size.width),
                false => Vec::new(),
            };
            let text = app.input.composer.text();
            let last = text.rsplit('\n').next().unwrap_or_default();
            // What comes next is read aloud without a sign before each of its lines.
            let sign = if app.run.is_busy() && text.is_empty() { "" } else { "> " };
            (keys, format!("{sign}{}", windlass_permission::sanitize::escape_invisible(last)))
        }
    }
}

/// Is there a list, an input or a question instead of the composer?
fn has_open_dialog(app: &App) -> bool {
    let dialogs = &app.dialogs;
    dialogs.picker.is_some()
        || dialogs.validated_input.is_some()
        || !dialogs.permission_prompts.is_empty()
}

/// The answer so far, calls under way, and the task list.
fn render_progress(app: &App, room: usize) -> Vec<StyledLine> {
    let mut below = render_calls(app);
    if app.run.retry.is_waiting {
        let line =
            StyledLine::from_text(format!("  {}", app.run.retry.waiting), TextStyle::Warning);
        below.extend(line.wrap(app.size.width, 2));
    } else if app.run.is_busy()
        && app.run.calls.is_empty()
        && app.dialogs.permission_prompts.is_empty()
    {
        below.push(render_busy_line(app));
    }
    let tasks = render_tasks(app);
    let mut texts =
        app.answer.waiting.text_lines().chain(app.answer.stream.lines()).rev().peekable();
    let has_text = texts.peek().is_some();
    if has_text && !below.is_empty() {
        // As it will look when both are finished.
        below.insert(0, StyledLine::new());
    }
    let stands_below = !below.is_empty() || app.needs_blank_line() || has_text;
    below.extend((stands_below && !tasks.is_empty()).then(StyledLine::new));
    below.extend(tasks);
    let over = below.len().saturating_sub(room);
    below.drain(..over);
    let above = room.saturating_sub(below.len());
    let mut lines: Vec<StyledLine> = texts.take(above).cloned().collect();
    lines.reverse();
    let needs_gap = match lines.is_empty() {
        false => app.needs_blank_line(),
        true => app.needs_blank_line_before_call() && !below.is_empty(),
    };
    if needs_gap && lines.len() < above {
        lines.insert(0, StyledLine::new());
    }
    lines.extend(below);
    lines
}

/// Calls under way, and those that have ended and wait for one of them.
fn render_calls(app: &App) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    let mut others: Vec<&RunningCall> = app.run.calls.iter().collect();
    for call in app.answer.waiting.calls() {
        match call {
            WaitingCall::Ended(title) => lines.push(title.clone()),
            WaitingCall::Open(id) => {
                let of_call = others.extract_if(.., |running| running.call.id == *id);
                lines.extend(of_call.flat_map(|running| render_running_call(app, running)));
            }
        }
    }
    lines.extend(others.into_iter().flat_map(|running| render_running_call(app, running)));
    lines
}

fn render_busy_line(app: &App) -> StyledLine {
    let word = match (app.answer.thinking_tail.is_empty(), app.answer.stream.is_empty()) {
        (false, _) => words::BUSY_THINKING,
        (true, true) => words::BUSY_ASKING,
        (true, false) => words::BUSY_WRITING,
    };
    let time = words::format_elapsed(app.run.elapsed(app.now));
    let mut line = StyledLine::from_text(
        format!("{} {word} ({time})", spinner_frame(app.now)),
        TextStyle::Busy,
    );
    if !app.answer.thinking_tail.is_empty() {
        let words = text::to_one_line(&app.answer.thinking_tail);
        let room = app.size.width.saturating_sub(line.width() + 4);
        let from = words.char_indices().rev().nth(room.max(1)).map_or(0, |(at, _)| at);
        line.push(format!("  …{}", words.get(from..).unwrap_or_default()), TextStyle::Dim);
    }
    line.truncate_to_width(app.size.width)
}

/// A call, the last lines of its output, and its subagents.
fn render_running_call(app: &App, running: &RunningCall) -> Vec<StyledLine> {
    let time = words::format_elapsed(app.now.saturating_sub(running.started));
    let line = StyledLine::from_text(format!("{} ", spinner_frame(app.now)), TextStyle::Busy)
        .with_span(
            tool_call_view::format_title(&running.call, &app.session.facts.working_directory),
            TextStyle::Plain,
        )
        .with_span(format!("  {time}"), TextStyle::Dim);
    let mut lines = vec![line.truncate_to_width(app.size.width)];
    let tail = running.output_tail.iter().map(|line| format!("  │ {line}"));
    lines.extend(
        tail.map(|line| {
            StyledLine::from_text(line, TextStyle::Dim).truncate_to_width(app.size.width)
        }),
    );
    let last = running.subagents.len().saturating_sub(1);
    for (number, child) in running.subagents.iter().enumerate() {
        lines.push(render_subagent(child, number == last).truncate_to_width(app.size.width));
    }
    lines
}

fn render_subagent(child: &SubagentProgress, is_last: bool) -> StyledLine {
    let branch = if is_last { "└" } else { "├" };
    let style = if child.is_over { TextStyle::Dim } else { TextStyle::Plain };
    let indent = "  ".repeat(child.depth + 1);
    let calls = format_counted(child.calls, "call");
    StyledLine::from_text(format!("{indent}{branch} {}: ", child.agent), TextStyle::Dim)
        .with_span(child.activity.clone(), style)
        .with_span(format!(" · {calls}"), TextStyle::Dim)
}

/// The task list, while a task is open.
fn render_tasks(app: &App) -> Vec<StyledLine> {
    let rows = &app.tasks.rows;
    let first_open = rows.iter().position(|row| row.mark.is_open());
    let is_wanted = !app.tasks.is_hidden && !app.is_task_list_above();
    let Some(first_open) = first_open.filter(|_| is_wanted) else { return Vec::new() };
    let first = first_open.saturating_sub(1);
    let shown = rows.iter().skip(first).take(TASKS_MAX).map(|row| {
        let (sign, style) = match row.mark {
            TaskMark::Pending => ("☐", TextStyle::Plain),
            TaskMark::InProgress => ("▸", TextStyle::Bold),
            TaskMark::Completed => ("✔", TextStyle::Dim),
        };
        StyledLine::from_text(format!("  {sign} {}", row.text), style)
            .truncate_to_width(app.size.width)
    });
    let mut lines: Vec<StyledLine> = shown.collect();
    let more = rows.len().saturating_sub(first + TASKS_MAX);
    if more > 0 {
        lines.push(StyledLine::from_text(format!("  … {more} more"), TextStyle::Dim));
    }
    lines
}

fn render_queued_input(app: &App) -> Vec<StyledLine> {
    let mut lines: Vec<StyledLine> = app
        .input
        .queued_input
        .iter()
        .map(|prompt| {
            let shown = words::describe_queued(&text::join_lines(&prompt.typed.shown));
            StyledLine::from_text(format!("  {shown}"), TextStyle::Dim)
                .truncate_to_width(app.size.width)
        })
        .collect();
    let over = lines.len().saturating_sub(QUEUED_MAX);
    lines.drain(..over);
    if !lines.is_empty() && app.input.composer.is_empty() {
        lines.push(
            StyledLine::from_text(format!("  {}", words::QUEUED_HINT), TextStyle::Dim)
                .truncate_to_width(app.size.width),
        );
    }
    lines
}

fn render_suggestions(app: &App) -> Vec<StyledLine> {
    let suggestions = app.find_suggestions();
    let selected = app.completion.selected.min(suggestions.len().saturating_sub(1));
    let labels = suggestions.iter().map(|one| text::to_one_line(&one.label));
    let widest = labels.map(|label| label.width()).max().unwrap_or(0);
    let has_notes = suggestions.iter().any(|one| !one.description.is_empty());
    // Arguments give way to what a command does, and never the name of the command.
    let room = if has_notes { (app.size.width * 2 / 5).min(LABEL_MAX) } else { widest };
    let lines = suggestions.iter().enumerate().map(|(number, one)| {
        let style = if number == selected { TextStyle::Selected } else { TextStyle::Code };
        let label = text::to_one_line(&one.label);
        let name = label.split(' ').next().map_or(0, UnicodeWidthStr::width);
        let label = StyledLine::from_text(label, style).truncate_to_width(room.max(name + 1));
        let gap = " ".repeat(widest.min(room).saturating_sub(label.width()) + 2);
        let line = StyledLine::from_text(format!("  {}", label.plain_text()), style);
        line.with_span(format!("{gap}{}", text::to_one_line(&one.description)), TextStyle::Dim)
            .truncate_to_width(app.size.width)
    });
    lines.collect()
}

fn spinner_frame(now: Duration) -> char {
    const SPINNER_FRAMES: [char; 4] = ['◐', '◓', '◑', '◒'];
    let at = usize::try_from(now.as_millis() / 250).unwrap_or(0) % SPINNER_FRAMES.len();
    SPINNER_FRAMES.get(at).copied().unwrap_or('●')
}

/// Of a command with its arguments, beside what it does.
const LABEL_MAX: usize = 34;
const LIST_MAX: usize = 16;
const LINEAR_MAX: usize = 200;
const TASKS_MAX: usize = 6;
const QUEUED_MAX: usize = 4;
