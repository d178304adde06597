//! Input of users for a running session: messages, and answers to its questions. Only the holder of
//! the newest claim gets it.

use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use super::{FleetStore, HeldClaim, StoreError, to_i64};

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

    /// The pending input, if the claim holds.
    pub async fn read_inbox(&self, claim: HeldClaim<'_>) -> Result<SessionInbox, StoreError> {
        let cancelled: Option<bool> = sqlx::query_scalar(
            "select is_cancelled from windlass.sessions \
             where id = $1 and epoch = $2 and worker = $3",
        )
        .bind(claim.session)
        .bind(to_i64(claim.epoch))
        .bind(claim.worker)
        .fetch_optional(&self.pool)
        .await?;
        let Some(is_cancelled) = cancelled else {
            return Err(claim.to_fenced());
        };
        let messages = sqlx::query_as(
            "select uuid, content from windlass.messages where session = $1 and not is_taken \
             order by number limit 1000",
        );
        // Answers for an earlier claim become ours when the session asks the same again.
        let answers = sqlx::query_as(
            "select request, answer from windlass.questions where session = $1 and epoch = $2 \
             and answer is not null and closed is null order by created limit 1000",
        );
        Ok(SessionInbox {
            messages: messages.bind(claim.session).fetch_all(&self.pool).await?,
            answers: answers
                .bind(claim.session)
                .bind(to_i64(claim.epoch))
                .fetch_all(&self.pool)
                .await?,
            is_cancelled,
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
}
