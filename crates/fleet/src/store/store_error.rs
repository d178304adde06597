//! Errors of the store. Each message says in one line what is wrong and what to do.

use super::SCHEMA_VERSION;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("--store must be a URL such as postgres://user@host/database")]
    NotAUrl,
    #[error("--store cannot be read: {0}; write it as postgres://user:password@host:5432/database")]
    BadUrl(#[source] sqlx::Error),
    #[error("the database refuses this user or password: {0}; check both in --store")]
    Refused(#[source] sqlx::Error),
    #[error("the database {0}; create it, or name another in --store")]
    NoDatabase(String),
    #[error(
        "the database cannot be reached: {0}; check the host and port in --store, and that it runs"
    )]
    Unreachable(#[source] sqlx::Error),
    #[error("there is no Windlass store in this database; run `windlass store migrate` first")]
    Missing,
    #[error(
        "the schema `windlass` of this database belongs to something else; use another database"
    )]
    NotOurs,
    #[error(
        "the store has schema {0}, this version of Windlass needs {SCHEMA_VERSION}; run `windlass \
         store migrate`"
    )]
    Older(i64),
    #[error(
        "the store has schema {0}, this version of Windlass knows up to {SCHEMA_VERSION}; use a \
         newer version"
    )]
    Newer(i64),
    #[error("the migration took longer than an hour and was given up; nothing was changed")]
    SlowMigration,
    #[error("there is no session {0}")]
    NoSession(String),
    #[error("the session {0} is there already")]
    SessionExists(String),
    #[error("there is no tenant {0}; add it with `windlass store tenant {0}`")]
    NoTenant(String),
    #[error("{0}")]
    Invalid(String),
    /// Another worker has claimed the session.
    #[error("the session was taken over (claim {current} follows our claim {ours})")]
    Fenced { ours: u64, current: u64 },
    /// The journal does not end where the writer expected.
    #[error("the journal ends at {found}, not at {expected}")]
    Conflict { expected: u64, found: u64 },
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
}

impl StoreError {
    pub(super) fn from_connecting(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(refusal) => match refusal.code().as_deref() {
                // invalid_password, invalid_authorization_specification
                Some("28P01" | "28000") => Self::Refused(error),
                // invalid_catalog_name
                Some("3D000") => {
                    Self::NoDatabase(refusal.message().trim_start_matches("database ").to_owned())
                }
                _ => Self::Unreachable(error),
            },
            sqlx::Error::Configuration(_) => Self::BadUrl(error),
            _ => Self::Unreachable(error),
        }
    }

    /// Whether the same call may succeed later, when the database is available again.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        let (Self::Database(error) | Self::Unreachable(error)) = self else { return false };
        match error {
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::Protocol(_)
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Tls(_) => true,
            // Connection errors, insufficient resources, shutdown, read-only during recovery, lock
            // and statement timeouts, deadlocks.
            sqlx::Error::Database(refusal) => refusal.code().is_some_and(|code| {
                ["08", "53", "57", "25", "40", "55", "58"]
                    .iter()
                    .any(|class| code.starts_with(class))
            }),
            _ => false,
        }
    }
}
