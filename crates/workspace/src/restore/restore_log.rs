//! The steps of a restore, written before it begins, so that an interrupted one can be completed.

use std::io::Write;
use std::path::PathBuf;

use crate::digest::{ContentDigest, SnapshotId};
use crate::disk_hook::DiskHook;
use crate::error::WorkspaceError;
use crate::folder_record::{ByteReader, EntryImage, FolderEntry};
use crate::path_image::PathImage;
use crate::relative_path::RelativePath;
use crate::store::ContentStore;

const MAGIC: &[u8; 4] = b"WRL1";
const LOG_NAME: &str = "restore-log";

/// The permitted steps, and the modes that folders get back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RestoreLog {
    pub(super) before: SnapshotId,
    pub(super) steps: Vec<LoggedStep>,
    /// Folders that must be made writable for the restore, with the mode to set afterwards.
    pub(super) folder_modes: Vec<(RelativePath, u32)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoggedStep {
    pub(super) path: RelativePath,
    pub(super) target: PathImage,
    pub(super) current: PathImage,
}

impl RestoreLog {
    pub(super) fn write(
        &self,
        store: &ContentStore,
        hook: &DiskHook,
    ) -> Result<(), WorkspaceError> {
        let path = log_path(store);
        let temporary = path.with_extension("new");
        let written = || {
            let mut file = std::fs::File::create(&temporary)?;
            hook.before("write restore log");
            file.write_all(&self.encode())?;
            hook.before("sync restore log");
            file.sync_all()?;
            hook.before("rename restore log");
            std::fs::rename(&temporary, &path)
        };
        written().map_err(|error: std::io::Error| WorkspaceError::disk("write", &path, error))?;
        store.sync_folder()
    }

    /// `None` when no restore was interrupted.
    pub(super) fn read(store: &ContentStore) -> Result<Option<Self>, WorkspaceError> {
        let path = log_path(store);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(WorkspaceError::disk("read", &path, error)),
        };
        if let Some(log) = Self::decode(&bytes) {
            return Ok(Some(log));
        }
        let aside = path.with_extension("damaged");
        std::fs::rename(&path, &aside)
            .map_err(|error| WorkspaceError::disk("rename", &path, error))?;
        Err(WorkspaceError::DamagedRestoreLog(aside))
    }

    pub(super) fn remove(store: &ContentStore, hook: &DiskHook) -> Result<(), WorkspaceError> {
        let path = log_path(store);
        hook.before("remove restore log");
        std::fs::remove_file(&path)
            .map_err(|error| WorkspaceError::disk("remove", &path, error))?;
        store.sync_folder()
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(self.before.digest().as_bytes());
        bytes.extend_from_slice(&(self.steps.len() as u64).to_le_bytes());
        for step in &self.steps {
            encode_path(&step.path, &mut bytes);
            encode_image(&step.target, &mut bytes);
            encode_image(&step.current, &mut bytes);
        }
        bytes.extend_from_slice(&(self.folder_modes.len() as u64).to_le_bytes());
        for (path, mode) in &self.folder_modes {
            encode_path(path, &mut bytes);
            bytes.extend_from_slice(&mode.to_le_bytes());
        }
        let digest = ContentDigest::of(&bytes);
        bytes.extend_from_slice(digest.as_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, digest) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
        if ContentDigest::of(body).as_bytes() != digest {
            return None;
        }
        let mut reader = ByteReader { rest: body.strip_prefix(MAGIC)? };
        let before = SnapshotId::from_digest(reader.take_digest()?);
        let mut steps = Vec::new();
        for _ in 0..reader.take_u64()? {
            steps.push(LoggedStep {
                path: decode_path(&mut reader)?,
                target: decode_image(&mut reader)?,
                current: decode_image(&mut reader)?,
            });
        }
        let mut folder_modes = Vec::new();
        for _ in 0..reader.take_u64()? {
            folder_modes.push((decode_path(&mut reader)?, reader.take_u32()?));
        }
        reader.rest.is_empty().then_some(Self { before, steps, folder_modes })
    }
}

pub(crate) fn has_log(store: &ContentStore) -> bool {
    log_path(store).exists()
}

fn log_path(store: &ContentStore) -> PathBuf {
    store.folder().join(LOG_NAME)
}

fn encode_path(path: &RelativePath, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(path.as_bytes().len() as u64).to_le_bytes());
    bytes.extend_from_slice(path.as_bytes());
}

fn decode_path(reader: &mut ByteReader<'_>) -> Option<RelativePath> {
    let length = usize::try_from(reader.take_u64()?).ok()?;
    RelativePath::new(reader.take(length)?).ok()
}

/// Encoded as a folder entry with a dummy name, after a byte that is 0 for an absent path.
fn encode_image(image: &PathImage, bytes: &mut Vec<u8>) {
    let image = match image {
        PathImage::Absent => {
            bytes.push(0);
            return;
        }
        PathImage::File { content, size, mode, is_ignored } => EntryImage::File {
            content: *content,
            size: *size,
            mode: *mode,
            is_ignored: *is_ignored,
        },
        PathImage::Link { target } => EntryImage::Link { target: target.as_slice().into() },
        PathImage::Folder { mode } => {
            EntryImage::Folder { record: ContentDigest::from_bytes([0; 32]), mode: *mode }
        }
        PathImage::Uncovered { reason, stamp } => {
            EntryImage::Uncovered { reason: *reason, stamp: *stamp }
        }
    };
    bytes.push(1);
    FolderEntry { name: b"-".as_slice().into(), image }.encode_to(bytes);
}

fn decode_image(reader: &mut ByteReader<'_>) -> Option<PathImage> {
    match reader.take_u8()? {
        0 => Some(PathImage::Absent),
        1 => Some(FolderEntry::decode_from(reader)?.image.to_path_image()),
        _ => None,
    }
}
