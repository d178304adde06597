//! Keys as they are meant.

use crate::composer::Move;

/// What a key means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// Send it, or choose it.
    Enter,
    /// Another line.
    NewLine,
    /// Stop, or take it back.
    Escape,
    /// Ctrl-C.
    Cancel,
    /// Ctrl-D.
    EndOfInput,
    /// Complete it.
    Tab,
    /// The next mode.
    BackTab,
    /// A character.
    Letter(char),
    /// A paste.
    Paste(String),
    /// Take away the character before the cursor.
    Backspace,
    /// Take away the character under it.
    Delete,
    /// Take away the word before it.
    DeleteWord,
    /// Take away the line before it.
    DeleteToHome,
    /// Take away the line behind it.
    DeleteToEnd,
    /// Move.
    Move(Move),
    /// A screenful up.
    PageUp,
    /// A screenful down.
    PageDown,
    /// Ctrl-R: search what was said before.
    Search,
    /// Ctrl-O: show everything that happened, unfolded.
    Unfold,
    /// Ctrl-G: write in an editor.
    Edit,
    /// Ctrl-L: draw the screen anew.
    Redraw,
    /// Ctrl-Z: stop for a while.
    Suspend,
    /// Ctrl-T: show or hide the task list.
    Tasks,
    /// Ctrl-V: an image from the clipboard.
    Image,
}

/// Something that came from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// A key.
    Key(Key),
    /// The terminal says whether its ground is light.
    Ground {
        /// It is.
        is_light: bool,
    },
}

/// What a control character means; most mean nothing.
pub(super) fn control(byte: u8) -> Option<Key> {
    Some(match byte {
        0x01 => Key::Move(Move::Home),
        0x02 => Key::Move(Move::Left),
        0x03 => Key::Cancel,
        0x04 => Key::EndOfInput,
        0x05 => Key::Move(Move::End),
        0x06 => Key::Move(Move::Right),
        0x07 => Key::Edit,
        0x08 => Key::Backspace,
        0x09 => Key::Tab,
        0x0a => Key::NewLine,
        0x0b => Key::DeleteToEnd,
        0x0c => Key::Redraw,
        0x0d => Key::Enter,
        0x0e => Key::Move(Move::Down),
        0x0f => Key::Unfold,
        0x10 => Key::Move(Move::Up),
        0x12 => Key::Search,
        0x14 => Key::Tasks,
        0x15 => Key::DeleteToHome,
        0x16 => Key::Image,
        0x17 => Key::DeleteWord,
        0x1a => Key::Suspend,
        0x7f => Key::Backspace,
        _ => return None,
    })
}

/// The same with Alt held.
pub(super) fn with_alt(key: &Key) -> Option<Key> {
    Some(match key {
        Key::Enter | Key::NewLine => Key::NewLine,
        Key::Backspace => Key::DeleteWord,
        Key::Letter('b') => Key::Move(Move::WordLeft),
        Key::Letter('f') => Key::Move(Move::WordRight),
        Key::Move(Move::Left) => Key::Move(Move::WordLeft),
        Key::Move(Move::Right) => Key::Move(Move::WordRight),
        _ => return None,
    })
}
