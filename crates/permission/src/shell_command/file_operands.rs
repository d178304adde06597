//! The files a command reads and writes, for programs whose options are all known.
//!
//! Returns `None` for an unknown word: any word may then be a file, and the caller must use the
//! wide sense.

use super::program_table::{
    FILE_CHANGING_PROGRAMS, FileChangingProgram, OperandLayout, OptionValueUse,
};
use super::sed_awk::{is_plain_sed, parse_sed_arguments};
use super::shell_word::ShellWord;
use super::wrapper::base_name;

#[derive(Debug, Default)]
pub(crate) struct FileOperands<'w> {
    pub(crate) reads: Vec<&'w ShellWord>,
    pub(crate) writes: Vec<&'w ShellWord>,
}

pub(crate) fn find_file_operands(words: &[ShellWord]) -> Option<FileOperands<'_>> {
    let (first, arguments) = words.split_first()?;
    let program = base_name(first.as_certain()?);
    if program == "sed" {
        let is_in_place = arguments.iter().any(|word| word.text.starts_with("-i"));
        let (_, files) = parse_sed_arguments(arguments).filter(|_| is_plain_sed(arguments))?;
        let writes = if is_in_place { files.clone() } else { Vec::new() };
        return Some(FileOperands { reads: files, writes });
    }
    let shape = FILE_CHANGING_PROGRAMS.iter().find(|shape| shape.program == program)?;
    let read = divide_arguments(shape, arguments)?;
    Some(read.into_file_operands(shape))
}

/// Options apart from the rest.
#[derive(Default)]
struct DividedArguments<'w> {
    letters: String,
    /// Values of options, with their letters.
    values: Vec<(char, OptionValueUse, &'w ShellWord)>,
    operands: Vec<&'w ShellWord>,
}

fn divide_arguments<'w>(
    shape: &FileChangingProgram,
    arguments: &'w [ShellWord],
) -> Option<DividedArguments<'w>> {
    let mut divided = DividedArguments::default();
    let mut waits: Option<(char, OptionValueUse)> = None;
    let mut is_ended = false;
    for (at, word) in arguments.iter().enumerate() {
        if let Some((letter, value)) = waits.take() {
            divided.values.push((letter, value, word));
            continue;
        }
        let text = word.text.as_str();
        // Old programs accept the first option letters without a dash.
        let is_bare = shape.layout == OperandLayout::Archive && at == 0 && !text.starts_with('-');
        let is_option = !is_ended && (word.may_be_option() && text != "-" || is_bare);
        if !is_option {
            divided.operands.push(word);
            continue;
        }
        let text = word.as_known()?;
        if text == "--" {
            is_ended = true;
        } else if text.starts_with("--") {
            let name = text.split('=').next().unwrap_or(text);
            shape.long.contains(&name).then_some(())?;
        } else {
            let letters = text.trim_start_matches('-');
            for (at, letter) in letters.char_indices() {
                let value = shape.values.iter().find(|(own, _)| *own == letter);
                match value {
                    // A value attached to its letter is not a word of its own.
                    Some(_) if at + 1 < letters.len() => return None,
                    Some(value) => waits = Some(*value),
                    None if shape.flags.contains(letter) => divided.letters.push(letter),
                    None => return None,
                }
            }
        }
    }
    waits.is_none().then_some(divided)
}

impl<'w> DividedArguments<'w> {
    fn into_file_operands(self, shape: &FileChangingProgram) -> FileOperands<'w> {
        let of = |kind: OptionValueUse| {
            let fits = self.values.iter().filter(move |(_, value, _)| *value == kind);
            fits.map(|(_, _, word)| *word).collect::<Vec<_>>()
        };
        let mut touched =
            FileOperands { reads: of(OptionValueUse::Read), writes: of(OptionValueUse::Write) };
        let has_target = !touched.writes.is_empty();
        let mut operands = self.operands;
        match shape.layout {
            OperandLayout::Written => touched.writes.append(&mut operands),
            OperandLayout::Read => touched.reads.append(&mut operands),
            OperandLayout::ModeThenWritten => {
                touched.writes.extend(operands.drain(1.min(operands.len())..));
            }
            OperandLayout::Copied | OperandLayout::Moved => {
                if !has_target {
                    touched.writes.extend(operands.pop());
                }
                if shape.layout == OperandLayout::Moved {
                    touched.writes.extend(&operands);
                }
                touched.reads.append(&mut operands);
            }
            OperandLayout::Archive => {
                let value = |wanted| self.values.iter().find(|(letter, ..)| *letter == wanted);
                let archive = value('f').map(|(_, _, word)| *word);
                let place = value('C').map(|(_, _, word)| *word);
                if self.letters.contains('c') {
                    touched.writes.extend(archive);
                    touched.reads.append(&mut operands);
                } else {
                    touched.reads.extend(archive);
                    touched.writes.extend(place);
                    touched.writes.append(&mut operands);
                }
            }
        }
        touched
    }
}
