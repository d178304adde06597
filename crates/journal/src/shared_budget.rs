//! One cost limit for several sessions, in one file.
//!
//! Each change of a session's spent and reserved money is a line; the last line of a session
//! counts. A share is raised under the file's lock, and only if the sum of all shares stays within
//! the limit. A process that is killed leaves its last line, so its reservations stay. How long
//! sessions wait for each other is decided elsewhere.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_engine::ledger::Ledger;
use windlass_vocabulary::MicroUsd;

#[derive(Debug)]
pub struct SharedBudgetFile {
    file: File,
}

/// What one session has spent and reserved since it joined the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetShare {
    pub spent: u64,
    pub reserved: u64,
    /// It is waiting for others itself, so others should not wait for it.
    pub is_waiting: bool,
}

impl BudgetShare {
    /// Everything a session has spent and reserved.
    #[must_use]
    pub fn of(ledger: &Ledger) -> Self {
        Self { spent: ledger.spent().0, reserved: ledger.reserved().0, is_waiting: false }
    }

    #[must_use]
    pub fn total(self) -> u64 {
        self.spent.saturating_add(self.reserved)
    }
}

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetClaimOutcome {
    Granted,
    /// Others may release enough. This much is available to this session now.
    Busy(u64),
    /// Others have spent too much. This much is available to this session.
    Refused(u64),
}

impl SharedBudgetFile {
    /// Creates a budget.
    ///
    /// # Errors
    ///
    /// The file cannot be created.
    pub fn create(path: &Path, limit: MicroUsd) -> io::Result<Self> {
        let mut file = File::options().read(true).append(true).create_new(true).open(path)?;
        file.write_all(format!("limit {}\n", limit.0).as_bytes())?;
        Ok(Self { file })
    }

