//! Keys, named by what they do.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputKey {
    Enter,
    /// Ctrl-J, Alt-Enter or Shift-Enter.
    NewLine,
    Escape,
    /// Ctrl-C.
    Cancel,
    /// Ctrl-D.
    EndOfInput,
    Tab,
    /// Shift-Tab.
    BackTab,
    Char(char),
    Paste(String),
    Delete(Deletion),
    Move(CursorMove),
    PageUp,
    PageDown,
    Shortcut(Shortcut),
}

/// What is deleted, seen from the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Backspace.
    CharBefore,
    /// Delete.
    CharUnder,
    /// Ctrl-W.
    WordBefore,
    /// Ctrl-U.
    ToHome,
    /// Ctrl-K.
    ToEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcut {
    /// Ctrl-R.
    SearchHistory,
    /// Ctrl-O.
    OpenTranscript,
    /// Ctrl-G.
    OpenEditor,
    /// Ctrl-L.
    Redraw,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-T: shows or hides the task list.
    ToggleTasks,
    /// Ctrl-V.
    PasteImage,
    /// Ctrl-Y: inserts what was deleted last.
    InsertDeleted,
    /// Ctrl-B; moves the cursor left where nothing can be moved to the background.
    MoveToBackground,
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalInput {
    Key(InputKey),
    /// The terminal's answer to a query of its background colour.
    Background {
        is_light: bool,
    },
}

pub(super) fn parse_control_byte(byte: u8) -> Option<InputKey> {
    Some(match byte {
        0x01 => InputKey::Move(CursorMove::Home),
        0x02 => InputKey::Shortcut(Shortcut::MoveToBackground),
        0x03 => InputKey::Cancel,
        0x04 => InputKey::EndOfInput,
        0x05 => InputKey::Move(CursorMove::End),
        0x06 => InputKey::Move(CursorMove::Right),
        0x07 => InputKey::Shortcut(Shortcut::OpenEditor),
        0x08 => InputKey::Delete(Deletion::CharBefore),
        0x09 => InputKey::Tab,
        0x0a => InputKey::NewLine,
        0x0b => InputKey::Delete(Deletion::ToEnd),
        0x0c => InputKey::Shortcut(Shortcut::Redraw),
        0x0d => InputKey::Enter,
        0x0e => InputKey::Move(CursorMove::Down),
        0x0f => InputKey::Shortcut(Shortcut::OpenTranscript),
        0x10 => InputKey::Move(CursorMove::Up),
        0x12 => InputKey::Shortcut(Shortcut::SearchHistory),
        0x14 => InputKey::Shortcut(Shortcut::ToggleTasks),
        0x15 => InputKey::Delete(Deletion::ToHome),
        0x16 => InputKey::Shortcut(Shortcut::PasteImage),
        0x17 => InputKey::Delete(Deletion::WordBefore),
        0x19 => InputKey::Shortcut(Shortcut::InsertDeleted),
        0x1a => InputKey::Shortcut(Shortcut::Suspend),
        0x7f => InputKey::Delete(Deletion::CharBefore),
        _ => return None,
    })
}

/// The key with Alt held.
pub(super) fn with_alt(key: &InputKey) -> Option<InputKey> {
    Some(match key {
        InputKey::Enter | InputKey::NewLine => InputKey::NewLine,
        InputKey::Delete(Deletion::CharBefore) => InputKey::Delete(Deletion::WordBefore),
        InputKey::Char('b') => InputKey::Move(CursorMove::WordLeft),
        InputKey::Char('f') => InputKey::Move(CursorMove::WordRight),
        InputKey::Move(CursorMove::Left) => InputKey::Move(CursorMove::WordLeft),
        InputKey::Move(CursorMove::Right) => InputKey::Move(CursorMove::WordRight),
        InputKey::Move(_)
        | InputKey::Char(_)
        | InputKey::Escape
        | InputKey::Cancel
        | InputKey::EndOfInput
        | InputKey::Tab
        | InputKey::BackTab
        | InputKey::Paste(_)
        | InputKey::Delete(_)
        | InputKey::PageUp
        | InputKey::PageDown
        | InputKey::Shortcut(_) => return None,
    })
}
