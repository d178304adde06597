//! What a session leaves beside its journals: blobs, packs of its working directory, and the commit
//! it began with.

use super::{FleetStore, StoreError, to_i64};

/// The claim under which something is stored.
#[derive(Clone, Copy, Debug)]
pub struct HeldClaim<'a> {
    pub session: &'a str,
    pub epoch: u64,
    pub worker: &'a str,
}

impl HeldClaim<'_> {
    /// Fails if a change under this claim affected no row.
    pub(super) fn check_held(self, rows: u64) -> Result<(), StoreError> {
        match rows {
            0 => Err(self.to_fenced()),
            _ => Ok(()),
        }
    }

    /// The error of a call under a claim that does not hold any more.
    pub(super) fn to_fenced(self) -> StoreError {
        StoreError::Fenced { ours: self.epoch, current: self.epoch + 1 }
    }
}

/// The changes of a working directory from one snapshot to the next.
#[derive(Clone, Copy, Debug)]
pub struct NewPack<'a> {
    pub number: i32,
    pub snapshot: &'a str,
    pub bytes: &'a [u8],
}

impl FleetStore {
    /// Stores the next pack of the working directory if the claim holds.
    pub async fn put_pack(
        &self,
        claim: HeldClaim<'_>,
        pack: NewPack<'_>,
    ) -> Result<(), StoreError> {
        let done = sqlx::query(
            "insert into windlass.packs (session, number, epoch, snapshot, bytes) \
             select id, $4, epoch, $5, $6 from windlass.sessions where id = $1 and epoch = $2 \
             and worker = $3 for update on conflict (session, number) do update \
             set epoch = $2, snapshot = $5, bytes = $6",
        )
        .bind(claim.session)
        .bind(to_i64(claim.epoch))
        .bind(claim.worker)
        .bind(pack.number)
        .bind(pack.snapshot)
        .bind(pack.bytes)
        .execute(&self.pool)
        .await?;
        claim.check_held(done.rows_affected())
    }

    /// The packs of a session, oldest first.
    pub async fn read_packs(&self, session: &str) -> Result<Vec<(i32, Vec<u8>)>, StoreError> {
        let packs = sqlx::query_as(
            "select number, bytes from windlass.packs where session = $1 order by number",
        );
        Ok(packs.bind(session).fetch_all(&self.pool).await?)
    }

    pub async fn put_blob(
        &self,
        claim: HeldClaim<'_>,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let done = sqlx::query(
            "insert into windlass.blobs (session, name, epoch, bytes) \
             select id, $4, epoch, $5 from windlass.sessions where id = $1 and epoch = $2 \
             and worker = $3 for update on conflict (session, name) do update \
             set epoch = $2, bytes = $5",
        )
        .bind(claim.session)
        .bind(to_i64(claim.epoch))
        .bind(claim.worker)
        .bind(name)
        .bind(bytes)
        .execute(&self.pool)
        .await?;
        claim.check_held(done.rows_affected())
    }

    /// Records the checked out commit if the claim holds, unless one is recorded already.
    pub async fn put_base_commit(
        &self,
        claim: HeldClaim<'_>,
        commit: &str,
    ) -> Result<(), StoreError> {
        let done = sqlx::query(
            "update windlass.sessions set base_commit = coalesce(base_commit, $4) \
             where id = $1 and epoch = $2 and worker = $3",
        )
        .bind(claim.session)
        .bind(to_i64(claim.epoch))
        .bind(claim.worker)
        .bind(commit)
        .execute(&self.pool)
        .await?;
        claim.check_held(done.rows_affected())
    }

    /// Records where the session's changes were pushed, or why they were not, if the claim holds.
    pub async fn put_branch(
        &self,
        claim: HeldClaim<'_>,
        outcome: &BranchOutcome,
    ) -> Result<(), StoreError> {
        let (branch, commit, problem) = match outcome {
            BranchOutcome::Pushed { branch, commit } => (Some(branch), Some(commit), None),
            BranchOutcome::Refused(problem) => (None, None, Some(problem)),
        };
        let done = sqlx::query(
            "update windlass.sessions set branch = coalesce($4, branch), \
             branch_commit = coalesce($5, branch_commit), branch_problem = $6 \
             where id = $1 and epoch = $2 and worker = $3",
        )
        .bind(claim.session)
        .bind(to_i64(claim.epoch))
        .bind(claim.worker)
        .bind(branch)
        .bind(commit)
        .bind(problem)
        .execute(&self.pool)
        .await?;
        claim.check_held(done.rows_affected())
    }
}

/// What became of a session's branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchOutcome {
    Pushed {
        branch: String,
        commit: String,
    },
    /// With the reason, in one line.
    Refused(String),
}
