//! Numbers of the system's file status, whose types differ between systems.

use rustix::fs::{FileType, Mode, RawMode, Stat};

#[allow(clippy::unnecessary_cast, reason = "the number is shorter and signed on other systems")]
pub(crate) fn device_of(stat: &Stat) -> u64 {
    stat.st_dev as u64
}

#[allow(clippy::useless_conversion, reason = "the number is shorter on other systems")]
pub(crate) fn mode_of(stat: &Stat) -> u32 {
    u32::from(stat.st_mode)
}

/// The permission bits.
#[allow(clippy::unnecessary_cast, reason = "the number is shorter on other systems")]
pub(crate) fn to_mode(bits: u32) -> Mode {
    Mode::from_raw_mode((bits & 0o7777) as RawMode)
}

#[allow(clippy::unnecessary_cast, reason = "the number is shorter on other systems")]
pub(crate) fn file_type_of(mode: u32) -> FileType {
    FileType::from_raw_mode(mode as RawMode)
}
