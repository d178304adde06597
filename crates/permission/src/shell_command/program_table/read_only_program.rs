//! Programs that only read: the one list of what may run without a question, with and without a
//! cell around it.
//!
//! Every option that is taken is listed; all others ask. Left out on purpose are options that write,
//! start a program, or read names of further files from somewhere (`--files0-from`, `sort -o`,
//! `diff -l`, `file -z`, `rg --pre`, `date -f`). `find`, `git`, `sed`, `awk`, `jq`, `tar`, `unzip`,
//! `xxd`, `ps` and the builtins of the shell have readings of their own beside this list.

use super::option_spec::{NO_OPTION, OptionSpec};
use super::reading_search::SEARCH_PROGRAMS;
use super::reading_system::SYSTEM_PROGRAMS;
use super::reading_text::TEXT_PROGRAMS;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOnlyProgram {
    pub(crate) program: &'static str,
    pub(crate) operands: ReadOnlyOperands,
    pub(crate) options: OptionSpec,
    /// What any option at all could do.
    pub(crate) worst_option: WorstOption,
    /// Options whose value is the pattern, or that take away the need for one.
    pub(crate) pattern_options: &'static [&'static str],
    /// Options that make it show what lies below a directory; a star means it always does.
    pub(crate) walking_options: &'static [&'static str],
    pub(crate) cell: CellNeed,
}

/// Whether a command may run unasked where nothing holds it to its judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellNeed {
    /// Everything it can be told is understood.
    NotNeeded,
    /// It runs unasked in a cell only.
    Needed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorstOption {
    /// Whatever a word turns out to be, the program reads.
    Reads,
    /// Some option writes or runs something.
    Acts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadOnlyOperands {
    Text,
    /// Text, and behind the first of it nothing is an option.
    TextOnly,
    Files,
    /// One file; a second would be written.
    OneFile,
    /// A pattern, then files, unless an option brings the pattern.
    PatternThenFiles,
    /// A format behind a plus; anything else would set the clock.
    Format,
    /// Nothing at all.
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
    long: &'static [&'static [&'static str]],
) -> ReadOnlyProgram {
    ReadOnlyProgram { program, options: OptionSpec { short, long }, ..READER }
}

pub(super) const fn takes_text(
    program: &'static str,
    short: &'static str,
    long: &'static [&'static [&'static str]],
) -> ReadOnlyProgram {
    ReadOnlyProgram { operands: ReadOnlyOperands::Text, ..reads_files(program, short, long) }
}

/// A program of the shell's kind, whose words are text and whose options are all harmless.
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
