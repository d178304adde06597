//! The folder name of a project's sessions, as other programs derive it too.

use std::borrow::Cow;
use std::path::Path;

use icu_normalizer::ComposingNormalizerBorrowed;

/// The folder name of a project: its path with everything but ASCII letters and digits replaced,
/// cut at 200 characters and followed by a hash of the whole path. The path must be absolute and
/// canonical; otherwise one directory could be two projects.
#[must_use]
pub fn project_key(project: &Path) -> String {
    let path = project.to_string_lossy();
    // An accented letter may be one character or two, depending on the program that created the
    // folder.
    let path = match path.is_ascii() {
        true => path,
        false => Cow::Owned(ComposingNormalizerBorrowed::new_nfc().normalize(&path).into_owned()),
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let key: String = path.chars().map(plain).collect();
    match key.get(..KEY_MAX) {
        Some(start) if key.len() > KEY_MAX => format!("{start}-{}", to_base_36(hash_string(&path))),
        _ => key,
    }
}

/// JavaScript's usual string hash: 32 bits, times 31 plus each UTF-16 unit.
fn hash_string(text: &str) -> u32 {
    let hash = text
        .encode_utf16()
        .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    hash.unsigned_abs()
}

fn to_base_36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

/// Limit on the characters of the path.
const KEY_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_spelt_as_others_spell_them() {
        assert_eq!(project_key(Path::new("/home/u/my.app_2")), "-home-u-my-app-2");
        assert_eq!(project_key(Path::new("/home/\u{e9}")), "-home--");
        assert_eq!(project_key(Path::new("/home/e\u{301}")), "-home--");
        // 31 * 97 + 98 = 3105 = "2e9" in base 36.
        assert_eq!(to_base_36(hash_string("ab")), "2e9");
        let long = format!("/{}", "a".repeat(300));
        let key = project_key(Path::new(&long));
        assert!(key.starts_with(&format!("-{}-", "a".repeat(199))), "{key}");
        assert_eq!(project_key(Path::new(&long[..200])).len(), 200);
    }
}
