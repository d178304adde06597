//! Database connections with a deadline for each query.
//!
//! A host that accepts connections and never responds must not block callers, so each query has a
//! deadline. A connection whose query timed out or was cancelled is closed instead of reused: a
//! late response would be taken for that of the next query.

use std::str::FromStr;
use std::time::Duration;

use futures_util::stream::{self, BoxStream};
use futures_util::{TryFutureExt, TryStreamExt};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{
    PgConnectOptions, PgConnection, PgListener, PgPool, PgPoolOptions, PgQueryResult, PgRow,
    PgStatement, PgTypeInfo, Postgres,
};
use sqlx::{Describe, Either, Execute, Executor};

use super::StoreError;

type DatabaseFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = sqlx::Result<T>> + Send + 'a>>;

/// Connections shared by several tasks. Statements are executed on `&StorePool`.
#[derive(Clone, Debug)]
pub(crate) struct StorePool {
    pool: PgPool,
}

impl StorePool {
    pub(super) async fn connect(url: &str, connections: u32) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(url)
            .map_err(StoreError::BadUrl)?
            .application_name("windlass-fleet")
            // Below our own deadline: the database's timeout errors are more precise.
            .options([("statement_timeout", "18000"), ("lock_timeout", "15000")]);
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(ACQUIRE_WAIT)
            .connect_with(options)
            .await
            .map_err(StoreError::from_connecting)?;
        Ok(Self { pool })
    }

    pub(super) async fn close(&self) {
        // Connections not closed by then are closed when the process ends.
        let _ = tokio::time::timeout(RELEASE_WAIT, self.pool.close()).await;
    }

    pub(crate) async fn connection(&self) -> sqlx::Result<HeldConnection> {
        Ok(HeldConnection { connection: Some(self.pool.acquire().await?) })
    }

    /// Opens a connection that listens on these channels.
    pub(crate) async fn listen(&self, channels: &[&str]) -> sqlx::Result<PgListener> {
        in_time(ANSWER_WAIT, async {
            let mut listener = PgListener::connect_with(&self.pool).await?;
            listener.listen_all(channels.iter().copied()).await?;
            Ok(listener)
        })
        .await
    }
}

/// A connection that is closed on drop unless it was released.
pub(crate) struct HeldConnection {
    connection: Option<PoolConnection<Postgres>>,
}

impl HeldConnection {
    pub(crate) fn get(&mut self) -> sqlx::Result<&mut PgConnection> {
        self.connection.as_deref_mut().ok_or(sqlx::Error::PoolClosed)
    }

    /// Returns the connection to the pool.
    pub(crate) fn release(mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        // The pool first checks that the connection responds, without a timeout of its own.
        tokio::spawn(tokio::time::timeout(RELEASE_WAIT, connection.return_to_pool()));
    }
}

impl Drop for HeldConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(connection.detach());
        }
    }
}

/// Fails with `TimedOut` when the database does not respond within `limit`.
pub(crate) async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| {
        let words = format!("it did not answer within {} seconds", limit.as_secs());
        Err(sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, words)))
    })
}

impl<'p> Executor<'p> for &'p StorePool {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, sqlx::Result<Either<PgQueryResult, PgRow>>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let all = async move {
            let mut held = self.connection().await?;
            let rows = held.get()?.fetch_many(query).try_collect::<Vec<_>>();
            let rows = in_time(ANSWER_WAIT, rows).await?;
            held.release();
            Ok(stream::iter(rows.into_iter().map(Ok)))
        };
        Box::pin(all.try_flatten_stream())
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> DatabaseFuture<'e, Option<PgRow>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        Box::pin(async move {
            let mut held = self.connection().await?;
            let row = in_time(ANSWER_WAIT, held.get()?.fetch_optional(query)).await?;
            held.release();
            Ok(row)
        })
    }

    fn prepare_with<'e, 'q: 'e>(
        self,
        sql: &'q str,
        parameters: &'e [PgTypeInfo],
    ) -> DatabaseFuture<'e, PgStatement<'q>>
    where
        'p: 'e,
    {
        Box::pin(async move {
            let mut held = self.connection().await?;
            let statement = in_time(ANSWER_WAIT, held.get()?.prepare_with(sql, parameters)).await?;
            held.release();
            Ok(statement)
        })
    }

    fn describe<'e, 'q: 'e>(self, sql: &'q str) -> DatabaseFuture<'e, Describe<Postgres>>
    where
        'p: 'e,
    {
        Box::pin(async move {
            let mut held = self.connection().await?;
            let described = in_time(ANSWER_WAIT, held.get()?.describe(sql)).await?;
            held.release();
            Ok(described)
        })
    }
}

/// Time limit for getting a free connection.
const ACQUIRE_WAIT: Duration = Duration::from_secs(5);
/// Time limit for one statement.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(20);
const RELEASE_WAIT: Duration = Duration::from_secs(5);
