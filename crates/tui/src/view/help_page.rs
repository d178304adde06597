//! The pages that explain the terminal: all commands and keys, and the keys alone.

use crate::slash_command_menu::SlashCommandHint;
use crate::styled_line::{StyledLine, TextStyle};
use crate::words;

/// Commands by group, each explained, then keys.
pub fn render_help(commands: &[SlashCommandHint], width: usize) -> Vec<StyledLine> {
    let mut lines = vec![StyledLine::from_text(words::HELP_HEAD, TextStyle::Bold)];
    let mut rest: Vec<&SlashCommandHint> = commands.iter().collect();
    for (title, names) in words::HELP_GROUPS {
        let is_member = |hint: &&SlashCommandHint| names.contains(&hint.name.as_str());
        let (mut members, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_member);
        rest = others;
        members.sort_by_key(|hint| names.iter().position(|name| *name == hint.name));
        push_group(&mut lines, title, &members, width);
    }
    push_group(&mut lines, words::HELP_CUSTOM, &rest, width);
    lines.push(StyledLine::new());
    lines.push(StyledLine::from_text(words::HELP_KEYS, TextStyle::Heading));
    lines.extend(render_keys(width));
    lines
}

/// Keys in two columns where there is room.
pub fn render_keys(width: usize) -> Vec<StyledLine> {
    let key_width = words::KEYS.iter().map(|(keys, _)| cells(keys)).max().unwrap_or(0);
    let cell = |(keys, meaning): &(&str, &str)| {
        let blanks = " ".repeat(key_width - cells(keys).min(key_width));
        StyledLine::from_text(format!("  {keys}{blanks}  "), TextStyle::Code)
            .with_span(*meaning, TextStyle::Plain)
    };
    let widest = words::KEYS.iter().map(|row| cell(row).width()).max().unwrap_or(0);
    if width < 2 * widest + 2 {
        let rows = words::KEYS.iter().map(cell);
        return rows.flat_map(|row| row.wrap(width, key_width + 4)).collect();
    }
    let half = words::KEYS.len().div_ceil(2);
    let (left, right) = words::KEYS.split_at(half);
    left.iter()
        .enumerate()
        .map(|(at, row)| {
            let mut line = cell(row);
            if let Some(other) = right.get(at) {
                let blanks = " ".repeat((widest + 2).saturating_sub(line.width()));
                line.push(blanks, TextStyle::Plain);
                for span in cell(other).spans {
                    line.push(span.text, span.style);
                }
            }
            line
        })
        .collect()
}

fn push_group(
    lines: &mut Vec<StyledLine>,
    title: &str,
    members: &[&SlashCommandHint],
    width: usize,
) {
    if members.is_empty() {
        return;
    }
    lines.push(StyledLine::new());
    lines.extend(StyledLine::from_text(title, TextStyle::Heading).wrap(width, 0));
    // Narrow screens have no room for a column of names.
    let column = if width < NARROW_WIDTH { 4 } else { DESCRIPTION_COLUMN };
    for hint in members {
        let name = format!("  /{} {}", hint.name, hint.arguments).trim_end().to_owned();
        let line = StyledLine::from_text(name, TextStyle::Code);
        let gap = column.saturating_sub(line.width());
        if gap >= 2 {
            let line = line
                .with_span(" ".repeat(gap), TextStyle::Plain)
                .with_span(hint.description.as_str(), TextStyle::Plain);
            lines.extend(line.wrap(width, column));
        } else {
            lines.extend(line.wrap(width, 4));
            let description = " ".repeat(column) + &hint.description;
            lines.extend(StyledLine::from_text(description, TextStyle::Plain).wrap(width, column));
        }
    }
}

fn cells(text: &str) -> usize {
    StyledLine::from_text(text, TextStyle::Plain).width()
}

const NARROW_WIDTH: usize = 60;
const DESCRIPTION_COLUMN: usize = 26;

#[cfg(test)]
mod tests {
    use windlass_assembly::slash_command::SLASH_COMMANDS;

    use super::*;

    #[test]
    fn every_command_is_explained_at_every_width() {
        let hint = |name: &str, description: &str| SlashCommandHint {
            name: name.to_owned(),
            arguments: "[NAME]".to_owned(),
            description: description.to_owned(),
        };
        let mine = "do what I always do before I push to the shared branch of this project";
        let hints = [hint("help", "all commands and keys"), hint("mine", mine)];
        for width in [20, 40, 80, 200] {
            let lines = render_help(&hints, width);
            assert!(lines.iter().all(|line| line.width() <= width), "{width}: {lines:?}");
            let text: Vec<String> = lines.iter().map(StyledLine::plain_text).collect();
            let text = text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(mine) && text.contains("Shift-Tab"), "{width}: {text}");
        }
    }

    #[test]
    fn every_command_of_ours_stands_in_a_group() {
        let grouped: Vec<&str> =
            words::HELP_GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for command in SLASH_COMMANDS {
            assert!(grouped.contains(&command.name), "/{} would stand below others'", command.name);
        }
        assert_eq!(grouped.len(), SLASH_COMMANDS.len());
    }
}
