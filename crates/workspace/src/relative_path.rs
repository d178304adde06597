//! A path below the root, as bytes: file names need not be UTF-8.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::WorkspaceError;

/// Parts joined by `/`; none is empty, `.` or `..`. The root itself is the empty path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RelativePath(Vec<u8>);

impl RelativePath {
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, WorkspaceError> {
        let bytes = bytes.into();
        match bytes.is_empty() || bytes.split(|byte| *byte == b'/').all(is_plain_name) {
            true => Ok(Self(bytes)),
            false => Err(WorkspaceError::NotRelative),
        }
    }

    pub fn from_path(path: &Path) -> Result<Self, WorkspaceError> {
        Self::new(path.as_os_str().as_bytes())
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is git's own state: a `.git` at any level, or a path in it.
    #[must_use]
    pub fn is_git_state(&self) -> bool {
        self.parts().any(|part| part == b".git")
    }

    /// The innermost `.git` on this path, or the path itself if that is its name.
    pub(crate) fn git_folder(&self) -> Option<Self> {
        let parts: Vec<&[u8]> = self.parts().collect();
        let last = parts.iter().rposition(|part| *part == b".git")?;
        Some(Self(parts.get(..=last)?.join(&b'/')))
    }

    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/').filter(|part| !part.is_empty())
    }

    pub(crate) fn depth(&self) -> usize {
        self.parts().count()
    }

    /// The parent folder and the last part; `None` for the root.
    pub(crate) fn split_last(&self) -> Option<(Self, &[u8])> {
        let name = self.parts().next_back()?;
        let end = self.0.len().saturating_sub(name.len() + 1);
        Some((Self(self.0.get(..end).unwrap_or_default().to_vec()), name))
    }

    /// `name` must be a plain name; the walk and the record decoder check that.
    pub(crate) fn join(&self, name: &[u8]) -> Self {
        let mut joined = self.0.clone();
        if !joined.is_empty() {
            joined.push(b'/');
        }
        joined.extend_from_slice(name);
        Self(joined)
    }

    pub(crate) fn is_below(&self, folder: &Self) -> bool {
        folder.is_root()
            || self.0.strip_prefix(folder.0.as_slice()).is_some_and(|rest| rest.starts_with(b"/"))
    }
}

/// Whether `name` can only refer to a single entry of a folder.
pub(crate) fn is_plain_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name != b"."
        && name != b".."
        && !name.iter().any(|byte| *byte == b'/' || *byte == 0)
}

impl fmt::Display for RelativePath {
    /// For display: invalid UTF-8 is replaced, and control characters are escaped.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in String::from_utf8_lossy(&self.0).chars() {
            match character.is_control() {
                true => write!(formatter, "{}", character.escape_default())?,
                false => write!(formatter, "{character}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RelativePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{self}\"")
    }
}
