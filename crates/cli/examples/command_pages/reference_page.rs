//! `docs/commands.md`: every command and every flag, from the definition of the command line.

use clap::{Arg, Command};

/// Opens the page.
const HEADER: &str = "\
# Commands

Every command and flag, made from the definition of the command line; a test compares them. After a change:
`cargo run -p windlass --example command_pages -- --page docs/commands.md`.
`windlass help COMMAND` says the same with examples.
";

pub(crate) fn render_reference(root: &Command) -> String {
    let mut page = HEADER.to_owned();
    add_command(&mut page, "windlass", root);
    page
}

fn add_command(page: &mut String, name: &str, command: &Command) {
    page.push_str(&format!("\n## {name}\n\n"));
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    page.push_str(&format!("{}\n", to_cell(&about)));
    let shown: Vec<&Arg> = command
        .get_arguments()
        .filter(|one| !one.is_hide_set() && one.get_id() != "help")
        .collect();
    if !shown.is_empty() {
        page.push_str("\n| | |\n|---|---|\n");
    }
    for one in shown {
        let text = one.get_help().map(ToString::to_string).unwrap_or_default();
        page.push_str(&format!("| `{}` | {} |\n", describe(one), to_cell(&text)));
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

/// One line, with nothing that would end the cell.
fn to_cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;")
}
