//! Sessions outside the queue, which ordinary commands of `windlass` open.

use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use windlass_journal::store::journal_lines::read_head;

use super::{FleetStore, MAIN_FILE, StoreError, to_i64, to_u64};
use crate::postgres_journal_store::LOCAL_TENANT;

/// A session that can be copied to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSessionRow {
    pub id: String,
    /// No worker has run it.
    pub is_local: bool,
    /// The directory that its journal names.
    pub project: Option<String>,
    pub title: Option<String>,
    pub updated_millis: i64,
}

/// A session that a viewer lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewedSession {
    pub id: String,
    pub updated_millis: i64,
    /// A worker or a command has it.
    pub is_running: bool,
    pub title: Option<String>,
}

impl FromRow<'_, PgRow> for ViewedSession {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            updated_millis: row.try_get("updated_millis")?,
            is_running: row.try_get("is_running")?,
            title: row.try_get("title")?,
        })
    }
}

/// A part of a search, newest sessions first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchedPage {
    /// Sessions of it that may have the text.
    pub found: Vec<String>,
    /// Where the next part begins, unless this is the last.
    pub next: Option<(i64, String)>,
}

/// A part of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalPiece {
    pub file: String,
    pub position: u64,
    pub bytes: Vec<u8>,
}

/// Whether a text is spelled the same in a journal, which is JSON; others are found by reading.
fn is_same_in_journals(needle: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    !needle.is_empty() && needle.bytes().all(is_plain)
}

const VIEWED_COLUMNS: &str = "select id, title, worker is not null as is_running, \
    (extract(epoch from updated) * 1000)::bigint as updated_millis from windlass.sessions";

/// Id, tenant, first bytes of the journal, time of the last change, title.
type SessionHeadRow = (String, String, Vec<u8>, i64, Option<String>);

fn to_local_row(row: SessionHeadRow) -> LocalSessionRow {
    let (id, tenant, first_bytes, updated_millis, title) = row;
    let project = read_head(&first_bytes).and_then(|head| head.project);
    LocalSessionRow { id, is_local: tenant == LOCAL_TENANT, project, title, updated_millis }
}

const HEAD_COLUMNS: &str = "select s.id, s.tenant, substring(j.bytes from 1 for 16384), \
    (extract(epoch from s.updated) * 1000)::bigint, s.title from windlass.sessions s \
    join windlass.journal j on j.session = s.id and j.file = $1 and j.position = 0";

impl FleetStore {
    /// The newest sessions of all tenants that have begun.
    pub async fn list_viewed_sessions(&self, limit: u32) -> Result<Vec<ViewedSession>, StoreError> {
        let text = format!("{VIEWED_COLUMNS} where seq > 0 order by updated desc limit $1");
        Ok(sqlx::query_as(&text).bind(i64::from(limit)).fetch_all(&self.pool).await?)
    }

