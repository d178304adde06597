//! The wheel: the program as a script of a Python package. It holds no Python.

use std::path::Path;

use super::pages::{LICENCES, write};
use super::zip::{ZipEntry, write_zip};
use super::{DESCRIPTION, DistPlan, SUMMARY};
use crate::program::run_text;

const NAME: &str = "windlass_agent";

pub(super) fn make(plan: &DistPlan) -> Result<(), String> {
    let arch = plan.program.architecture.rust;
    let platform = match plan.program.is_static {
        true => format!("manylinux_2_17_{arch}.manylinux2014_{arch}.musllinux_1_1_{arch}"),
        false => format!("manylinux_2_34_{arch}"),
    };
    let folder = plan.folder("wheel")?;
    let version = &plan.version;
    let facts = format!("{NAME}-{version}.dist-info");
    let licences: Vec<_> = LICENCES.iter().map(|name| format!("License-File: {name}\n")).collect();
    write(
        &folder.join("METADATA"),
        &format!(
            "Metadata-Version: 2.4\nName: {}\nVersion: {version}\nSummary: {SUMMARY}\n\
         License-Expression: MIT OR Apache-2.0\n{}Requires-Python: >=3.7\n\n{DESCRIPTION}\n",
            super::PACKAGE_NAME,
            licences.concat(),
        ),
    )?;
    let tags: Vec<_> = platform.split('.').map(|one| format!("Tag: py3-none-{one}\n")).collect();
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: windlass xtask\nRoot-Is-Purelib: false\n{}",
        tags.concat()
    );
    write(&folder.join("WHEEL"), &wheel)?;
    let mut files = vec![
        (format!("{NAME}-{version}.data/scripts/windlass"), plan.program.path.clone(), 0o755),
        (format!("{facts}/METADATA"), folder.join("METADATA"), 0o644),
        (format!("{facts}/WHEEL"), folder.join("WHEEL"), 0o644),
    ];
    for name in LICENCES {
        files.push((format!("{facts}/licenses/{name}"), plan.root.join(name), 0o644));
    }
    let mut record = String::new();
    for (name, path, _) in &files {
        let bytes = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
        record.push_str(&format!("{name},sha256={},{bytes}\n", encode_sum(path)?));
    }
    record.push_str(&format!("{facts}/RECORD,,\n"));
    write(&folder.join("RECORD"), &record)?;
    files.push((format!("{facts}/RECORD"), folder.join("RECORD"), 0o644));
    let entries: Vec<ZipEntry<'_>> = files
        .iter()
        .map(|(name, path, mode)| ZipEntry { name: name.clone(), path, mode: *mode })
        .collect();
    write_zip(&plan.out.join(format!("{NAME}-{version}-py3-none-{platform}.whl")), &entries)
}

/// The checksum as a wheel writes it: base64 for addresses, without padding.
fn encode_sum(path: &Path) -> Result<String, String> {
    let folder = path.parent().unwrap_or(path);
    let said = run_text(folder, "sha256sum", &["-b", &path.to_string_lossy()])?;
    let digits = said.split_whitespace().next().unwrap_or_default();
    encode_digits(digits).ok_or_else(|| format!("sha256sum said `{said}`"))
}

fn encode_digits(digits: &str) -> Option<String> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits: Option<Vec<u32>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
    let mut bits = bits?.into_iter().flat_map(|digit| (0..4).rev().map(move |at| digit >> at & 1));
    let mut text = String::new();
    while let Some(first) = bits.next() {
        let rest = (1..6).map(|_| bits.next().unwrap_or(0));
        let letter = rest.fold(first, |value, bit| value << 1 | bit);
        text.push(char::from(*LETTERS.get(letter as usize)?));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::encode_digits;

    #[test]
    fn a_checksum_is_written_as_wheels_write_it() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let expected = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";
        assert_eq!(encode_digits(empty).as_deref(), Some(expected));
        assert_eq!(encode_digits("zz"), None);
    }
}
