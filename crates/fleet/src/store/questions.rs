//! Permission questions of sessions: asked by the holder of a claim, answered by users, and kept
//! with the name of who answered.

use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use super::{FleetStore, HeldClaim, StoreError, to_i64};

#[derive(Clone, Copy, Debug)]
pub struct NewQuestion<'a> {
    /// Unique within the session, over all its claims.
    pub request: &'a str,
    /// Identifies the call that it is about. A question about the same call that an earlier claim
    /// left open is the same question, with the answer that it may have by now.
    pub call: &'a str,
    /// The request's body as JSON.
    pub body: &'a str,
}

#[derive(Clone, Copy, Debug)]
pub struct NewAnswer<'a> {
    pub request: &'a str,
    /// The response as JSON.
    pub answer: &'a str,
    /// The name of the token that answered.
    pub by: &'a str,
    /// The frame that says so to those who follow the session, and its id.
    pub frame: &'a str,
    pub frame_uuid: &'a str,
}

/// Who answered which question, when, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredQuestion {
    pub request: String,
    pub body: String,
    pub answer: String,
    pub answered_by: String,
    /// Milliseconds since 1970.
    pub answered_millis: i64,
    /// What the session was given: `allow`, `deny`, `withdrawn` if it did not wait for it, `unknown` if
    /// it ended before that was recorded. `None` until then.
    pub outcome: Option<String>,
}

impl FromRow<'_, PgRow> for AnsweredQuestion {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            request: row.try_get("request")?,
            body: row.try_get("body")?,
            answer: row.try_get("answer")?,
            answered_by: row.try_get("answered_by")?,
            answered_millis: row.try_get("answered_millis")?,
            outcome: row.try_get("outcome")?,
        })
    }
}

impl FleetStore {
    /// Adds a question if the claim holds.
    pub async fn add_question(
        &self,
        claim: HeldClaim<'_>,
        question: NewQuestion<'_>,
    ) -> Result<(), StoreError> {
        let held = sqlx::query_scalar("select windlass.add_question($1, $2, $3, $4, $5, $6)")
            .bind(claim.session)
            .bind(to_i64(claim.epoch))
            .bind(claim.worker)
            .bind(question.request)
            .bind(question.call)
            .bind(question.body);
        let is_held: bool = held.fetch_one(&self.pool).await?;
        claim.check_held(u64::from(is_held))
    }

    /// Records what the session was given as the answer, if the claim holds; `None` if it withdrew
    /// the question.
    pub async fn close_question(
        &self,
        claim: HeldClaim<'_>,
        request: &str,
        outcome: Option<&str>,
    ) -> Result<(), StoreError> {
        let held = sqlx::query_scalar("select windlass.close_question($1, $2, $3, $4, $5)")
            .bind(claim.session)
            .bind(to_i64(claim.epoch))
            .bind(claim.worker)
            .bind(request)
            .bind(outcome);
        let is_held: bool = held.fetch_one(&self.pool).await?;
        claim.check_held(u64::from(is_held))
    }

    /// Open questions, those of the holder if there is one: request ids and request bodies, as JSON.
    pub async fn list_questions(&self, session: &str) -> Result<Vec<(String, String)>, StoreError> {
        let rows = sqlx::query_as(
            "select q.request, q.body from windlass.questions q \
             join windlass.sessions s on s.id = q.session \
             and (s.state = 'queued' or s.state = 'running' and s.epoch = q.epoch) \
             where q.session = $1 and q.answer is null and q.closed is null \
             order by q.created limit 1000",
        );
        Ok(rows.bind(session).fetch_all(&self.pool).await?)
    }

    /// The newest questions that were answered, oldest first.
    pub async fn list_answers(&self, session: &str) -> Result<Vec<AnsweredQuestion>, StoreError> {
        let rows = sqlx::query_as(
            "select * from (select request, body, answer, outcome, \
             coalesce(answered_by, '') as answered_by, created, \
             coalesce((extract(epoch from answered) * 1000)::bigint, 0) as answered_millis \
             from windlass.questions where session = $1 and answer is not null \
             order by answered desc, created desc limit 1000) newest \
             order by answered_millis, created",
        );
        Ok(rows.bind(session).fetch_all(&self.pool).await?)
    }

    /// Answers a question if it is still open. Returns whether it was.
    pub async fn answer_question(
        &self,
        session: &str,
        answer: NewAnswer<'_>,
    ) -> Result<bool, StoreError> {
        let answered =
            sqlx::query_scalar("select windlass.answer_question($1, $2, $3, $4, $5, $6)")
                .bind(session)
                .bind(answer.request)
                .bind(answer.answer)
                .bind(answer.by)
                .bind(answer.frame_uuid)
                .bind(answer.frame);
        Ok(answered.fetch_one(&self.pool).await?)
    }
}
