//! What a snapshot knows of one path.

use crate::digest::ContentDigest;
use crate::relative_path::RelativePath;

/// What stood at a path at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathImage {
    Absent,
    /// `is_ignored`: matched by an ignore rule and not tracked by git. Such files stay on this machine.
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
    /// There, but its bytes are not kept. The stamp tells when it changed; ignored folders have none.
    Uncovered {
        reason: UncoveredReason,
        stamp: UncoveredStamp,
    },
}

/// Why the bytes of a path are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UncoveredReason {
    /// An ignored folder, or an ignored file over its size limit.
    Ignored,
    TooLarge,
    Unreadable,
    /// A socket, a fifo or a device.
    NotPlain,
    OtherMount,
    /// It changed each time it was read.
    Unstable,
    /// The store is at its bound.
    NoRoom,
    /// Git's objects, which only grow.
    GitObjects,
    /// Its bytes are of a kind that the caller does not want kept.
    Refused,
}

/// Enough to notice a change without reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UncoveredStamp {
    pub size: u64,
    pub modified_seconds: i64,
    pub modified_nanos: u32,
}

/// A path whose bytes a snapshot does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncoveredPath {
    pub path: RelativePath,
    pub reason: UncoveredReason,
    /// Size where one file is meant; 0 for folders.
    pub bytes: u64,
}

/// One path that differs between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    pub path: RelativePath,
    pub before: PathImage,
    pub after: PathImage,
}

impl PathImage {
    /// A file or a link: something that is moved as a whole.
    pub(crate) fn is_leaf(&self) -> bool {
        match self {
            Self::File { .. } | Self::Link { .. } | Self::Uncovered { .. } => true,
            Self::Absent | Self::Folder { .. } => false,
        }
    }

    pub(crate) fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// Equal for going back: whether a rule ignores a file makes no difference to its bytes.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        if let Self::File { content, mode, .. } = self
            && let Self::File { content: other_content, mode: other_mode, .. } = other
        {
            return content == other_content && mode == other_mode;
        }
        self == other
    }
}
