//! Programs that only read: the list of what may run without a question, with and without a cell.
//!
//! Every accepted option is listed; all others ask. Options are deliberately excluded that write,
//! start a program, or read names of further files (`--files0-from`, `sort -o`, `diff -l`, `file
//! -z`, `rg --pre`, `date -f`). `find`, `git`, `sed`, `awk`, `jq`, `tar`, `unzip`, `xxd`, `ps` and
//! shell builtins have analyses of their own.

use super::option_spec::{NO_OPTION, OptionSpec};
use super::reading_search::SEARCH_PROGRAMS;
use super::reading_system::SYSTEM_PROGRAMS;
use super::reading_text::TEXT_PROGRAMS;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOnlyProgram {
    pub(crate) program: &'static str,
    pub(crate) operands: ReadOnlyOperands,
    pub(crate) options: OptionSpec,
    /// The worst effect that any option could have.
    pub(crate) worst_option: WorstOption,
    /// Options with the pattern as value, or that make it unnecessary.
    pub(crate) pattern_options: &'static [&'static str],
    /// Options that make it show the contents of directories; a star means it always does.
    pub(crate) walking_options: &'static [&'static str],
    pub(crate) cell: CellNeed,
}

/// Whether a command may run without a question if there is no cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellNeed {
    /// Yes: all of its arguments are understood.
    NotNeeded,
    /// No: it must run in a cell.
    Needed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorstOption {
    /// The program only reads, for any arguments.
    Reads,
    /// Some option writes or runs something.
    Acts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadOnlyOperands {
    Text,
    /// Text, with no options after the first operand.
    TextOnly,
    Files,
    /// One file; a second one would be written.
    OneFile,
    /// A pattern, then files, unless an option has the pattern.
    PatternThenFiles,
    /// A format after a plus sign; anything else would set the clock.
    Format,
    /// None are accepted.
    None,
}

pub(super) const READER: ReadOnlyProgram = ReadOnlyProgram {
    program: "",
    operands: ReadOnlyOperands::Files,
    options: NO_OPTION,
    worst_option: WorstOption::Reads,
    pattern_options: &[],
    walking_options: &[],
    cell: CellNeed::NotNeeded,
};

pub(super) const fn reads_files(
    program: &'static str,
    short: &'static str,
    long: &'static [&'static str],
) -> ReadOnlyProgram {
    ReadOnlyProgram { program, options: OptionSpec { short, long }, ..READER }
}

pub(super) const fn takes_text(
    program: &'static str,
    short: &'static str,
    long: &'static [&'static str],
) -> ReadOnlyProgram {
    ReadOnlyProgram { operands: ReadOnlyOperands::Text, ..reads_files(program, short, long) }
}

/// A program whose arguments are text and whose options are all harmless.
pub(super) const fn takes_any_text(program: &'static str) -> ReadOnlyProgram {
    ReadOnlyProgram { program, operands: ReadOnlyOperands::TextOnly, ..READER }
}

pub(super) const fn in_cell(reader: ReadOnlyProgram) -> ReadOnlyProgram {
    ReadOnlyProgram { cell: CellNeed::Needed, ..reader }
}

pub(super) const fn may_act(reader: ReadOnlyProgram) -> ReadOnlyProgram {
    ReadOnlyProgram { worst_option: WorstOption::Acts, ..reader }
}

pub(crate) fn find_read_only_program(program: &str) -> Option<&'static ReadOnlyProgram> {
    let lists = [TEXT_PROGRAMS, SYSTEM_PROGRAMS, SEARCH_PROGRAMS];
    lists.into_iter().flatten().find(|reader| reader.program == program)
}
