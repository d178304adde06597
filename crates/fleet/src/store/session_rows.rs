//! Session rows: submit, read, list, cancel.

use sqlx::postgres::PgRow;
use sqlx::{Connection, FromRow, Row};
use windlass_journal::store::journal_lines::summarize_lines;

use super::{FleetStore, MAIN_FILE, StoreError, to_i64, to_u64};
use crate::session_spec::SessionSpec;

#[derive(Clone, Debug)]
pub struct NewSession {
    pub id: String,
    pub tenant: String,
    pub batch: Option<(String, i32)>,
    pub priority: i32,
    pub spec: String,
    pub title: Option<String>,
    pub budget_micro: Option<u64>,
    /// The first prompt.
    pub content: String,
    pub sender: String,
}

/// A session that begins as a copy.
#[derive(Clone, Debug)]
pub struct NewFork {
    pub new: NewSession,
    /// The session it is copied from, of the same tenant.
    pub source: String,
    /// Its journal: the records of the source under a head of its own.
    pub journal: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub id: String,
    pub tenant: String,
    pub state: String,
    pub title: Option<String>,
    pub batch: Option<String>,
    pub batch_row: Option<i32>,
    pub worker: Option<String>,
    pub tries: SessionTries,
    pub epoch: i64,
    pub seq: i64,
    pub money: SessionMoney,
    pub reason: Option<String>,
    pub result: Option<String>,
    pub changes: SessionChanges,
    pub times: SessionTimes,
}

/// What a session changed in its working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionChanges {
    /// Whether the store has them as a patch.
    pub has_patch: bool,
    /// The branch that they were pushed to.
    pub branch: Option<String>,
    /// Why they could not be pushed.
    pub branch_problem: Option<String>,
}

/// Milliseconds since 1970, by the database's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTimes {
    pub created_millis: i64,
    pub updated_millis: i64,
}

impl FromRow<'_, PgRow> for SessionRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            tenant: row.try_get("tenant")?,
            state: row.try_get("state")?,
            title: row.try_get("title")?,
            batch: row.try_get("batch")?,
            batch_row: row.try_get("batch_row")?,
            worker: row.try_get("worker")?,
            tries: SessionTries {
                attempts: row.try_get("attempts")?,
                retries: row.try_get("retries")?,
            },
            epoch: row.try_get("epoch")?,
            seq: row.try_get("seq")?,
            money: SessionMoney {
                cost_micro: row.try_get("cost_micro")?,
                budget_micro: row.try_get("budget_micro")?,
            },
            reason: row.try_get("reason")?,
            result: row.try_get("result")?,
            changes: SessionChanges {
                has_patch: row.try_get("has_patch")?,
                branch: row.try_get("branch")?,
                branch_problem: row.try_get("branch_problem")?,
            },
            times: SessionTimes {
                created_millis: row.try_get("created_millis")?,
                updated_millis: row.try_get("updated_millis")?,
            },
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTries {
    /// Claims since the last orderly end.
    pub attempts: i32,
    /// How often it was started again after a failure of its provider, since its last message.
    pub retries: i32,
}

/// In millionths of a dollar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionMoney {
    pub cost_micro: i64,
    pub budget_micro: Option<i64>,
}

/// Which sessions to list. An absent field matches all.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    pub tenant: Option<String>,
    pub state: Option<String>,
    pub batch: Option<String>,
    /// Only sessions with a greater id.
    pub after: Option<String>,
    pub limit: u32,
}

const COLUMNS: &str = "id, tenant, state, title, batch, batch_row, worker, attempts, retries, epoch, seq, \
    cost_micro, budget_micro, windlass.explain_wait(sessions) as reason, result, branch, \
    branch_problem, exists (select 1 from windlass.blobs b \
    where b.session = sessions.id and b.name = 'patch') as has_patch, \
    (extract(epoch from created) * 1000)::bigint as created_millis, \
    (extract(epoch from updated) * 1000)::bigint as updated_millis";

