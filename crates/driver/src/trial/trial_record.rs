//! The record of a trial, which allows it to be accepted later or by another process.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use windlass_workspace::SnapshotId;

const FILE_NAME: &str = "trial.json";

#[derive(Clone, Debug)]
pub(super) struct TrialRecord {
    pub(super) root: PathBuf,
    pub(super) before: SnapshotId,
    pub(super) after: Option<SnapshotId>,
    pub(super) began: SystemTime,
    pub(super) session: Option<String>,
    /// The work is done in a copy of the root, not on an overlay.
    pub(super) is_copy: bool,
    /// The journal of the session that can undo what is accepted from a copy.
    pub(super) journal: Option<PathBuf>,
    /// Its last record when the trial ended.
    pub(super) last_record: u64,
}

/// The file format. Unknown fields come from a later version and are ignored.
#[derive(Serialize, Deserialize)]
struct RecordFile {
    root: PathBuf,
    before: String,
    after: Option<String>,
    began_seconds: u64,
    began_nanos: u32,
    session: Option<String>,
    #[serde(default)]
    is_copy: bool,
    #[serde(default)]
    journal: Option<PathBuf>,
    #[serde(default)]
    last_record: u64,
}

impl TrialRecord {
    pub(super) fn write(&self, folder: &Path) -> Result<(), String> {
        let since = self.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let file = RecordFile {
            root: self.root.clone(),
            before: self.before.to_string(),
            after: self.after.map(|after| after.to_string()),
            began_seconds: since.as_secs(),
            began_nanos: since.subsec_nanos(),
            session: self.session.clone(),
            is_copy: self.is_copy,
            journal: self.journal.clone(),
            last_record: self.last_record,
        };
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        let text = serde_json::to_string(&file).map_err(|error| error.to_string())?;
        let temporary = folder.join("trial.new");
        fs::write(&temporary, text).map_err(failed)?;
        fs::rename(&temporary, folder.join(FILE_NAME)).map_err(failed)
    }

    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join(FILE_NAME);
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let damaged = || format!("{} is damaged", path.display());
        let file: RecordFile = serde_json::from_str(&text).map_err(|_| damaged())?;
        let after = match &file.after {
            Some(after) => Some(after.parse().map_err(|_| damaged())?),
            None => None,
        };
        Ok(Self {
            root: file.root,
            before: file.before.parse().map_err(|_| damaged())?,
            after,
            began: UNIX_EPOCH + Duration::new(file.began_seconds, file.began_nanos),
            session: file.session,
            is_copy: file.is_copy,
            journal: file.journal,
            last_record: file.last_record,
        })
    }
}
