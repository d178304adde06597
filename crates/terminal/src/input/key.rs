//! Keys as they are meant.

/// What a key means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputKey {
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
    Char(char),
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
    Move(CursorMove),
    /// A screenful up.
    PageUp,
    /// A screenful down.
    PageDown,
    /// Ctrl-R: search what was said before.
    SearchHistory,
    /// Ctrl-O: show everything that happened, unfolded.
    OpenTranscript,
    /// Ctrl-G: write in an editor.
    OpenEditor,
    /// Ctrl-L: draw the screen anew.
    Redraw,
    /// Ctrl-Z: stop for a while.
    Suspend,
    /// Ctrl-T: show or hide the task list.
    ToggleTasks,
    /// Ctrl-V: an image from the clipboard.
    PasteImage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorMove {
    Left,
    Right,
    WordLeft,
    WordRight,
    /// To the start of the line.
    Home,
    /// To the end of the line.
    End,
    /// To the line above; from the first line to the previous prompt of the history.
    Up,
    /// To the line below; from the last line to the next prompt of the history.
    Down,
}

/// Something that came from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalInput {
    /// A key.
    Key(InputKey),
    /// The terminal says whether its ground is light.
    Background {
        /// It is.
        is_light: bool,
    },
}

/// What a control character means; most mean nothing.
pub(super) fn parse_control_byte(byte: u8) -> Option<InputKey> {
    Some(match byte {
        0x01 => InputKey::Move(CursorMove::Home),
        0x02 => InputKey::Move(CursorMove::Left),
        0x03 => InputKey::Cancel,
        0x04 => InputKey::EndOfInput,
        0x05 => InputKey::Move(CursorMove::End),
        0x06 => InputKey::Move(CursorMove::Right),
        0x07 => InputKey::OpenEditor,
        0x08 => InputKey::Backspace,
        0x09 => InputKey::Tab,
        0x0a => InputKey::NewLine,
        0x0b => InputKey::DeleteToEnd,
        0x0c => InputKey::Redraw,
        0x0d => InputKey::Enter,
        0x0e => InputKey::Move(CursorMove::Down),
        0x0f => InputKey::OpenTranscript,
        0x10 => InputKey::Move(CursorMove::Up),
        0x12 => InputKey::SearchHistory,
        0x14 => InputKey::ToggleTasks,
        0x15 => InputKey::DeleteToHome,
        0x16 => InputKey::PasteImage,
        0x17 => InputKey::DeleteWord,
        0x1a => InputKey::Suspend,
        0x7f => InputKey::Backspace,
        _ => return None,
    })
}

/// The same with Alt held.
pub(super) fn with_alt(key: &InputKey) -> Option<InputKey> {
    Some(match key {
        InputKey::Enter | InputKey::NewLine => InputKey::NewLine,
        InputKey::Backspace => InputKey::DeleteWord,
        InputKey::Char('b') => InputKey::Move(CursorMove::WordLeft),
        InputKey::Char('f') => InputKey::Move(CursorMove::WordRight),
        InputKey::Move(CursorMove::Left) => InputKey::Move(CursorMove::WordLeft),
        InputKey::Move(CursorMove::Right) => InputKey::Move(CursorMove::WordRight),
        _ => return None,
    })
}
