//! Tables about programs: options that run or write something else, and programs that only read.

mod file_changing_program;
mod git_options;
mod git_reading;
mod option_spec;
mod read_only_program;
mod reading_search;
mod reading_system;
mod reading_text;
mod risky_options;
mod tool_options;

pub(super) use file_changing_program::{
    FILE_CHANGING_PROGRAMS, FileChangingProgram, OperandLayout, OptionValueUse,
};
pub(super) use git_reading::{GIT_LIST_OPTIONS, GIT_READINGS, GitOperands, GitReading};
pub(super) use option_spec::{DividedWords, OptionSpec};
pub(crate) use read_only_program::CellNeed;
pub(super) use read_only_program::{
    ReadOnlyOperands, ReadOnlyProgram, WorstOption, find_read_only_program,
};
pub(super) use risky_options::{RISKY_OPTION_LISTS, RiskyOptions, TEXT_VALUE_OPTIONS};
