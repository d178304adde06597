//! `/help` on one screen: keys, then commands.

use crate::SlashCommandHint;

use windlass_host::display::tool_call_summary::truncate_with_ellipsis;

/// One text for eighty columns, and one for narrow terminals.
pub(super) fn render_help(hints: &[SlashCommandHint]) -> [String; 2] {
    [render_wide(hints), render_narrow(hints)]
}

/// Commands by name only.
fn render_narrow(hints: &[SlashCommandHint]) -> String {
    let mut rows: Vec<String> = NARROW_KEYS.iter().map(|line| (*line).to_owned()).collect();
    let mut row = String::new();
    for hint in hints {
        if row.len() + hint.name.len() + 3 > NARROW_MAX {
            rows.push(std::mem::take(&mut row));
        }
        row.push_str(&format!("  /{}", hint.name));
    }
    rows.push(row);
    if rows.len() > LINES_MAX {
        rows.truncate(LINES_MAX - 1);
        rows.push("  … and more: type / and letters".to_owned());
    }
    rows.join("\n")
}

/// Commands with descriptions as far as `LINES_MAX` allows, the rest by name.
fn render_wide(hints: &[SlashCommandHint]) -> String {
    let mut lines: Vec<String> = WIDE_KEYS.iter().map(|line| (*line).to_owned()).collect();
    let room = LINES_MAX - lines.len();
    let title = |hint: &SlashCommandHint| {
        format!("/{} {}", hint.name, hint.arguments).trim_end().to_owned()
    };
    let listed = if hints.len() <= room { hints.len() } else { room - ROWS_OF_NAMES };
    for hint in hints.iter().take(listed) {
        lines.push(truncate_with_ellipsis(
            &format!("  {:21} {}", title(hint), hint.description),
            ROW_MAX,
        ));
    }
    let names: Vec<String> =
        hints.iter().skip(listed).map(|hint| format!("/{}", hint.name)).collect();
    let mut row = String::new();
    let mut rows = Vec::new();
    for name in names {
        if row.len() + name.len() > ROW_MAX {
            rows.push(std::mem::take(&mut row));
        }
        row.push_str(&format!("  {name}"));
    }
    rows.push(row);
    rows.retain(|row| !row.is_empty());
    if rows.len() > ROWS_OF_NAMES {
        rows.truncate(ROWS_OF_NAMES - 1);
        rows.push("  … and more: type / and letters".to_owned());
    }
    lines.extend(rows);
    lines.join("\n")
}

const WIDE_KEYS: &[&str] = &[
    "Enter sends · Ctrl-J another line · Esc stops it · Esc Esc goes back",
    "@ a file · / a command · ! a shell command · ↑ and Ctrl-R what was said",
    "Shift-Tab mode · Ctrl-O unfolds · Ctrl-T tasks · Ctrl-G editor · Ctrl-D ends",
    "",
];
const NARROW_KEYS: &[&str] = &[
    "Enter sends · Ctrl-J another line",
    "Esc stops it · Esc Esc goes back",
    "@ a file · / a command · ! the shell",
    "↑ and Ctrl-R what was said",
    "Shift-Tab mode · Ctrl-O unfolds",
    "Ctrl-T tasks · Ctrl-G editor",
    "Ctrl-D ends",
    "",
];
const NARROW_MAX: usize = 38;
/// Fits a terminal of 24 lines, with the composer and the status line.
const LINES_MAX: usize = 20;
const ROWS_OF_NAMES: usize = 3;
const ROW_MAX: usize = 76;
