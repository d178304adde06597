//! Secrets that only their name reveals: `DB_PASSWORD=…` in an environment file, `"api_key": "…"` in
//! JSON or YAML.
//!
//! Values that name another place (`$TOKEN`, `{{token}}`, calls) are not secrets. Prefers false
//! positives, like the patterns: used for texts to share only.

use std::ops::Range;

/// All values in a text whose names say that they are secret.
pub(crate) fn find_assigned_secrets(text: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, byte) in text.iter().enumerate() {
        if !matches!(byte, b'=' | b':') || found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        if let Some(range) = read_name(text, at).and_then(|name| read_value(text, at, name)) {
            found.push(range);
        }
    }
    found
}

/// Does a variable, a field or an option with this name hold a secret?
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let name = name.trim_start_matches('-');
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let plain = plain.to_ascii_lowercase();
    let is_variable = name.bytes().all(|b| !b.is_ascii_lowercase());
    SECRET_ENDS.iter().any(|end| plain.ends_with(end))
        || (is_variable && VARIABLE_ENDS.iter().any(|end| name.ends_with(end)))
}

/// Is the value of a secret name a secret, and not a reference to another place?
#[must_use]
pub fn is_secret_value(value: &str) -> bool {
    let is_one_word = value.bytes().all(|byte| byte.is_ascii_graphic());
    (VALUE_MIN..=VALUE_MAX).contains(&value.len())
        && is_one_word
        && !value.starts_with(['$', '{', '<', '%', '*', '[', '('])
        && value.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// The name before a separator, which may be quoted.
fn read_name(text: &[u8], separator: usize) -> Option<&str> {
    let before = text.get(separator.saturating_sub(NAME_MAX + 4)..separator)?;
    let before = trim_end_of(before, b" \t");
    let before = trim_end_of(before, b"\"'`\\");
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let len = before.iter().rev().take_while(|byte| is_name(byte)).count();
    let name = std::str::from_utf8(before.get(before.len() - len..)?).ok()?;
    is_secret_name(name).then_some(name)
}

fn read_value(text: &[u8], separator: usize, name: &str) -> Option<Range<usize>> {
    let after = text.get(separator + 1..)?;
    let blank = after.iter().take(BLANK_MAX).take_while(|byte| b" \t=>\\".contains(byte)).count();
    let quote = after.get(blank).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let begin = blank + usize::from(quote.is_some());
    let rest = after.get(begin..)?;
    // A line of an environment file: anything behind it is its value, but for paths.
    let is_line = name.bytes().all(|byte| !byte.is_ascii_lowercase())
        && blank == 0
        && text.get(separator) == Some(&b'=');
    let ends: &[u8] = if is_line { b"\"'`,;<>(){}|\\" } else { b"\"'`,;<>(){}|\\&" };
    let is_part = |byte: &&u8| byte.is_ascii_graphic() && !ends.contains(byte);
    // Decides by the beginning: else a long run of names would take quadratic time.
    let len = rest.iter().take(BEGIN_MAX).take_while(is_part).count();
    let value = std::str::from_utf8(rest.get(..len)?).ok()?;
    // A call or a type is code and not a value.
    let is_code = matches!(rest.get(len), Some(b'(' | b'<' | b'{')) || value.contains("::");
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_telling = has_digit || is_line && !value.starts_with(['/', '.', '~']);
    let start = separator + 1 + begin;
    let is_secret = is_telling && !is_code && is_secret_value(value);
    let whole = || rest.iter().take(VALUE_MAX).take_while(is_part).count();
    is_secret.then(|| start..start + whole())
}

fn trim_end_of<'a>(text: &'a [u8], bytes: &[u8]) -> &'a [u8] {
    let kept = text.iter().rposition(|byte| !bytes.contains(byte)).map_or(0, |last| last + 1);
    text.get(..kept).unwrap_or_default()
}

/// Ends of names, in lower case and without punctuation.
const SECRET_ENDS: [&str; 14] = [
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
    "authkey",
    "signingkey",
    "encryptionkey",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "accountkey",
    "connectionstring",
];
/// Ends of names of variables.
const VARIABLE_ENDS: [&str; 2] = ["_KEY", "_CREDENTIALS"];
const NAME_MAX: usize = 64;
const BLANK_MAX: usize = 8;
const VALUE_MIN: usize = 8;
/// How much of a value is examined.
const BEGIN_MAX: usize = 128;
const VALUE_MAX: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> Vec<&str> {
        find_assigned_secrets(text.as_bytes()).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn values_are_found_by_their_names() {
        for (text, value) in [
            ("DB_PASSWORD=hunter-two\nX=1", "hunter-two"),
            ("export STRIPE_KEY='abcd1234efgh'", "abcd1234efgh"),
            ("  \"api_key\": \"Zm9vYmFy0123\",", "Zm9vYmFy0123"),
            ("client_secret: abc~12.345_6", "abc~12.345_6"),
            ("--password=hunter2hunter", "hunter2hunter"),
            ("{accessToken => 'xyz98765'}", "xyz98765"),
            ("https://x.example/?token=abc12345&page=2", "abc12345"),
            ("AccountKey=aGVsbG8xMjM0==;End=x", "aGVsbG8xMjM0=="),
        ] {
            assert_eq!(find(text), [value], "{text}");
        }
    }

    #[test]
    fn names_types_calls_and_counts_are_not_secrets() {
        for text in [
            "api_key = os.environ[\"API_KEY\"]",
            "password: String, token: Option<Token2>",
            "TOKEN=$OTHER_TOKEN_1",
            "token = read_token2(file)",
            "\"max_tokens\": 40960000, \"sort_key\": \"created_at_2\"",
            "SSH_KEY=/home/me/.ssh/id_rsa",
            "password: required here",
            "key: value1234567, monkey=banana12345",
            "token: ${{ secrets.GITHUB_TOKEN }}",
            "password=******** token=",
        ] {
            assert_eq!(find(text), [""; 0], "{text}");
        }
    }
}
