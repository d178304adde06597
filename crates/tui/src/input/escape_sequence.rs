//! The meaning of complete escape sequences.

use super::key::{CursorMove, Deletion, InputKey, TerminalInput, parse_control_byte, with_alt};

pub(super) fn decode_control_sequence(parameters: &[u8], last: u8) -> Option<TerminalInput> {
    let text = std::str::from_utf8(parameters).ok()?;
    let mut numbers = text.split(';').map(|number| {
        // Sub-parameters follow a colon; only the first number is needed.
        number.split(':').next().and_then(|first| first.parse::<u32>().ok())
    });
    let first = numbers.next().flatten();
    let second = numbers.next().flatten();
    let modifiers = KeyModifiers::decode(second);
    let moved =
        |to, by_word| InputKey::Move(if modifiers.alt || modifiers.ctrl { by_word } else { to });
    let key = match last {
        b'A' => InputKey::Move(CursorMove::Up),
        b'B' => InputKey::Move(CursorMove::Down),
        b'C' => moved(CursorMove::Right, CursorMove::WordRight),
        b'D' => moved(CursorMove::Left, CursorMove::WordLeft),
        b'H' => InputKey::Move(CursorMove::Home),
        b'F' => InputKey::Move(CursorMove::End),
        b'Z' => InputKey::BackTab,
        b'u' => return decode_key_code(first?, modifiers).map(TerminalInput::Key),
        b'~' => match first? {
            1 | 7 => InputKey::Move(CursorMove::Home),
            4 | 8 => InputKey::Move(CursorMove::End),
            3 => InputKey::Delete(Deletion::CharUnder),
            5 => InputKey::PageUp,
            6 => InputKey::PageDown,
            27 => {
                let code = numbers.next().flatten()?;
                return decode_key_code(code, modifiers).map(TerminalInput::Key);
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(TerminalInput::Key(key))
}

#[derive(Clone, Copy)]
struct KeyModifiers {
    alt: bool,
    ctrl: bool,
    shift: bool,
}

impl KeyModifiers {
    /// Terminals send one plus a bit for each modifier.
    fn decode(number: Option<u32>) -> Self {
        let bits = number.unwrap_or(1).saturating_sub(1);
        Self { alt: bits & 2 != 0, ctrl: bits & 4 != 0, shift: bits & 1 != 0 }
    }
}

/// A key named by its code point, as in the kitty keyboard protocol.
fn decode_key_code(code: u32, modifiers: KeyModifiers) -> Option<InputKey> {
    let KeyModifiers { alt, ctrl, shift } = modifiers;
    let key = match code {
        13 if shift || alt || ctrl => return Some(InputKey::NewLine),
        13 => InputKey::Enter,
        9 if shift => InputKey::BackTab,
        9 => InputKey::Tab,
        27 => InputKey::Escape,
        127 | 8 if ctrl => InputKey::Delete(Deletion::WordBefore),
        127 | 8 => InputKey::Delete(Deletion::CharBefore),
        code => {
            let letter = char::from_u32(code).filter(|letter| !letter.is_control())?;
            if ctrl {
                let byte = u8::try_from(letter.to_ascii_lowercase()).ok()?;
                return parse_control_byte(byte & 0x1f).filter(|_| byte.is_ascii_lowercase());
            }
            InputKey::Char(letter)
        }
    };
    if alt { with_alt(&key) } else { Some(key) }
}

/// The answer to a query of the background colour: `11;rgb:RRRR/GGGG/BBBB`.
pub(super) fn decode_background_reply(text: &[u8]) -> Option<TerminalInput> {
    let text = std::str::from_utf8(text).ok()?;
    let colour = text.strip_prefix("11;rgb:")?;
    let mut parts = colour.split('/').map(|part| {
        let value = u32::from_str_radix(part, 16).ok()?;
        // One to four digits; the highest number of that length is full intensity.
        let full = 16_u32.checked_pow(u32::try_from(part.len()).ok()?)?.checked_sub(1)?;
        value.checked_mul(1_000)?.checked_div(full)
    });
    let red = parts.next()??;
    let green = parts.next()??;
    let blue = parts.next()??;
    // Perceived brightness, in thousandths.
    let brightness = (red * 299 + green * 587 + blue * 114) / 1_000;
    Some(TerminalInput::Background { is_light: brightness > 500 })
}
