//! This session's part of a budget that several processes share
//! (`windlass_journal::SharedBudgetFile`).
//!
//! Before anything that costs money is sent, its maximal cost is claimed in the file. If that does
//! not fit, the claim waits, because others may release some of theirs; after a timeout it is
//! refused, and the engine gets the remaining limit of this session, so that it asks for less or
//! ends.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use windlass_engine::ledger::Ledger;
use windlass_journal::{BudgetClaimOutcome, BudgetShare, SharedBudgetFile};
use windlass_vocabulary::{FailureKind, MicroUsd, Millis, ModelFailure};

#[derive(Debug)]
pub(crate) struct SharedBudget {
    /// Committed before the session joined: not part of the shared budget.
    base: BudgetShare,
    /// The session's own limit.
    limit: Option<MicroUsd>,
    /// The remaining limit last sent to the engine.
    sent_limit: Option<MicroUsd>,
    claims: watch::Sender<BudgetClaim>,
    verdicts: watch::Receiver<BudgetVerdict>,
}

#[derive(Clone, Copy, Debug, Default)]
struct BudgetClaim {
    number: u64,
    share: BudgetShare,
}

#[derive(Clone, Copy, Debug, Default)]
struct BudgetVerdict {
    number: u64,
    is_granted: bool,
    /// The total this session may commit, if that is less than its own limit.
    left: Option<MicroUsd>,
}

impl SharedBudget {
    /// Joins the budget in this file, if there is one, with this initial ledger.
    pub(crate) fn start(
        file_and_session: Option<(PathBuf, String)>,
        ledger: &Ledger,
        limit: Option<MicroUsd>,
    ) -> Option<Self> {
        let (path, session) = file_and_session?;
        let base = BudgetShare::of(ledger);
        let (claims, asked) = watch::channel(BudgetClaim::default());
        let (answer, verdicts) = watch::channel(BudgetVerdict::default());
        let writer = BudgetWriter { path, session, base: base.total(), answer };
        tokio::spawn(writer.run(asked));
        Some(Self { base, limit, sent_limit: None, claims, verdicts })
    }

    /// Claims the ledger's commitments. The gate opens when they are granted.
    pub(crate) fn claim(&self, ledger: &Ledger) -> BudgetGate {
        let now = BudgetShare::of(ledger);
        let spent = now.spent.saturating_sub(self.base.spent);
        let reserved = now.reserved.saturating_sub(self.base.reserved);
        let share = BudgetShare { spent, reserved, is_waiting: false };
        self.claims.send_if_modified(|claim| {
            let is_new = claim.share != share;
            if is_new {
                *claim = BudgetClaim { number: claim.number + 1, share };
            }
            is_new
        });
        let number = self.claims.borrow().number;
        BudgetGate(Some(PendingClaim { verdicts: self.verdicts.clone(), number }))
    }

    /// Waits for a change, and returns the limit by which the engine must decide.
    pub(crate) async fn wait_for_limit(&mut self) -> Option<MicroUsd> {
        let sent_limit = self.sent_limit;
        let changed = self.verdicts.wait_for(|verdict| verdict.left != sent_limit).await;
        let left = changed.ok().map(|verdict| verdict.left);
        let Some(left) = left else {
            // The writer has ended, so nothing changes any more.
            return std::future::pending().await;
        };
        self.sent_limit = left;
        left.or(self.limit)
    }
}

/// Opens when the claim is granted.
#[derive(Clone, Debug, Default)]
pub(crate) struct BudgetGate(Option<PendingClaim>);

#[derive(Clone, Debug)]
struct PendingClaim {
    verdicts: watch::Receiver<BudgetVerdict>,
    number: u64,
}

impl BudgetGate {
    /// Waits for the answer. After the error the engine asks again, with the limit it received
    /// before.
    pub(crate) async fn wait(self) -> Result<(), ModelFailure> {
        let Some(PendingClaim { mut verdicts, number }) = self.0 else { return Ok(()) };
        let verdict = verdicts.wait_for(|verdict| verdict.number >= number).await;
        match verdict.is_ok_and(|verdict| verdict.is_granted) {
            true => Ok(()),
            false => {
                let words = "other sessions hold the rest of the shared budget";
                let mut failure = ModelFailure::new(FailureKind::RateLimited, words);
                failure.retry_after = Some(Millis(1));
                Err(failure)
            }
        }
    }
}

/// Writes this session's claims, one after the other.
struct BudgetWriter {
    path: PathBuf,
    session: String,
    base: u64,
    answer: watch::Sender<BudgetVerdict>,
}

impl BudgetWriter {
    async fn run(self, mut asked: watch::Receiver<BudgetClaim>) {
        let mut granted = 0;
        let mut left = None;
        while asked.changed().await.is_ok() {
            let began = tokio::time::Instant::now();
            loop {
                let claim = *asked.borrow_and_update();
                let outcome = self.try_claim(claim.share, began.elapsed() < BUSY_WAIT_MAX).await;
                let is_granted = match outcome {
                    BudgetClaimOutcome::Granted => {
                        // A claim that releases money after a refusal does not mean that there is
                        // room: the refused request is decided again by the new limit.
                        let has_room = claim.share.total() > granted;
                        left = left.filter(|_| !has_room);
                        granted = claim.share.total();
                        true
                    }
                    BudgetClaimOutcome::Refused(free) => {
                        left = Some(MicroUsd(free.saturating_add(self.base)));
                        false
                    }
                    BudgetClaimOutcome::Busy(_) => {
                        tokio::time::sleep(BUSY_PAUSE).await;
                        continue;
                    }
                };
                let number = claim.number;
                self.answer.send_replace(BudgetVerdict { number, is_granted, left });
                break;
            }
        }
    }

    /// A budget file that cannot be read or written grants nothing.
    async fn try_claim(&self, share: BudgetShare, may_wait: bool) -> BudgetClaimOutcome {
        let path = self.path.clone();
        let session = self.session.clone();
        let claimed = tokio::task::spawn_blocking(move || {
            SharedBudgetFile::open(&path)?.claim(&session, share, may_wait)
        });
        claimed.await.ok().and_then(Result::ok).unwrap_or(BudgetClaimOutcome::Refused(0))
    }
}

/// How long a request waits for others to release money before it is refused.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(120);
const BUSY_PAUSE: Duration = Duration::from_millis(20);
