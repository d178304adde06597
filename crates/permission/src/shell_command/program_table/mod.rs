//! What is known of programs, as lists: options that run or write something else, and programs that
//! only read.

mod file_changing_program;
mod git_options;
mod read_only_program;
mod risky_options;
mod tool_options;

pub(super) use file_changing_program::{
    FILE_CHANGING_PROGRAMS, FileChangingProgram, OperandLayout, OptionValueUse,
};
pub(super) use read_only_program::{READ_ONLY_PROGRAMS, ReadOnlyOperands, ReadOnlyProgram};
pub(super) use risky_options::{RISKY_OPTION_LISTS, RiskyOptions, TEXT_VALUE_OPTIONS};
