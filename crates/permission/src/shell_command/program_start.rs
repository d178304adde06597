//! The offset at which the program of a part starts; what precedes it is handled by the shell.

use super::parsed_script::SimpleCommand;
use super::shell_builtin::is_builtin;
use super::shell_variable::is_assignment;
use super::shell_word::ShellWord;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramStart {
    /// It is a builtin.
    InShell,
    /// At this byte offset of the line.
    At(usize),
    /// It is not in the line in the form in which it runs.
    Unknown,
}

pub(crate) fn find_program_start(part: &SimpleCommand) -> ProgramStart {
    if part.is_function || part.words.is_empty() {
        return ProgramStart::InShell;
    }
    let certain = |at: usize| part.words.get(at).and_then(ShellWord::as_certain);
    let mut at = 0;
    while let Some(text) = certain(at) {
        let next = certain(at + 1).unwrap_or_default();
        at += match text {
            "time" if next == "-p" => 2,
            "time" => 1,
            "command" if !next.starts_with('-') => 1,
            text if is_assignment(text) => 1,
            text if is_builtin(text) => return ProgramStart::InShell,
            _ => {
                return part
                    .word_starts
                    .get(at)
                    .copied()
                    .map_or(ProgramStart::Unknown, ProgramStart::At);
            }
        };
    }
    ProgramStart::Unknown
}
