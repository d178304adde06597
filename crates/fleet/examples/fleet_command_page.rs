//! Writes `docs/fleet_commands.md`: every command and flag of `windlass-fleet`, from the definition of its command line.
#![allow(dead_code, reason = "only the definition is used, not what is done with it")]

#[path = "../src/args.rs"]
mod args;
#[path = "../../cli/examples/command_pages/reference_page.rs"]
mod reference_page;

use std::process::ExitCode;

use clap::CommandFactory as _;

const HEADER: &str = "\
# Commands of a fleet

Every command and flag of `windlass-fleet`, which `windlass` starts for them; generated from the definition of its
command line, and a test compares them. After a change:
`cargo run -p windlass-fleet --example fleet_command_page -- docs/fleet_commands.md`.
[fleet.md](fleet.md) explains how to use them.
";

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("usage: fleet_command_page FILE");
        return ExitCode::from(2);
    };
    match std::fs::write(file, render_page()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the page cannot be written: {error}");
            ExitCode::FAILURE
        }
    }
}

fn render_page() -> String {
    let mut command = args::FleetArgs::command();
    command.build();
    reference_page::render_reference(HEADER, &command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_in_docs_is_what_the_definition_says() {
        let written = include_str!("../../../docs/fleet_commands.md");
        assert!(written == render_page(), "docs/fleet_commands.md is old; it says how to write it");
    }
}
