//! Content addresses: SHA-256 of the bytes.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, digest};
use windlass_vocabulary::to_hex;

use crate::error::WorkspaceError;

/// SHA-256 of a file's bytes or of a folder's record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest([u8; 32]);

/// The digest of the root folder's record: equal ids mean equal trees.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId(ContentDigest);

impl ContentDigest {
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_slice(digest(&SHA256, bytes).as_ref()).unwrap_or(Self([0; 32]))
    }

    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl SnapshotId {
    #[must_use]
    pub(crate) fn from_digest(root: ContentDigest) -> Self {
        Self(root)
    }

    #[must_use]
    pub fn digest(self) -> ContentDigest {
        self.0
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&to_hex(&self.0))
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl fmt::Debug for SnapshotId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl FromStr for ContentDigest {
    type Err = WorkspaceError;

    /// Parses 64 hexadecimal digits, as `Display` writes them.
    fn from_str(text: &str) -> Result<Self, WorkspaceError> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(WorkspaceError::NotAnId);
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            let digits = text.get(index * 2..index * 2 + 2).ok_or(WorkspaceError::NotAnId)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| WorkspaceError::NotAnId)?;
        }
        Ok(Self(bytes))
    }
}

impl FromStr for SnapshotId {
    type Err = WorkspaceError;

    fn from_str(text: &str) -> Result<Self, WorkspaceError> {
        text.parse().map(Self)
    }
}
