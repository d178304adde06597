//! A session's `stream-json` frames, numbered so that clients can resume without a gap.

use super::{FleetStore, StoreError, to_i64, to_u64};

impl FleetStore {
    /// Adds a frame if the claim holds; a frame whose id exists is skipped. Returns its number, or
    /// `None` if the claim does not hold.
    pub async fn add_event(
        &self,
        session: &str,
        epoch: u64,
        worker: &str,
        uuid: Option<&str>,
        frame: &str,
    ) -> Result<Option<u64>, StoreError> {
        let added = sqlx::query_scalar("select windlass.add_numbered_event($1, $2, $3, $4, $5)")
            .bind(session)
            .bind(to_i64(epoch))
            .bind(worker)
            .bind(uuid)
            .bind(frame);
        let number: Option<i64> = added.fetch_one(&self.pool).await?;
        Ok(number.map(to_u64))
    }

    /// The ids of all frames that have one.
    pub async fn list_event_ids(&self, session: &str) -> Result<Vec<String>, StoreError> {
        let ids = sqlx::query_scalar(
            "select uuid from windlass.events where session = $1 and uuid is not null",
        );
        Ok(ids.bind(session).fetch_all(&self.pool).await?)
    }

    /// Frames after number `after`, oldest first.
    pub async fn read_events(
        &self,
        session: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<(u64, String)>, StoreError> {
        let rows: Vec<(i64, String)> = sqlx::query_as(
            "select number, frame from windlass.events where session = $1 and number > $2 \
             order by number limit $3",
        )
        .bind(session)
        .bind(to_i64(after))
        .bind(i64::from(limit))
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(|(number, frame)| (to_u64(number), frame)).collect())
    }
}
