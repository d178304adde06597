//! A zip of a few files, the same bytes every time. `gzip` deflates: what lies between its ten bytes of
//! header and eight of trailer is what a zip wants, and the trailer has the checksum and the size.

use std::fs;
use std::path::Path;

use crate::program::run_bytes;

/// The first day a zip can name.
const DATE: u16 = 0x0021;
const VERSION: u16 = 20;
const MADE_BY_UNIX: u16 = 0x0314;
const DEFLATED: u16 = 8;
const GZIP_HEADER: usize = 10;

/// One file of a zip.
pub(super) struct ZipEntry<'a> {
    pub(super) name: String,
    pub(super) path: &'a Path,
    pub(super) mode: u32,
}

struct DeflatedFile {
    bytes: Vec<u8>,
    /// The checksum and the size of what was deflated, as gzip wrote them.
    trailer: Vec<u8>,
}

pub(super) fn write_zip(to: &Path, entries: &[ZipEntry<'_>]) -> Result<(), String> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let offset = to_u32(out.len())?;
        let file = deflate(entry.path)?;
        let mut facts = Vec::new();
        for number in [VERSION, 0, DEFLATED, 0, DATE] {
            facts.extend(number.to_le_bytes());
        }
        facts.extend(file.trailer.get(..4).unwrap_or_default());
        facts.extend(to_u32(file.bytes.len())?.to_le_bytes());
        facts.extend(file.trailer.get(4..).unwrap_or_default());
        facts.extend((u16::try_from(entry.name.len()).unwrap_or(u16::MAX)).to_le_bytes());
        facts.extend(0_u16.to_le_bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&facts);
        out.extend(entry.name.as_bytes());
        out.extend(&file.bytes);
        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY_UNIX.to_le_bytes());
        directory.extend(&facts);
        // Comment, disk and internal attributes; then a regular file with its mode.
        directory.extend([0; 6]);
        directory.extend(((0o100_000 | entry.mode) << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(entry.name.as_bytes());
    }
    let offset = to_u32(out.len())?;
    let count = u16::try_from(entries.len()).map_err(|_| "too many files".to_owned())?;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(to_u32(directory.len())?.to_le_bytes());
    out.extend(offset.to_le_bytes());
    out.extend(0_u16.to_le_bytes());
    fs::write(to, out).map_err(|error| format!("{}: {error}", to.display()))
}

fn deflate(path: &Path) -> Result<DeflatedFile, String> {
    let folder = path.parent().unwrap_or(path);
    let mut bytes = run_bytes(folder, "gzip", &["-n9c", &path.to_string_lossy()])?;
    let end = bytes.len().checked_sub(8).filter(|end| *end >= GZIP_HEADER);
    let trailer = bytes.split_off(end.ok_or("gzip wrote too little")?);
    bytes.drain(..GZIP_HEADER);
    Ok(DeflatedFile { bytes, trailer })
}

fn to_u32(length: usize) -> Result<u32, String> {
    u32::try_from(length).map_err(|_| "too big for a zip".to_owned())
}