    /// Opens an existing budget.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::options().read(true).append(true).open(path)? })
    }

    /// Called when a session has ended in any way: this much stays spent.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn close_share(&mut self, session: &str, committed: MicroUsd) -> io::Result<()> {
        self.lock()?;
        let share = BudgetShare { spent: committed.0, ..BudgetShare::default() };
        let written = self.append(session, share);
        self.file.unlock()?;
        written
    }

    /// Claims a share that covers everything this session has spent and reserved.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written.
    pub fn claim(
        &mut self,
        session: &str,
        wanted: BudgetShare,
        may_wait: bool,
    ) -> io::Result<BudgetClaimOutcome> {
        self.lock()?;
        let outcome = self.claim_locked(session, wanted, may_wait);
        self.file.unlock()?;
        outcome
    }

    fn claim_locked(
        &mut self,
        session: &str,
        wanted: BudgetShare,
        may_wait: bool,
    ) -> io::Result<BudgetClaimOutcome> {
        let (limit, mut shares) = self.read()?;
        let own = shares.remove(session).unwrap_or_default();
        let sum = |part: fn(BudgetShare) -> u64| {
            shares.values().fold(0_u64, |sum, share| sum.saturating_add(part(*share)))
        };
        let others = sum(BudgetShare::total);
        if wanted.total() <= own.total() || others.saturating_add(wanted.total()) <= limit {
            self.append(session, wanted)?;
            return Ok(BudgetClaimOutcome::Granted);
        }
        let free = limit.saturating_sub(others);
        let may_come_back =
            sum(|share| if share.is_waiting { 0 } else { share.reserved }) > 0 && may_wait;
        let least = sum(|share| share.spent).saturating_add(wanted.total());
        let is_busy = may_come_back && least <= limit;
        // Spent money is recorded even if the claim fails.
        let spent = own.spent.max(wanted.spent);
        let reserved = own.total().saturating_sub(spent);
        let held = BudgetShare { spent, reserved, is_waiting: is_busy };
        if held != own {
            self.append(session, held)?;
        }
        Ok(if is_busy { BudgetClaimOutcome::Busy(free) } else { BudgetClaimOutcome::Refused(free) })
    }

    fn append(&mut self, session: &str, share: BudgetShare) -> io::Result<()> {
        let BudgetShare { spent, reserved, is_waiting } = share;
        let waiting = u8::from(is_waiting);
        // An incomplete line must not swallow this one.
        let begin = if self.has_whole_lines()? { "" } else { "\n" };
        let line = format!("{begin}{session} {spent} {reserved} {waiting}\n");
        self.file.write_all(line.as_bytes())
    }

    fn has_whole_lines(&self) -> io::Result<bool> {
        let mut file = &self.file;
        let length = file.seek(io::SeekFrom::End(0))?;
        let Some(last) = length.checked_sub(1) else { return Ok(true) };
        file.seek(io::SeekFrom::Start(last))?;
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        Ok(byte == *b"\n")
    }

    /// The limit, and the last line of each session. An incomplete line is ignored: its writer
    /// never got an answer.
    fn read(&mut self) -> io::Result<(u64, BTreeMap<String, BudgetShare>)> {
        let mut text = String::new();
        self.file.rewind()?;
        (&self.file).take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        let mut limit = 0;
        let mut shares = BTreeMap::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |place: usize| words.get(place)?.parse::<u64>().ok();
            match words.first() {
                Some(&"limit") if words.len() == 2 => limit = number(1).unwrap_or(0),
                Some(session) if words.len() == 4 => {
                    if let (Some(spent), Some(reserved), Some(waiting)) =
                        (number(1), number(2), number(3))
                    {
                        let share = BudgetShare { spent, reserved, is_waiting: waiting != 0 };
                        shares.insert((*session).to_owned(), share);
                    }
                }
                Some(_) | None => {}
            }
        }
        Ok((limit, shares))
    }

    /// Held only for one read and one write.
    fn lock(&self) -> io::Result<()> {
        let began = Instant::now();
        loop {
            match self.file.try_lock() {
                Ok(()) => return Ok(()),
                Err(fs::TryLockError::WouldBlock) if began.elapsed() < LOCK_WAIT_MAX => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(fs::TryLockError::WouldBlock) => {
                    return Err(io::Error::other("another process holds the budget"));
                }
                Err(fs::TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

/// Enough for thousands of requests.
const FILE_BYTES_MAX: u64 = 16 << 20;
const LOCK_PAUSE: Duration = Duration::from_millis(2);
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn share(spent: u64, reserved: u64) -> BudgetShare {
        BudgetShare { spent, reserved, is_waiting: false }
    }

    #[test]
    fn what_one_leaves_another_takes_and_the_sum_never_passes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("budget");
        SharedBudgetFile::create(&path, MicroUsd(100)).expect("a file");
        let mut file = SharedBudgetFile::open(&path).expect("the file");
        let mut claim =
            |session: &str, share: BudgetShare| file.claim(session, share, true).expect("claimed");
        assert_eq!(claim("a", share(0, 60)), BudgetClaimOutcome::Granted);
        assert_eq!(claim("b", share(0, 60)), BudgetClaimOutcome::Busy(40), "a may give some back");
        assert_eq!(claim("c", share(0, 60)), BudgetClaimOutcome::Busy(40), "so it may for c");
        assert_eq!(claim("a", share(10, 0)), BudgetClaimOutcome::Granted, "less always goes");
        assert_eq!(
            claim("b", share(0, 60)),
            BudgetClaimOutcome::Granted,
            "more than a third of it"
        );
        assert_eq!(
            claim("a", share(10, 91)),
            BudgetClaimOutcome::Refused(40),
            "never enough for that"
        );
        assert_eq!(claim("b", share(60, 0)), BudgetClaimOutcome::Granted);
        assert_eq!(claim("a", share(10, 31)), BudgetClaimOutcome::Refused(40));
        assert_eq!(claim("a", share(10, 30)), BudgetClaimOutcome::Granted);
    }

    #[test]
    fn processes_that_wait_for_each_other_do_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("budget");
        let mut file = SharedBudgetFile::create(&path, MicroUsd(100)).expect("a file");
        assert_eq!(
            file.claim("a", share(0, 50), true).expect("claimed"),
            BudgetClaimOutcome::Granted
        );
        assert_eq!(
            file.claim("b", share(0, 50), true).expect("claimed"),
            BudgetClaimOutcome::Granted
        );
        assert_eq!(
            file.claim("a", share(0, 70), true).expect("claimed"),
            BudgetClaimOutcome::Busy(50)
        );
        assert_eq!(
            file.claim("b", share(0, 70), true).expect("claimed"),
            BudgetClaimOutcome::Refused(50)
        );
        // After a process has ended, the amount in its journal stays spent, and the rest is free.
        file.close_share("a", MicroUsd(20)).expect("written");
        assert_eq!(
            file.claim("b", share(0, 70), true).expect("claimed"),
            BudgetClaimOutcome::Granted
        );
    }

    /// A process that is killed while it writes leaves part of a line: no grant of another session
    /// is lost by that, and later grants stay within the limit.
    #[test]
    fn a_kill_at_any_byte_of_any_write_keeps_the_sum() {
        let claims = [("a", share(0, 60)), ("b", share(0, 30)), ("a", share(20, 30))];
        for killed in 0..claims.len() {
            for written in 0..9 {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join("budget");
                let mut file = SharedBudgetFile::create(&path, MicroUsd(100)).expect("a file");
                let mut claim = |session: &str, share: BudgetShare| {
                    file.claim(session, share, false).expect("claimed")
                };
                for (session, share) in claims.iter().take(killed) {
                    assert_eq!(claim(session, *share), BudgetClaimOutcome::Granted);
                }
                let before = fs::metadata(&path).expect("a file").len();
                let (session, share_of_killed) = claims[killed];
                assert_eq!(claim(session, share_of_killed), BudgetClaimOutcome::Granted);
                let whole = fs::metadata(&path).expect("a file").len();
                // A complete line without a line ending is still read.
                if before + written + 1 >= whole {
                    continue;
                }
                let cut = File::options().write(true).open(&path).expect("the file");
                cut.set_len(before + written).expect("cut");
                let held: u64 = match killed {
                    0 => 0,
                    1 => 60,
                    _ => 90,
                };
                assert_eq!(
                    claim("c", share(0, 101 - held)),
                    BudgetClaimOutcome::Refused(100 - held),
                    "{written} bytes of line {killed}: what was granted counts"
                );
                assert_eq!(claim("c", share(0, 100 - held)), BudgetClaimOutcome::Granted);
                assert_eq!(
                    claim("d", share(0, 1)),
                    BudgetClaimOutcome::Refused(0),
                    "{written} bytes of line {killed}: the line after it counts too"
                );
            }
        }
    }

    #[test]
    fn many_at_once_never_pass_the_limit_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("budget");
        SharedBudgetFile::create(&path, MicroUsd(1_000)).expect("a file");
        let totals: Vec<u64> = std::thread::scope(|scope| {
            let workers = (0..6).map(|worker| {
                let path = &path;
                scope.spawn(move || {
                    let session = format!("session-{worker}");
                    let mut spent = 0;
                    for _ in 0..40 {
                        let mut file = SharedBudgetFile::open(path).expect("the file");
                        let claimed = file.claim(&session, share(spent, 30), false);
                        if claimed.expect("claimed") == BudgetClaimOutcome::Granted {
                            spent += 30;
                        }
                    }
                    spent
                })
            });
            let workers: Vec<_> = workers.collect();
            workers.into_iter().map(|worker| worker.join().expect("ended")).collect()
        });
        let sum: u64 = totals.iter().sum();
        assert!((900..=1_000).contains(&sum), "{totals:?}");
    }
}
