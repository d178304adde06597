//! Keys as they are meant, read off what a terminal sends.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

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
}

/// Something that came from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// A key.
    Key(Key),
    /// The screen has another size.
    Resized(usize, usize),
}

/// What an event means, if anything.
#[must_use]
pub fn typed(event: Event) -> Option<Typed> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => meant(key).map(Typed::Key),
        Event::Paste(text) => Some(Typed::Key(Key::Paste(text))),
        Event::Resize(columns, rows) => Some(Typed::Resized(columns.into(), rows.into())),
        _ => None,
    }
}

fn meant(key: KeyEvent) -> Option<Key> {
    let has = |modifier| key.modifiers.contains(modifier);
    let (control, alt) = (has(KeyModifiers::CONTROL), has(KeyModifiers::ALT));
    Some(match key.code {
        KeyCode::Enter if alt || has(KeyModifiers::SHIFT) => Key::NewLine,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Tab => Key::Tab,
        KeyCode::Backspace if alt || control => Key::DeleteWord,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Left if alt || control => Key::Move(Move::WordLeft),
        KeyCode::Right if alt || control => Key::Move(Move::WordRight),
        KeyCode::Left => Key::Move(Move::Left),
        KeyCode::Right => Key::Move(Move::Right),
        KeyCode::Up => Key::Move(Move::Up),
        KeyCode::Down => Key::Move(Move::Down),
        KeyCode::Home => Key::Move(Move::Home),
        KeyCode::End => Key::Move(Move::End),
        KeyCode::Char(letter) if control => match letter {
            'c' => Key::Cancel,
            'd' => Key::EndOfInput,
            'j' => Key::NewLine,
            'a' => Key::Move(Move::Home),
            'e' => Key::Move(Move::End),
            'b' => Key::Move(Move::Left),
            'f' => Key::Move(Move::Right),
            'p' => Key::Move(Move::Up),
            'n' => Key::Move(Move::Down),
            'k' => Key::DeleteToEnd,
            'u' => Key::DeleteToHome,
            'w' => Key::DeleteWord,
            'h' => Key::Backspace,
            _ => return None,
        },
        KeyCode::Char('b') if alt => Key::Move(Move::WordLeft),
        KeyCode::Char('f') if alt => Key::Move(Move::WordRight),
        KeyCode::Char(letter) => Key::Letter(letter),
        _ => return None,
    })
}
