//! Which files a command reads and writes, for programs whose every option is known.
//!
//! A word that does not fit makes the answer `None`: then any of its words may be a file, and the
//! wide reading is the right one.

use super::script_text::{sed_is_plain, sed_scripts};
use super::table::{Layout, SHAPES, Shape, Value};
use super::word::Word;
use super::wrapper::base_name;

/// The files among the words of a command.
#[derive(Debug, Default)]
pub(crate) struct Touched<'w> {
    pub(crate) reads: Vec<&'w Word>,
    pub(crate) writes: Vec<&'w Word>,
}

/// The files, if the words are understood.
pub(crate) fn touched(words: &[Word]) -> Option<Touched<'_>> {
    let (first, arguments) = words.split_first()?;
    let program = base_name(first.certain()?);
    if program == "sed" {
        let is_in_place = arguments.iter().any(|word| word.text.starts_with("-i"));
        let (_, files) = sed_scripts(arguments).filter(|_| sed_is_plain(arguments))?;
        let writes = if is_in_place { files.clone() } else { Vec::new() };
        return Some(Touched { reads: files, writes });
    }
    let shape = SHAPES.iter().find(|shape| shape.program == program)?;
    let read = divide(shape, arguments)?;
    Some(read.laid_out(shape))
}

/// Options apart from the rest.
#[derive(Default)]
struct Divided<'w> {
    letters: String,
    /// Values of options, with their letters.
    values: Vec<(char, Value, &'w Word)>,
    operands: Vec<&'w Word>,
}

fn divide<'w>(shape: &Shape, arguments: &'w [Word]) -> Option<Divided<'w>> {
    let mut divided = Divided::default();
    let mut waits: Option<(char, Value)> = None;
    let mut is_ended = false;
    for (at, word) in arguments.iter().enumerate() {
        if let Some((letter, value)) = waits.take() {
            divided.values.push((letter, value, word));
            continue;
        }
        let text = word.text.as_str();
        // Old programs take their first letters without a dash.
        let is_bare = shape.layout == Layout::Archive && at == 0 && !text.starts_with('-');
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
                    // Attached to its letter it is no word of its own.
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

impl<'w> Divided<'w> {
    fn laid_out(self, shape: &Shape) -> Touched<'w> {
        let of = |kind: Value| {
            let fits = self.values.iter().filter(move |(_, value, _)| *value == kind);
            fits.map(|(_, _, word)| *word).collect::<Vec<_>>()
        };
        let mut touched = Touched { reads: of(Value::Read), writes: of(Value::Write) };
        let has_target = !touched.writes.is_empty();
        let mut operands = self.operands;
        match shape.layout {
            Layout::Written => touched.writes.append(&mut operands),
            Layout::Read => touched.reads.append(&mut operands),
            Layout::ModeThenWritten => {
                touched.writes.extend(operands.drain(1.min(operands.len())..));
            }
            Layout::Copied | Layout::Moved => {
                if !has_target {
                    touched.writes.extend(operands.pop());
                }
                if shape.layout == Layout::Moved {
                    touched.writes.extend(&operands);
                }
                touched.reads.append(&mut operands);
            }
            Layout::Archive => {
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
