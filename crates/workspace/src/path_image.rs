//! The state of one path in a snapshot.

use crate::digest::ContentDigest;
use crate::relative_path::RelativePath;

/// What was at a path at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathImage {
    Absent,
    /// `is_ignored`: matches an ignore rule and is not tracked by git. Such files stay on this
    /// machine.
    File {
        content: ContentDigest,
        size: u64,
        mode: u32,
        is_ignored: bool,
    },
    Link {
        target: Vec<u8>,
    },
    Folder {
        mode: u32,
    },
    /// Exists, but its bytes are not stored. The stamp shows changes; ignored folders have none.
    Uncovered {
        reason: UncoveredReason,
        stamp: UncoveredStamp,
    },
}

/// Why the bytes of a path are not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UncoveredReason {
    /// An ignored folder, or an ignored file above its size limit.
    Ignored,
    TooLarge,
    Unreadable,
    /// A socket, a fifo or a device.
    NotPlain,
    OtherMount,
    /// Changed during each attempt to read it.
    Unstable,
    /// The store is at its limit, or the disk is nearly full.
    NoRoom,
    /// Git's objects, which only grow.
    GitObjects,
    /// The caller's content filter refused its bytes.
    Refused,
}

/// Metadata that shows a change without reading the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UncoveredStamp {
    pub size: u64,
    pub modified_seconds: i64,
    pub modified_nanos: u32,
}

/// A path whose bytes are not in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncoveredPath {
    pub path: RelativePath,
    pub reason: UncoveredReason,
    /// Size of the file; 0 for folders.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    pub path: RelativePath,
    pub before: PathImage,
    pub after: PathImage,
}

impl PathImage {
    /// Whether it is moved as a whole: a file, a link or an uncovered path.
    pub(crate) fn is_leaf(&self) -> bool {
        match self {
            Self::File { .. } | Self::Link { .. } | Self::Uncovered { .. } => true,
            Self::Absent | Self::Folder { .. } => false,
        }
    }

    pub(crate) fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// Equal as far as a restore is concerned: whether a file is ignored does not matter.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        if let Self::File { content, mode, .. } = self
            && let Self::File { content: other_content, mode: other_mode, .. } = other
        {
            return content == other_content && mode == other_mode;
        }
        self == other
    }
}
