//! Errors, grouped by cause: the caller's choice of root, a limit, the disk, the store's files, or
//! a pack from elsewhere.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::digest::ContentDigest;
use crate::relative_path::RelativePath;

#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("{} is not kept as a whole: it is or holds the home folder; start in a project", .0.display())]
    RootIsHome(PathBuf),
    #[error("{} is not a folder", .0.display())]
    RootIsNoFolder(PathBuf),
    #[error("more than {0} files: only files that tools name are kept")]
    TooManyPaths(u64),
    #[error("looking at the files took more than {} s: only files that tools name are kept", .0.as_secs())]
    TooSlow(Duration),
    #[error("cancelled")]
    Cancelled,
    #[error("another process uses the snapshots of this directory; try again when it is done")]
    InUse,
    #[error("no room to keep file contents: the store is at its bound or the disk is nearly full")]
    NoRoom,
    #[error("content {0} is not in the store or is damaged")]
    NotKept(ContentDigest),
    #[error("the record of a folder is damaged")]
    DamagedRecord,
    #[error("a restore was interrupted; finish it first")]
    UnfinishedRestore,
    #[error("the list of an interrupted restore is damaged and was set aside as {}", .0.display())]
    DamagedRestoreLog(PathBuf),
    #[error("{} is not empty; choose a new or an empty folder", .0.display())]
    PlaceNotEmpty(PathBuf),
    #[error("{} is inside the folder to copy or in its store; choose a place outside", .0.display())]
    PlaceInside(PathBuf),
    #[error("{0}: cannot be copied: {1}")]
    CopyFailed(RelativePath, io::Error),
    #[error("this is not a pack of a workspace, or its version is unknown")]
    NotAPack,
    #[error("the pack ends too early")]
    PackCut,
    #[error("the pack is refused: {0}")]
    PackRefused(PackProblem),
    #[error("not an id of a snapshot: 64 hexadecimal digits are expected")]
    NotAnId,
    #[error("not a path below the root: no `..`, no empty part, no leading `/`")]
    NotRelative,
    #[error("{what} {}: {error}", path.display())]
    Disk { what: &'static str, path: PathBuf, error: io::Error },
}

/// Why a pack is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PackProblem {
    #[error("a content does not match its digest")]
    WrongDigest,
    #[error("it is larger than allowed")]
    TooLarge,
    #[error("the record of a folder is malformed")]
    BadRecord,
    #[error("a file it lists is missing")]
    MissingContent,
    #[error("folders are nested too deeply")]
    TooDeep,
    #[error("it carries git's own state")]
    CarriesGit,
}

impl WorkspaceError {
    pub(crate) fn disk(
        what: &'static str,
        path: &std::path::Path,
        error: impl Into<io::Error>,
    ) -> Self {
        Self::Disk { what, path: path.to_owned(), error: error.into() }
    }
}
