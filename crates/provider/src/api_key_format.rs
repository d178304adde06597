//! What an API key looks like, for `windlass key set` and for the welcome screen.

/// Accepts one word that fits into an HTTP header, without the blanks around it.
///
/// # Errors
/// What is wrong with it, in words that never repeat the key.
pub fn check_api_key(text: &str) -> Result<&str, &'static str> {
    let key = text.trim();
    if key.is_empty() {
        return Err("no key was given");
    }
    if key.len() > KEY_BYTES_MAX {
        return Err("that is too long for a key");
    }
    if key.split_whitespace().nth(1).is_some() {
        return Err("a key is one word without blanks");
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it contains characters that no key has");
    }
    Ok(key)
}

const KEY_BYTES_MAX: usize = 4 * 1024;
