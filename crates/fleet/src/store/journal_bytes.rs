//! Journals as bytes: fenced append, truncate, and read.

use windlass_journal::store::journal_lines::summarize_lines;

use super::{FleetStore, StoreError, to_i64, to_u64};

/// Bytes to append to one file of a session's journals.
#[derive(Clone, Copy, Debug)]
pub struct AppendRequest<'a> {
    pub session: &'a str,
    pub epoch: u64,
    pub worker: &'a str,
    /// Relative to the session's journal folder.
    pub file: &'a str,
    /// The required current length of the file; `None` for any.
    pub position: Option<u64>,
    /// The required last record of the journal; `None` for any.
    pub expected_seq: Option<u64>,
    pub bytes: &'a [u8],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalFile {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The session's own journal; those of its agents are in a folder next to it.
pub(crate) const MAIN_FILE: &str = "session.jsonl";
/// The blob with the session's changes as a patch.
pub(crate) const PATCH_BLOB: &str = "patch";

impl FleetStore {
    /// Appends if the claim holds. Returns the new length of the file.
    pub async fn append_journal(&self, request: AppendRequest<'_>) -> Result<u64, StoreError> {
        let summary = summarize_lines(request.bytes);
        // Nested sessions number their records separately.
        let is_main = !request.file.contains('/');
        let seq = summary.last_seq.filter(|_| is_main);
        let (outcome, value): (String, i64) = sqlx::query_as(
            "select outcome, value from windlass.append_journal($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)",
        )
        .bind(request.session)
        .bind(to_i64(request.epoch))
        .bind(request.worker)
        .bind(request.file)
        .bind(request.position.map(to_i64))
        .bind(request.expected_seq.map(to_i64))
        .bind(seq.map(to_i64))
        .bind(request.bytes)
        .bind(to_i64(summary.cost.0))
        .bind(&summary.message_names)
        .fetch_one(&self.pool)
        .await?;
        let value = to_u64(value);
        match outcome.as_str() {
            "appended" => Ok(value),
            "fenced" => Err(StoreError::Fenced { ours: request.epoch, current: value }),
            "missing" => Err(StoreError::NoSession(request.session.to_owned())),
            _ => Err(StoreError::Conflict {
                expected: request.expected_seq.or(request.position).unwrap_or_default(),
                found: value,
            }),
        }
    }

    /// Truncates a file to this length if the claim holds.
    pub async fn cut_journal(
        &self,
        session: &str,
        epoch: u64,
        worker: &str,
        file: &str,
        length: u64,
    ) -> Result<(), StoreError> {
        let (outcome, value): (String, i64) =
            sqlx::query_as("select outcome, value from windlass.cut_journal($1,$2,$3,$4,$5)")
                .bind(session)
                .bind(to_i64(epoch))
                .bind(worker)
                .bind(file)
                .bind(to_i64(length))
                .fetch_one(&self.pool)
                .await?;
        match outcome.as_str() {
            "cut" => Ok(()),
            "fenced" => Err(StoreError::Fenced { ours: epoch, current: to_u64(value) }),
            _ => Err(StoreError::NoSession(session.to_owned())),
        }
    }

    /// The length of one file of a session's journals; 0 if it does not exist.
    pub async fn read_journal_length(&self, session: &str, file: &str) -> Result<u64, StoreError> {
        let length: Option<i64> = sqlx::query_scalar(
            "select position + length(bytes) from windlass.journal \
             where session = $1 and file = $2 order by position desc limit 1",
        )
        .bind(session)
        .bind(file)
        .fetch_optional(&self.pool)
        .await?;
        Ok(to_u64(length.unwrap_or(0)))
    }

    pub async fn read_blob(
        &self,
        session: &str,
        name: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let blob =
            sqlx::query_scalar("select bytes from windlass.blobs where session = $1 and name = $2");
        Ok(blob.bind(session).bind(name).fetch_optional(&self.pool).await?)
    }

    /// The long outputs of a session: file name and content.
    pub async fn read_spills(&self, session: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let rows: Vec<(String, Vec<u8>)> = sqlx::query_as(
            "select name, bytes from windlass.blobs where session = $1 and name like 'spill.%'",
        )
        .bind(session)
        .fetch_all(&self.pool)
        .await?;
        let to_file_name = |name: String| name.trim_start_matches("spill.").to_owned();
        Ok(rows.into_iter().map(|(name, bytes)| (to_file_name(name), bytes)).collect())
    }

    pub async fn read_journals(&self, session: &str) -> Result<Vec<JournalFile>, StoreError> {
        let rows: Vec<(String, Vec<u8>)> = sqlx::query_as(
            "select file, bytes from windlass.journal where session = $1 order by file, position",
        )
        .bind(session)
        .fetch_all(&self.pool)
        .await?;
        let mut files: Vec<JournalFile> = Vec::new();
        for (name, bytes) in rows {
            match files.last_mut() {
                Some(last) if last.name == name => last.bytes.extend_from_slice(&bytes),
                _ => files.push(JournalFile { name, bytes }),
            }
        }
        Ok(files)
    }
}
