//! The entry for one confined program of a command line: reads its plan, drops its rights, and
//! executes the program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::held_program_plan::HeldProgramPlan;
use crate::linux::cell::Cell;

/// The shell's exit codes for a program that is missing, and one that cannot be executed.
const EXIT_NOT_FOUND: i32 = 127;
const EXIT_NOT_STARTED: i32 = 126;

pub(super) fn run_held_program(arguments: &[OsString]) -> Result<i32, String> {
    let (plan, program, rest) = HeldProgramPlan::read(arguments)?;
    let cell = Cell::probe().map_err(|missing| missing.to_string())?;
    let prepared = cell.prepare(&plan.cell).map_err(|refused| refused.to_string())?;
    prepared.restrict_thread()?;
    let mut command = Command::new(program);
    command.args(rest).envs(plan.set);
    plan.unset.iter().for_each(|name| {
        command.env_remove(name);
    });
    let error = command.exec();
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            eprintln!("bash: {}: command not found", program.display());
            Ok(EXIT_NOT_FOUND)
        }
        _ => {
            eprintln!("bash: {}: {error}", program.display());
            Ok(EXIT_NOT_STARTED)
        }
    }
}
