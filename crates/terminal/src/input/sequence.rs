//! What an escape sequence means, once it is whole.

use super::key::{Key, Typed, control, with_alt};
use crate::composer::Move;

/// A control sequence: its parameters and its last letter.
pub(super) fn control_sequence(parameters: &[u8], last: u8) -> Option<Typed> {
    let text = std::str::from_utf8(parameters).ok()?;
    let mut numbers = text.split(';').map(|number| {
        // A number may have more behind a colon; the first part is the one that counts.
        number.split(':').next().and_then(|first| first.parse::<u32>().ok())
    });
    let first = numbers.next().flatten();
    let second = numbers.next().flatten();
    let (alt, ctrl, shift) = held(second);
    let moved = |to, by_word| Key::Move(if alt || ctrl { by_word } else { to });
    let key = match last {
        b'A' => Key::Move(Move::Up),
        b'B' => Key::Move(Move::Down),
        b'C' => moved(Move::Right, Move::WordRight),
        b'D' => moved(Move::Left, Move::WordLeft),
        b'H' => Key::Move(Move::Home),
        b'F' => Key::Move(Move::End),
        b'Z' => Key::BackTab,
        b'u' => return letter(first?, alt, ctrl, shift).map(Typed::Key),
        b'~' => match first? {
            1 | 7 => Key::Move(Move::Home),
            4 | 8 => Key::Move(Move::End),
            3 => Key::Delete,
            5 => Key::PageUp,
            6 => Key::PageDown,
            27 => {
                let code = numbers.next().flatten()?;
                return letter(code, alt, ctrl, shift).map(Typed::Key);
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(Typed::Key(key))
}

/// Which keys were held, in the one number terminals use for it.
fn held(number: Option<u32>) -> (bool, bool, bool) {
    let bits = number.unwrap_or(1).saturating_sub(1);
    (bits & 2 != 0, bits & 4 != 0, bits & 1 != 0)
}

/// A key named by its code point.
fn letter(code: u32, alt: bool, ctrl: bool, shift: bool) -> Option<Key> {
    let key = match code {
        13 if shift || alt || ctrl => return Some(Key::NewLine),
        13 => Key::Enter,
        9 if shift => Key::BackTab,
        9 => Key::Tab,
        27 => Key::Escape,
        127 | 8 if ctrl => Key::DeleteWord,
        127 | 8 => Key::Backspace,
        code => {
            let letter = char::from_u32(code).filter(|letter| !letter.is_control())?;
            if ctrl {
                let byte = u8::try_from(letter.to_ascii_lowercase()).ok()?;
                return control(byte & 0x1f).filter(|_| byte.is_ascii_lowercase());
            }
            Key::Letter(letter)
        }
    };
    if alt { with_alt(&key) } else { Some(key) }
}

/// What the terminal answers when it is asked for its ground: `11;rgb:RRRR/GGGG/BBBB`.
pub(super) fn answer(text: &[u8]) -> Option<Typed> {
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
    Some(Typed::Ground { is_light: brightness > 500 })
}
