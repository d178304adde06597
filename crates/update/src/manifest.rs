//! The list of a release: its version, then one line a file with checksum, bytes and name.
//!
//! ```text
//! windlass 1.2.3
//! 9f86d081…  10485760  windlass-x86_64-linux.gz
//! ```

use crate::release_version::ReleaseVersion;

/// More than any file of a release has; a list that says more is wrong.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
const SHA256_DIGITS: usize = 64;

/// The file of a release that this machine wants.
#[derive(Debug)]
pub(crate) struct ReleaseFile {
    pub(crate) version: ReleaseVersion,
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// Lower-case hexadecimal digits.
    pub(crate) sha256: String,
}

/// The program for this machine, packed by gzip.
pub(crate) fn packed_program_name() -> String {
    format!("windlass-{}-{}.gz", std::env::consts::ARCH, std::env::consts::OS)
}

impl ReleaseFile {
    pub(crate) fn parse(manifest: &str, name: &str) -> Result<Self, String> {
        let mut lines = manifest.lines();
        let version = lines
            .next()
            .and_then(|line| line.strip_prefix("windlass "))
            .ok_or("its first line names no version")?;
        let version = ReleaseVersion::parse(version.trim())?;
        let row = lines
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .find(|row| row.get(2) == Some(&name));
        let Some([sha256, bytes, _]) = row.as_deref() else {
            return Err(format!(
                "version {version} has no {name}: none was built for this machine"
            ));
        };
        let is_digits = sha256.chars().all(|c| c.is_ascii_hexdigit());
        if sha256.len() != SHA256_DIGITS || !is_digits {
            return Err(format!("the checksum of {name} is not valid"));
        }
        let bytes = bytes.parse().ok().filter(|bytes| (1..=FILE_BYTES_MAX).contains(bytes));
        let bytes = bytes.ok_or_else(|| format!("the size of {name} is not valid"))?;
        Ok(Self { version, name: name.to_owned(), bytes, sha256: sha256.to_lowercase() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test says no")]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_and_a_broken_list_is_refused() {
        let sum = "ab".repeat(32);
        let parse = |text: &str| ReleaseFile::parse(text, "x.gz");
        let found = parse(&format!("windlass 1.2.3\n{sum}  7  y.gz\n{sum}  12  x.gz\n")).unwrap();
        assert_eq!((found.bytes, found.version.to_string().as_str()), (12, "1.2.3"));
        for broken in [
            String::new(),
            "<html>".to_owned(),
            format!("windlass ../..\n{sum}  12  x.gz\n"),
            "windlass 1.2.3\n".to_owned(),
            "windlass 1.2.3\nabc  12  x.gz\n".to_owned(),
            format!("windlass 1.2.3\n{sum}  0  x.gz\n"),
            format!("windlass 1.2.3\n{sum}  99999999999  x.gz\n"),
        ] {
            parse(&broken).unwrap_err();
        }
    }
}
