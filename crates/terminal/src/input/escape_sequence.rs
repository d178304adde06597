//! What an escape sequence means, once it is whole.

use super::key::{CursorMove, InputKey, TerminalInput, parse_control_byte, with_alt};

/// A control sequence: its parameters and its last letter.
pub(super) fn decode_control_sequence(parameters: &[u8], last: u8) -> Option<TerminalInput> {
    let text = std::str::from_utf8(parameters).ok()?;
    let mut numbers = text.split(';').map(|number| {
        // A number may have more behind a colon; the first part is the one that counts.
        number.split(':').next().and_then(|first| first.parse::<u32>().ok())
    });
    let first = numbers.next().flatten();
    let second = numbers.next().flatten();
    let (alt, ctrl, shift) = decode_modifiers(second);
    let moved = |to, by_word| InputKey::Move(if alt || ctrl { by_word } else { to });
    let key = match last {
        b'A' => InputKey::Move(CursorMove::Up),
        b'B' => InputKey::Move(CursorMove::Down),
        b'C' => moved(CursorMove::Right, CursorMove::WordRight),
        b'D' => moved(CursorMove::Left, CursorMove::WordLeft),
        b'H' => InputKey::Move(CursorMove::Home),
        b'F' => InputKey::Move(CursorMove::End),
        b'Z' => InputKey::BackTab,
        b'u' => return decode_key_code(first?, alt, ctrl, shift).map(TerminalInput::Key),
        b'~' => match first? {
            1 | 7 => InputKey::Move(CursorMove::Home),
            4 | 8 => InputKey::Move(CursorMove::End),
            3 => InputKey::Delete,
            5 => InputKey::PageUp,
            6 => InputKey::PageDown,
            27 => {
                let code = numbers.next().flatten()?;
                return decode_key_code(code, alt, ctrl, shift).map(TerminalInput::Key);
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(TerminalInput::Key(key))
}

/// Which keys were held, in the one number terminals use for it.
fn decode_modifiers(number: Option<u32>) -> (bool, bool, bool) {
    let bits = number.unwrap_or(1).saturating_sub(1);
    (bits & 2 != 0, bits & 4 != 0, bits & 1 != 0)
}

/// A key named by its code point.
fn decode_key_code(code: u32, alt: bool, ctrl: bool, shift: bool) -> Option<InputKey> {
    let key = match code {
        13 if shift || alt || ctrl => return Some(InputKey::NewLine),
        13 => InputKey::Enter,
        9 if shift => InputKey::BackTab,
        9 => InputKey::Tab,
        27 => InputKey::Escape,
        127 | 8 if ctrl => InputKey::DeleteWord,
        127 | 8 => InputKey::Backspace,
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

/// What the terminal answers when it is asked for its ground: `11;rgb:RRRR/GGGG/BBBB`.
pub(super) fn decode_background_reply(text: &[u8]) -> Option<TerminalInput> {
    let text = std::str::from_utf8(text).ok()?;
    let colour = text.strip_prefix("11;rgb:")?;
    let mut parts = colour.split('/').map(|part| {
        let value = u32::from_str_radix(part, 16).ok()?;
        // One to four digits, each a whole range.
        let whole = 16_u32.checked_pow(u32::try_from(part.len()).ok()?)?.checked_sub(1)?;
        value.checked_mul(1_000)?.checked_div(whole)
    });
    let (red, green, blue) = (parts.next()??, parts.next()??, parts.next()??);
    // How bright it looks, in thousandths.
    let brightness = (red * 299 + green * 587 + blue * 114) / 1_000;
    Some(TerminalInput::Background { is_light: brightness > 500 })
}
