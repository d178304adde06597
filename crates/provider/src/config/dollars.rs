//! Parses dollar amounts without floats, which could not represent a limit exactly.

use toml::de::DeValue;
use windlass_config_text::{TomlEntry, TomlMistake};

/// A price in a file, as an integer of micro-dollars.
pub(super) fn parse_dollars(entry: &TomlEntry<'_>) -> Result<u64, TomlMistake> {
    let text = match entry.value {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => "",
    };
    parse_micro_dollars(text)
        .map_err(|_| entry.invalid_value("dollars such as 2 or 0.25, with at most six decimals"))
}

/// Dollars with at most six decimals, in micro-dollars.
pub fn parse_micro_dollars(text: &str) -> Result<u64, String> {
    let refuse = || "write dollars as a number like 2 or 0.50, at most six decimals".to_owned();
    let text = text.trim().trim_start_matches('$');
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && decimals.is_empty()) || !is_number(whole) || !is_number(decimals) {
        return Err(refuse());
    }
    if decimals.len() > 6 {
        return Err(refuse());
    }
    let padded = format!("0{whole}{decimals:0<6}");
    padded.parse().map_err(|_| "that is too much".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_parsed_without_floats() {
        let cases = [
            ("2", Ok(2_000_000)),
            ("0.5", Ok(500_000)),
            (".25", Ok(250_000)),
            ("$1.000001", Ok(1_000_001)),
            ("0", Ok(0)),
        ];
        for (text, micros) in cases {
            assert_eq!(parse_micro_dollars(text), micros, "{text}");
        }
        for text in ["", ".", "-1", "1e3", "1,5", "0.0000001", "99999999999999999"] {
            assert!(parse_micro_dollars(text).is_err(), "{text}");
        }
    }
}