impl FleetStore {
    /// Queues a session with its first message.
    pub async fn submit_session(&self, new: &NewSession) -> Result<(), StoreError> {
        let tenant = self.read_tenant(&new.tenant).await?;
        let tenant = tenant.ok_or_else(|| StoreError::NoTenant(new.tenant.clone()))?;
        if tenant.money.budget_micro.is_some() && new.budget_micro.is_none() {
            return Err(StoreError::Invalid(format!(
                "the tenant {} has a budget, so every session needs one; add max_budget_usd",
                new.tenant
            )));
        }
        let spec = SessionSpec::parse(&new.spec).map_err(StoreError::Invalid)?;
        tenant.policy.check(&spec).map_err(StoreError::Invalid)?;
        let (batch, row) = new.batch.clone().unzip();
        let outcome: String = sqlx::query_scalar(
            "select windlass.submit_session($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(&new.id)
        .bind(&new.tenant)
        .bind(batch)
        .bind(row)
        .bind(new.priority)
        .bind(&new.spec)
        .bind(&new.title)
        .bind(new.budget_micro.map(to_i64))
        .bind(&new.content)
        .bind(&new.sender)
        .bind(spec.provider())
        .bind(spec.repository())
        .fetch_one(&self.pool)
        .await?;
        match outcome.as_str() {
            "added" => Ok(()),
            "no batch" => Err(StoreError::Invalid("there is no such batch".to_owned())),
            "no budget" => Err(StoreError::Invalid(
                "the batch has a budget, so every session of it needs one; add max_budget_usd"
                    .to_owned(),
            )),
            _ => Err(StoreError::SessionExists(new.id.clone())),
        }
    }

    /// Queues a session that begins with the records and files of another one. Nothing of it can be
    /// seen before all of it is there.
    pub async fn fork_session(&self, fork: &NewFork) -> Result<(), StoreError> {
        let NewFork { new, source, journal } = fork;
        let mut held = self.pool.connection().await?;
        let mut transaction = held.get()?.begin().await?;
        let seq = summarize_lines(journal).last_seq.unwrap_or(0);
        let added = sqlx::query(
            "insert into windlass.sessions (id, tenant, state, priority, spec, title, \
             budget_micro, provider, repository, seq, base_commit) select $1, tenant, 'idle', $3, \
             $4, $5, $6, provider, repository, $7, base_commit from windlass.sessions where id = $2 on conflict do nothing",
        )
        .bind(&new.id)
        .bind(source)
        .bind(new.priority)
        .bind(&new.spec)
        .bind(&new.title)
        .bind(new.budget_micro.map(to_i64))
        .bind(to_i64(seq))
        .execute(&mut *transaction)
        .await?;
        if added.rows_affected() == 0 {
            return Err(StoreError::SessionExists(new.id.clone()));
        }
        for statement in [
            "insert into windlass.packs (session, number, epoch, snapshot, bytes) \
             select $1, number, 0, snapshot, bytes from windlass.packs where session = $2",
            "insert into windlass.blobs (session, name, epoch, bytes) select $1, name, 0, bytes \
             from windlass.blobs where session = $2 and name like 'spill.%'",
        ] {
            let copied = sqlx::query(statement).bind(&new.id).bind(source);
            copied.execute(&mut *transaction).await?;
        }
        sqlx::query(
            "insert into windlass.journal (session, file, position, epoch, bytes) \
             values ($1, $2, 0, 0, $3)",
        )
        .bind(&new.id)
        .bind(MAIN_FILE)
        .bind(journal)
        .execute(&mut *transaction)
        .await?;
        sqlx::query("select windlass.add_message($1, $1, $2, $3)")
            .bind(&new.id)
            .bind(&new.content)
            .bind(&new.sender)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        held.release();
        Ok(())
    }

    pub async fn read_session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        let text = format!("select {COLUMNS} from windlass.sessions where id = $1");
        Ok(sqlx::query_as(&text).bind(id).fetch_optional(&self.pool).await?)
    }

    pub async fn list_sessions(
        &self,
        filter: &SessionFilter,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let text = format!(
            "select {COLUMNS} from windlass.sessions where ($1::text is null or tenant = $1) \
             and ($2::text is null or state = $2) and ($3::text is null or batch = $3) \
             and ($4::text is null or id > $4) order by id limit $5"
        );
        let rows = sqlx::query_as(&text)
            .bind(&filter.tenant)
            .bind(&filter.state)
            .bind(&filter.batch)
            .bind(&filter.after)
            .bind(i64::from(filter.limit));
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// How a session runs.
    pub async fn read_spec(&self, id: &str) -> Result<Option<String>, StoreError> {
        let spec = sqlx::query_scalar("select spec from windlass.sessions where id = $1").bind(id);
        Ok(spec.fetch_optional(&self.pool).await?)
    }

    /// The number of sessions per state.
    pub async fn count_states(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("select state, count(*) from windlass.sessions group by 1 order by 1")
                .fetch_all(&self.pool)
                .await?;
        Ok(rows.into_iter().map(|(state, count)| (state, to_u64(count))).collect())
    }

    /// Cancels a session: at once if it is queued, idle or parked; a running one by its worker.
    /// Returns its state.
    pub async fn cancel_session(&self, id: &str) -> Result<String, StoreError> {
        let state: Option<String> = sqlx::query_scalar(
            "update windlass.sessions set is_cancelled = true, updated = now(), \
             reason = case when state in ('queued', 'idle', 'parked') then 'cancelled' \
             else reason end, \
             state = case when state in ('queued', 'idle', 'parked') then 'cancelled' \
             else state end where id = $1 returning state",
        )
        .bind(id)
        .fetch_optional(&self.pool)
        .await?;
        sqlx::query("select pg_notify('windlass_control', $1)")
            .bind(id)
            .execute(&self.pool)
            .await?;
        state.ok_or_else(|| StoreError::NoSession(id.to_owned()))
    }
}
