//! Writes pages from the definition of the command line: manual pages into a folder, for `cargo xtask dist`,
//! or with `--page FILE` the reference in `docs/`. The program that is shipped does not carry the writers.
#![allow(dead_code, reason = "only the definition is used, not what is done with it")]
#![allow(unused_imports, reason = "the same")]

#[path = "../../src/args/mod.rs"]
mod args;
mod reference_page;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

/// Opens the reference.
const HEADER: &str = "\
# Commands

Every command and flag of `windlass`, generated from the definition of the command line; a test compares them. After a
change: `cargo run -p windlass --example command_pages -- --page docs/commands.md`.
`windlass help COMMAND` has the same text with examples. The flags of the fleet's commands (`serve`, `worker`, `store`,
`submit` and so on) are in [fleet_commands.md](fleet_commands.md).
";
const USAGE: &str = "usage: command_pages FOLDER, or command_pages --page FILE";

fn main() -> ExitCode {
    let words: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let mut command = args::CliArgs::command();
    command.build();
    let written = match words.as_slice() {
        [folder] => write_pages(folder, "windlass", &command),
        [flag, file] if flag == Path::new("--page") => {
            std::fs::write(file, reference_page::render_reference(HEADER, &command))
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the pages cannot be written: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_pages(folder: &Path, name: &str, command: &Command) -> std::io::Result<()> {
    let mut page = Vec::new();
    Man::new(command.clone())
        .title(name.to_uppercase())
        .date(page_date())
        .source(concat!("windlass ", env!("CARGO_PKG_VERSION")))
        .manual("Windlass")
        .render(&mut page)?;
    std::fs::write(folder.join(format!("{name}.1")), page)?;
    let shown = |one: &&Command| !one.is_hide_set() && one.get_name() != "help";
    for one in command.get_subcommands().filter(shown) {
        write_pages(folder, &format!("{name}-{}", one.get_name()), one)?;
    }
    Ok(())
}

/// The day of `SOURCE_DATE_EPOCH`, so that the same source gives the same pages.
fn page_date() -> String {
    let seconds = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let days: i64 = seconds.unwrap_or(0_i64) / 86_400;
    // Counted in eras of 400 years that begin on the first of March.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_in_docs_is_what_the_definition_says() {
        let mut command = args::CliArgs::command();
        command.build();
        let written = include_str!("../../../../docs/commands.md");
        let rendered = reference_page::render_reference(HEADER, &command);
        assert!(
            written == rendered,
            "docs/commands.md is old; its second paragraph says how to write it"
        );
    }
}
