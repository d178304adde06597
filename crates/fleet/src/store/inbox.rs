//! Input of users for a running session: messages, and answers to its questions.

use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use super::{FleetStore, StoreError, to_i64};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxMessage {
    pub uuid: String,
    pub content: String,
}

impl FromRow<'_, PgRow> for InboxMessage {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self { uuid: row.try_get("uuid")?, content: row.try_get("content")? })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxAnswer {
    pub request: String,
    pub answer: String,
}

impl FromRow<'_, PgRow> for InboxAnswer {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self { request: row.try_get("request")?, answer: row.try_get("answer")? })
    }
}

/// Pending input of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionInbox {
    /// Messages that are not in the journal yet, oldest first.
    pub messages: Vec<InboxMessage>,
    pub answers: Vec<InboxAnswer>,
    pub is_cancelled: bool,
}

impl FleetStore {
    /// Adds a message. One with the same uuid is added only once. Returns its number.
    pub async fn add_message(
        &self,
        session: &str,
        uuid: &str,
        content: &str,
        sender: &str,
    ) -> Result<i64, StoreError> {
        let number: Option<i64> = sqlx::query_scalar("select windlass.add_message($1, $2, $3, $4)")
            .bind(session)
            .bind(uuid)
            .bind(content)
            .bind(sender)
            .fetch_one(&self.pool)
            .await?;
        number.ok_or_else(|| StoreError::NoSession(session.to_owned()))
    }

    pub async fn read_inbox(&self, session: &str, epoch: u64) -> Result<SessionInbox, StoreError> {
        let messages = sqlx::query_as(
            "select uuid, content from windlass.messages where session = $1 and not is_taken \
             order by number limit 1000",
        );
        let answers = sqlx::query_as(
            "select request, answer from windlass.questions where session = $1 and epoch = $2 \
             and answer is not null order by created limit 1000",
        );
        let cancelled: Option<bool> =
            sqlx::query_scalar("select is_cancelled from windlass.sessions where id = $1")
                .bind(session)
                .fetch_optional(&self.pool)
                .await?;
        Ok(SessionInbox {
            messages: messages.bind(session).fetch_all(&self.pool).await?,
            answers: answers.bind(session).bind(to_i64(epoch)).fetch_all(&self.pool).await?,
            is_cancelled: cancelled.unwrap_or(false),
        })
    }

    /// Marks a message as handled. Needed for messages answered without a model, which leave no
    /// record.
    pub async fn take_message(
        &self,
        session: &str,
        epoch: u64,
        worker: &str,
        uuid: &str,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "update windlass.messages set is_taken = true where session = $1 and uuid = $4 \
             and exists (select 1 from windlass.sessions where id = $1 and epoch = $2 \
             and worker = $3 for update)",
        )
        .bind(session)
        .bind(to_i64(epoch))
        .bind(worker)
        .bind(uuid)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Adds or reopens a question of the session.
    pub async fn add_question(
        &self,
        session: &str,
        epoch: u64,
        request: &str,
        body: &str,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "insert into windlass.questions (session, request, epoch, body) values ($1,$2,$3,$4) \
             on conflict (session, request) do update set epoch = $3, body = $4, answer = null",
        )
        .bind(session)
        .bind(request)
        .bind(to_i64(epoch))
        .bind(body)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Removes a question that was answered or withdrawn, or whose worker is gone.
    pub async fn remove_question(&self, session: &str, request: &str) -> Result<(), StoreError> {
        sqlx::query("delete from windlass.questions where session = $1 and request = $2")
            .bind(session)
            .bind(request)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Open questions: request ids and request bodies, as JSON.
    pub async fn list_questions(&self, session: &str) -> Result<Vec<(String, String)>, StoreError> {
        let rows = sqlx::query_as(
            "select request, body from windlass.questions where session = $1 and answer is null \
             order by created limit 1000",
        );
        Ok(rows.bind(session).fetch_all(&self.pool).await?)
    }

    /// Answers a question if it is still open. Returns whether it was.
    pub async fn answer_question(
        &self,
        session: &str,
        request: &str,
        answer: &str,
        by: &str,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "update windlass.questions set answer = $3, answered_by = $4 \
             where session = $1 and request = $2 and answer is null",
        )
        .bind(session)
        .bind(request)
        .bind(answer)
        .bind(by)
        .execute(&self.pool)
        .await?;
        sqlx::query("select pg_notify('windlass_control', $1)")
            .bind(session)
            .execute(&self.pool)
            .await?;
        Ok(done.rows_affected() > 0)
    }
}
