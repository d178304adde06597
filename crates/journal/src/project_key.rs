//! Where a project's sessions lie: the folder's name, as other programs spell it too.

use std::borrow::Cow;
use std::path::Path;

use icu_normalizer::ComposingNormalizerBorrowed;

/// The name of a project's folder: its path with everything but ASCII letters and digits replaced,
/// cut at 200 characters with a hash of the whole behind it. The path must be absolute and
/// resolved; two spellings of one directory would be two projects.
#[must_use]
pub fn project_key(project: &Path) -> String {
    let path = project.to_string_lossy();
    // A letter with its accent is one sign or two, as the creator of the folder wrote it.
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

/// The hash of strings that scripts know best: 32 bits, times 31 plus each unit.
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

/// Characters of a path that are kept.
const KEY_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_spelt_as_others_spell_them() {
        assert_eq!(project_key(Path::new("/home/u/my.app_2")), "-home-u-my-app-2");
        assert_eq!(project_key(Path::new("/home/\u{e9}")), "-home--");
        assert_eq!(project_key(Path::new("/home/e\u{301}")), "-home--");
        // 31 * 97 + 98 = 3105 = "2e9" to the base of 36.
        assert_eq!(to_base_36(hash_string("ab")), "2e9");
        let long = format!("/{}", "a".repeat(300));
        let key = project_key(Path::new(&long));
        assert!(key.starts_with(&format!("-{}-", "a".repeat(199))), "{key}");
        assert_eq!(project_key(Path::new(&long[..200])).len(), 200);
    }
}
