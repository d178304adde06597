//! Verifies that a replay makes the recorded decisions. The notes of a journal record what followed
//! from its events at the time; here they are compared with what follows now.
//!
//! Notes may be missing, because a process can die before it writes them. A note that does not
//! follow is a difference: other settings, another version of the engine, or a bug.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;

use windlass_engine::{Effect, Settings};
use windlass_vocabulary::{MicroUsd, Notice, Terminal, Ticket, ToolCallId, Transition};

use crate::error::JournalError;
use crate::fold::{FoldedJournal, ReplayStep, fold_entries};
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::record::{BilledRow, JournalNote, JournalRecord, RecordItem, RunEndedNote, ToolIntent};

#[derive(Debug)]
pub struct VerifyReport {
    pub folded: FoldedJournal,
    /// Notes that follow from the events.
    pub same: u64,
    /// What follows from the events but was never noted.
    pub missing: u64,
    /// The first note that does not follow, with its record.
    pub difference: Option<(u64, JournalNote)>,
}

/// The common form of notes and steps.
#[derive(Debug, PartialEq, Eq)]
enum ReplayOutcome {
    ToolStarted(Ticket, ToolCallId),
    RequestBilled(Box<BilledRow>),
    RunContinued(Transition, u32),
    RunFinished(Terminal, u32),
}

#[derive(Default)]
struct ReplayComparison {
    expected: VecDeque<ReplayOutcome>,
    rows: usize,
    same: u64,
    missing: u64,
    difference: Option<(u64, JournalNote)>,
}

/// Replays a journal and compares. Uses the settings in the journal, or these if it contains none.
pub fn verify(journal: &Path, settings: &Settings) -> Result<VerifyReport, JournalError> {
    let comparison = RefCell::new(ReplayComparison::default());
    let on_step = |step: ReplayStep<'_>| comparison.borrow_mut().expect_step(&step, settings);
    let on_entry = |entry| {
        if let JournalEntry::Record(JournalRecord { seq, item: RecordItem::Note(note), .. }) = entry
        {
            comparison.borrow_mut().match_note(seq, note);
        }
    };
    let (folded, _) = fold_entries(JournalReader::open(journal)?, settings, on_step, on_entry)?;
    let ReplayComparison { expected: followed, same, missing, difference, .. } =
        comparison.into_inner();
    let missing = missing + followed.len() as u64;
    Ok(VerifyReport { folded, same, missing, difference })
}

impl ReplayComparison {
    /// Expects the notes of a step, in order.
    fn expect_step(&mut self, step: &ReplayStep<'_>, settings: &Settings) {
        let rows = step.state.ledger.rows().get(self.rows..).unwrap_or_default();
        self.rows += rows.len();
        for row in rows {
            let row = BilledRow::from_ledger_row(row, &settings.agent.id, None);
            self.expected.push_back(ReplayOutcome::RequestBilled(Box::new(row)));
        }
        for effect in step.effects {
            match effect {
                Effect::StartTool { ticket, granted, .. } => {
                    let call = granted.get().id.clone();
                    self.expected.push_back(ReplayOutcome::ToolStarted(*ticket, call));
                }
                Effect::Tell(Notice::Continued { transition, turn }) => {
                    self.expected.push_back(ReplayOutcome::RunContinued(*transition, *turn));
                }
                Effect::Finish(ending) => {
                    self.expected
                        .push_back(ReplayOutcome::RunFinished(ending.terminal, ending.turns));
                }
                Effect::CallModel(_)
                | Effect::CancelModel { .. }
                | Effect::CancelTool { .. }
                | Effect::AskPermission { .. }
                | Effect::RunHook { .. }
                | Effect::Keep { .. }
                | Effect::Summarize { .. }
                | Effect::Spill { .. }
                | Effect::Prefetch { .. }
                | Effect::SetTimer { .. }
                | Effect::Tell(_) => {}
            }
        }
        // After this many steps a missing note will not come any more.
        while self.expected.len() > EXPECTED_MAX {
            self.expected.pop_front();
            self.missing += 1;
        }
    }

    fn match_note(&mut self, seq: u64, note: JournalNote) {
        let noted = match &note {
            JournalNote::Intended(ToolIntent { ticket, call, .. }) => {
                ReplayOutcome::ToolStarted(*ticket, call.clone())
            }
            JournalNote::Billed(row) => ReplayOutcome::RequestBilled(Box::new(BilledRow {
                prices: None,
                kept: MicroUsd(0),
                ..row.clone()
            })),
            JournalNote::Continued(transition, turn) => {
                ReplayOutcome::RunContinued(*transition, *turn)
            }
            JournalNote::Ended(RunEndedNote { terminal, turns, .. }) => {
                ReplayOutcome::RunFinished(*terminal, *turns)
            }
            JournalNote::Asked(_)
            | JournalNote::Context(_)
            | JournalNote::Titled(_)
            | JournalNote::Named(_)
            | JournalNote::Unqueued(_)
            | JournalNote::Lines(_)
            | JournalNote::Unknown(_) => return,
        };
        match self.expected.iter().position(|followed| *followed == noted) {
            Some(at) => {
                self.expected.drain(..=at);
                self.same += 1;
                self.missing += at as u64;
            }
            None => drop(self.difference.get_or_insert((seq, note))),
        }
    }
}

/// Limit on the notes waited for.
const EXPECTED_MAX: usize = 1_000;
