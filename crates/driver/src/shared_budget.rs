//! This session's end of a budget that several processes share (`windlass_journal::SharedBudgetFile`).
//!
//! Before anything that costs money is sent, what it may cost is claimed in the file. Where that does not fit,
//! the claim waits while others may give some of theirs back; then it is refused, and the engine is told
//! the limit that is left for this session, by which it asks for less or ends.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use windlass_engine::ledger::Ledger;
use windlass_journal::{BudgetClaimOutcome, BudgetShare, SharedBudgetFile};
use windlass_vocabulary::{FailureKind, MicroUsd, Millis, ModelFailure};

/// This session's end of a shared budget.
#[derive(Debug)]
pub(crate) struct SharedBudget {
    /// Committed before: no part of the shared budget.
    base: BudgetShare,
    /// The session's own limit.
    limit: Option<MicroUsd>,
    /// What is left of it, as the engine was told.
    told: Option<MicroUsd>,
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
    /// What this session may have committed in all, if that is less than its own limit.
    left: Option<MicroUsd>,
}

impl SharedBudget {
    /// Draws on the budget in this file, if there is one, for this session, which has that ledger now.
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
        Some(Self { base, limit, told: None, claims, verdicts })
    }

    /// Claims what the ledger holds now. What costs money starts when the gate opens.
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

    /// Returns the limit by which the engine decides from now on, whenever that changes.
    pub(crate) async fn wait_for_limit(&mut self) -> Option<MicroUsd> {
        let told = self.told;
        let changed = self.verdicts.wait_for(|verdict| verdict.left != told).await;
        let left = changed.ok().map(|verdict| verdict.left);
        let Some(left) = left else {
            // Nothing is granted any more, and nothing changes.
            return std::future::pending().await;
        };
        self.told = left;
        left.or(self.limit)
    }
}

/// Opens when the shared budget holds what was claimed.
#[derive(Clone, Debug, Default)]
pub(crate) struct BudgetGate(Option<PendingClaim>);

#[derive(Clone, Debug)]
struct PendingClaim {
    verdicts: watch::Receiver<BudgetVerdict>,
    number: u64,
}

impl BudgetGate {
    /// Waits for the answer. The error is one after which the engine asks again, by the limit that it was
    /// told before.
    pub(crate) async fn wait(self) -> Result<(), ModelFailure> {
        let Some(PendingClaim { mut verdicts, number }) = self.0 else { return Ok(()) };
        let verdict = verdicts.wait_for(|verdict| verdict.number >= number).await;
        match verdict.is_ok_and(|verdict| verdict.is_granted) {
            true => Ok(()),
            false => {
                let words = "others hold what is left of the common budget";
                let mut failure = ModelFailure::new(FailureKind::RateLimited, words);
                failure.retry_after = Some(Millis(1));
                Err(failure)
            }
        }
    }
}

/// Writes this session's claims down, one after the other.
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
                        // What a refused request gives back is no sign that there is room for it now: it is
                        // asked again by what is left.
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

    /// A budget that cannot be read or written grants nothing.
    async fn try_claim(&self, share: BudgetShare, may_wait: bool) -> BudgetClaimOutcome {
        let (path, session) = (self.path.clone(), self.session.clone());
        let claimed = tokio::task::spawn_blocking(move || {
            SharedBudgetFile::open(&path)?.claim(&session, share, may_wait)
        });
        claimed.await.ok().and_then(Result::ok).unwrap_or(BudgetClaimOutcome::Refused(0))
    }
}

/// How long a request waits for others to give something back before it asks for less.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(120);
const BUSY_PAUSE: Duration = Duration::from_millis(20);
