//! A page with every command and every flag, from the definition of a command line. Pages of two programs are made by
//! it: `docs/commands.md` and `docs/fleet_commands.md`.

use clap::{Arg, Command};

/// The page below its header. People call both programs `windlass`.
pub(crate) fn render_reference(header: &str, root: &Command) -> String {
    let mut page = header.to_owned();
    add_command(&mut page, "windlass", root);
    page
}

fn add_command(page: &mut String, name: &str, command: &Command) {
    page.push_str(&format!("\n## {name}\n\n"));
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    page.push_str(&format!("{}\n", to_cell(&about)));
    // Flags that only programs use are not in the help, but they are here.
    let shown: Vec<&Arg> = command
        .get_arguments()
        .filter(|one| !one.is_hide_set() || one.get_long().is_some())
        .filter(|one| one.get_id() != "help")
        .collect();
    if !shown.is_empty() {
        page.push_str("\n| | |\n|---|---|\n");
    }
    for one in shown {
        let hint = if one.is_hide_set() { " [not in the help]" } else { "" };
        let text = one.get_help().map(ToString::to_string).unwrap_or_default();
        let text = text + &list_values(one) + hint;
        // A bar ends the cell, also between backticks.
        let flag = describe(one).replace('|', "\\|");
        page.push_str(&format!("| `{flag}` | {} |\n", to_cell(&text)));
    }
    let is_shown = |one: &&Command| !one.is_hide_set() && one.get_name() != "help";
    for one in command.get_subcommands().filter(is_shown) {
        add_command(page, &format!("{name} {}", one.get_name()), one);
    }
}

/// The flag with its short form and its value.
fn describe(one: &Arg) -> String {
    let short = one.get_short().map(|letter| format!("-{letter}, ")).unwrap_or_default();
    let values = one.get_value_names().unwrap_or_default();
    let takes_value = one.get_action().takes_values();
    let value = match takes_value {
        true => values.iter().map(|name| format!(" {name}")).collect(),
        false => String::new(),
    };
    match one.get_long() {
        Some(long) => format!("{short}--{long}{value}"),
        None => value.trim().to_owned(),
    }
}

/// The values it takes, where it takes only some.
fn list_values(one: &Arg) -> String {
    let values = one.get_possible_values();
    let names: Vec<&str> =
        values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
    if names.is_empty() || !one.get_action().takes_values() || one.is_hide_possible_values_set() {
        return String::new();
    }
    format!(" [values: {}]", names.join(", "))
}

/// One line, with nothing that would end the cell.
fn to_cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;")
}