    /// Those that run, those named, and those that ended after this time: what indexes find.
    pub async fn list_changed_sessions(
        &self,
        after_millis: i64,
        named: &[String],
        limit: u32,
    ) -> Result<Vec<ViewedSession>, StoreError> {
        let text = format!(
            "({VIEWED_COLUMNS} where worker is not null limit $3) union \
             ({VIEWED_COLUMNS} where id = any($2)) union \
             ({VIEWED_COLUMNS} where state in ('done', 'failed', 'parked', 'cancelled') \
             and updated > to_timestamp(($1 - 1000) / 1000.0) order by updated desc limit $3)"
        );
        let rows = sqlx::query_as(&text).bind(after_millis).bind(named).bind(i64::from(limit));
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// The first parts of a session's journals behind these lengths of files.
    pub async fn read_journal_pieces(
        &self,
        session: &str,
        known: &[(String, u64)],
        limit: u32,
    ) -> Result<Vec<JournalPiece>, StoreError> {
        let files: Vec<&str> = known.iter().map(|(file, _)| file.as_str()).collect();
        let lengths: Vec<i64> = known.iter().map(|(_, length)| to_i64(*length)).collect();
        let rows: Vec<(String, i64, Vec<u8>)> = sqlx::query_as(
            "select j.file, j.position, j.bytes from windlass.journal j \
             left join unnest($2::text[], $3::bigint[]) as k (file, length) on k.file = j.file \
             where j.session = $1 and j.position >= coalesce(k.length, 0) \
             order by j.file, j.position limit $4",
        )
        .bind(session)
        .bind(files)
        .bind(lengths)
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        let to_piece =
            |(file, position, bytes)| JournalPiece { file, position: to_u64(position), bytes };
        Ok(rows.into_iter().map(to_piece).collect())
    }

    /// The newest sessions outside the queue; of these only those that may have a text in lower case,
    /// if one is given.
    pub async fn list_local_sessions(
        &self,
        needle: Option<&str>,
        limit: i64,
    ) -> Result<Vec<LocalSessionRow>, StoreError> {
        let text = format!(
            "select * from ({HEAD_COLUMNS} where s.tenant = $2 order by s.updated desc limit $3) x \
             where $4::text is null or windlass.may_contain(x.id, $4)"
        );
        let rows = sqlx::query_as(&text).bind(MAIN_FILE).bind(LOCAL_TENANT).bind(limit);
        let needle = needle.filter(|needle| is_same_in_journals(needle));
        let rows: Vec<SessionHeadRow> = rows.bind(needle).fetch_all(&self.pool).await?;
        Ok(rows.into_iter().map(to_local_row).collect())
    }

    /// The next sessions of any tenant, newest first, and which of them may have a text in lower
    /// case. One statement looks at no more than `limit` sessions.
    pub async fn find_sessions_with(
        &self,
        needle: &str,
        after: Option<&(i64, String)>,
        limit: u32,
    ) -> Result<SearchedPage, StoreError> {
        let (after_time, after_id) = after.cloned().unzip();
        let needle = Some(needle).filter(|needle| is_same_in_journals(needle));
        let rows: Vec<(String, i64, bool)> = sqlx::query_as(
            "select s.id, s.at, $3::text is null or windlass.may_contain(s.id, $3) from (\
             select id, (extract(epoch from created at time zone 'UTC') * 1000000)::bigint as at \
             from windlass.sessions where $1::bigint is null \
             or ((extract(epoch from created at time zone 'UTC') * 1000000)::bigint, id) < ($1, $2) \
             order by 2 desc, 1 desc limit $4) s",
        )
        .bind(after_time)
        .bind(after_id)
        .bind(needle)
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        let is_last = rows.len() < usize::try_from(limit).unwrap_or(usize::MAX);
        let next = rows.last().filter(|_| !is_last).map(|(id, at, _)| (*at, id.clone()));
        let found = rows.into_iter().filter(|(.., may)| *may).map(|(id, ..)| id);
        Ok(SearchedPage { found: found.collect(), next })
    }

    /// The sessions of any tenant whose id begins like this.
    pub async fn find_sessions_by_prefix(
        &self,
        prefix: &str,
        limit: i64,
    ) -> Result<Vec<LocalSessionRow>, StoreError> {
        let text = format!("{HEAD_COLUMNS} where starts_with(s.id, $2) order by s.id limit $3");
        let rows = sqlx::query_as(&text).bind(MAIN_FILE).bind(prefix).bind(limit);
        let rows: Vec<SessionHeadRow> = rows.fetch_all(&self.pool).await?;
        Ok(rows.into_iter().map(to_local_row).collect())
    }

    /// Claims a session that no worker runs; a new one is added. Returns the epoch.
    pub async fn claim_local_session(
        &self,
        session: &str,
        tenant: &str,
        worker: &str,
    ) -> Result<u64, StoreError> {
        let busy = |words: String| Err(StoreError::Invalid(words));
        let row = self.read_session(session).await?;
        if let Some(row) = row.filter(|row| matches!(row.state.as_str(), "queued" | "running")) {
            return busy(format!("the session {session} is {} in the fleet", row.state));
        }
        let (epoch, host, pid): (i64, Option<String>, Option<i32>) =
            sqlx::query_as("select epoch, host, pid from windlass.claim_journal($1, $2, $3)")
                .bind(session)
                .bind(tenant)
                .bind(worker)
                .fetch_one(&self.pool)
                .await?;
        match host {
            Some(host) => busy(format!(
                "the session {session} is in use by process {} on {host}",
                pid.unwrap_or_default()
            )),
            None => Ok(to_u64(epoch)),
        }
    }

    /// Gives a claim back, and removes a session to which nothing was ever written.
    pub async fn release_local_session(
        &self,
        session: &str,
        epoch: u64,
        worker: &str,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "update windlass.sessions set worker = null, updated = now() \
             where id = $1 and epoch = $2 and worker = $3",
        )
        .bind(session)
        .bind(to_i64(epoch))
        .bind(worker)
        .execute(&self.pool)
        .await?;
        sqlx::query(
            "delete from windlass.sessions s where id = $1 and state = 'idle' and worker is null \
             and not exists (select 1 from windlass.journal j where j.session = s.id)",
        )
        .bind(session)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Names a session, or removes its name.
    pub async fn set_local_title(
        &self,
        session: &str,
        title: Option<&str>,
    ) -> Result<(), StoreError> {
        sqlx::query("update windlass.sessions set title = $2 where id = $1")
            .bind(session)
            .bind(title)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Deletes a session that nobody runs or writes.
    pub async fn delete_idle_session(&self, session: &str) -> Result<(), StoreError> {
        let done = sqlx::query(
            "delete from windlass.sessions s where id = $1 and state not in ('queued', 'running') \
             and not exists (select 1 from windlass.workers w \
             where w.id = s.worker and w.lease_until > now())",
        )
        .bind(session)
        .execute(&self.pool)
        .await?;
        match done.rows_affected() {
            0 => Err(StoreError::Invalid(format!("the session {session} is in use"))),
            _ => Ok(()),
        }
    }
}
