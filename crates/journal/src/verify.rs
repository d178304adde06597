//! Does a replay decide what was decided then? The notes of a journal say what followed from its
//! events when they happened; here it is compared with what follows from them now.
//!
//! Notes may be missing (a process can die before it writes them). One that does not follow is a
//! difference: settings that are not those it ran with, another engine, or a fault.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;

use windlass_engine::{Effect, Settings};
use windlass_vocabulary::{MicroUsd, Notice, Terminal, Ticket, ToolCallId, Transition};

use crate::error::JournalError;
use crate::fold::{Folded, Replayed, fold_entries};
use crate::reader::{Entry, Reader};
use crate::record::{Ended, Intent, Item, Note, Record, Row};

/// What came of a comparison.
#[derive(Debug)]
pub struct Verified {
    /// The journal, replayed.
    pub folded: Folded,
    /// Notes that follow from the events.
    pub same: u64,
    /// What follows from the events and was never noted.
    pub missing: u64,
    /// The first note that does not follow: its record, and what it says.
    pub difference: Option<(u64, Note)>,
}

/// What a note and a step have in common.
#[derive(Debug, PartialEq, Eq)]
enum Followed {
    Started(Ticket, ToolCallId),
    Paid(Box<Row>),
    WentOn(Transition, u32),
    Finished(Terminal, u32),
}

#[derive(Default)]
struct Comparison {
    followed: VecDeque<Followed>,
    rows: usize,
    same: u64,
    missing: u64,
    difference: Option<(u64, Note)>,
}

/// Replays a journal and compares. Decided under the settings the journal holds; a journal that holds
/// none, under these.
///
/// # Errors
///
/// When the journal cannot be read, or a later version wrote it.
pub fn verify(journal: &Path, settings: &Settings) -> Result<Verified, JournalError> {
    let comparison = RefCell::new(Comparison::default());
    let see = |step: Replayed<'_>| comparison.borrow_mut().step(&step, settings);
    let meet = |entry| {
        if let Entry::Record(Record { seq, item: Item::Note(note), .. }) = entry {
            comparison.borrow_mut().note(seq, note);
        }
    };
    let (folded, _) = fold_entries(Reader::open(journal)?, settings, see, meet)?;
    let Comparison { followed, same, missing, difference, .. } = comparison.into_inner();
    let missing = missing + followed.len() as u64;
    Ok(Verified { folded, same, missing, difference })
}

impl Comparison {
    /// What follows from a step, in the order in which it is noted.
    fn step(&mut self, step: &Replayed<'_>, settings: &Settings) {
        let rows = step.state.ledger.rows().get(self.rows..).unwrap_or_default();
        self.rows += rows.len();
        for row in rows {
            let row = Row::of(row, &settings.agent.id, None);
            self.followed.push_back(Followed::Paid(Box::new(row)));
        }
        for effect in step.effects {
            match effect {
                Effect::StartTool { ticket, granted, .. } => {
                    let call = granted.get().id.clone();
                    self.followed.push_back(Followed::Started(*ticket, call));
                }
                Effect::Tell(Notice::Continued { transition, turn }) => {
                    self.followed.push_back(Followed::WentOn(*transition, *turn));
                }
                Effect::Finish(ending) => {
                    self.followed.push_back(Followed::Finished(ending.terminal, ending.turns));
                }
                _ => {}
            }
        }
        // Nothing was noted for so long that nothing will be.
        while self.followed.len() > FOLLOWED_MAX {
            self.followed.pop_front();
            self.missing += 1;
        }
    }

    fn note(&mut self, seq: u64, note: Note) {
        let noted = match &note {
            Note::Intended(Intent { ticket, call, .. }) => Followed::Started(*ticket, call.clone()),
            Note::Billed(row) => {
                Followed::Paid(Box::new(Row { prices: None, kept: MicroUsd(0), ..row.clone() }))
            }
            Note::Continued(transition, turn) => Followed::WentOn(*transition, *turn),
            Note::Ended(Ended { terminal, turns, .. }) => Followed::Finished(*terminal, *turns),
            _ => return,
        };
        match self.followed.iter().position(|followed| *followed == noted) {
            Some(at) => {
                self.followed.drain(..=at);
                self.same += 1;
                self.missing += at as u64;
            }
            None => drop(self.difference.get_or_insert((seq, note))),
        }
    }
}

/// What may wait for its note.
const FOLLOWED_MAX: usize = 1_000;
