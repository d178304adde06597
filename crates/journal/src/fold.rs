//! Rebuilds the state from records by replaying their events through the engine.
//!
//! The effects are dropped: a replayed session starts nothing. Replay is exact, because each event
//! is decided under the settings in force when it happened, which the journal contains. The
//! settings argument is used only for a journal without any.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use windlass_engine::{Effect, Event, Settings, State, Step, step};

use crate::error::JournalError;
use crate::journal_reader::{JournalEntry, JournalReader, LinePlace};
use crate::realigner::Realigner;
use crate::record::{FORMAT_VERSION, JournalRecord, LineDamage, RecordItem};

/// The result of replaying a journal.
#[derive(Debug)]
pub struct FoldedJournal {
    /// The state after the last record.
    pub state: State,
    /// The settings in force at the end.
    pub settings: Arc<Settings>,
    /// The number of the last record; zero if there is none.
    pub seq: u64,
    /// The length of all complete lines of the last file.
    pub whole_bytes: u64,
    /// The length of an incomplete last line, which was ignored.
    pub torn_bytes: u64,
    /// The numbers of skipped lines, and why; at most `DAMAGES_MAX` are listed.
    pub damages: Vec<(u64, LineDamage)>,
}

/// Limit on the damaged lines listed in a [`FoldedJournal`].
pub(crate) const DAMAGES_MAX: usize = 100;

/// Replays a journal. A file that does not exist is an empty journal.
pub fn fold(path: &Path, settings: &Settings) -> Result<FoldedJournal, JournalError> {
    match JournalReader::open(path) {
        Err(error) if error.is_missing() => {
            fold_reader(JournalReader::new(std::io::empty(), path), settings, |_| {})
        }
        reader => fold_reader(reader?, settings, |_| {}),
    }
}

/// Was a run in progress when the last record was written?
pub fn has_unfinished_run(path: &Path, settings: &Settings) -> Result<bool, JournalError> {
    Ok(fold(path, settings)?.state.control.phase.is_running())
}

#[derive(Debug)]
pub struct ReplayStep<'a> {
    pub seq: u64,
    pub at: u64,
    pub state: &'a State,
    /// The settings under which it was decided.
    pub settings: &'a Settings,
    /// The resulting effects.
    pub effects: &'a [Effect],
}

/// Receives the parts of a replay; each method is optional.
pub(crate) trait ReplayVisitor {
    /// Called before an event is applied.
    fn visit_event(&mut self, _event: ReplayedEvent<'_>) {}

    /// Called after an event was applied.
    fn visit_step(&mut self, _step: ReplayStep<'_>) {}

    /// Called for a head, a claim or a note.
    fn visit_entry(&mut self, _entry: JournalEntry) {}
}

/// An event from the journal, and the state before it.
#[derive(Debug)]
pub(crate) struct ReplayedEvent<'a> {
    pub place: LinePlace,
    pub seq: u64,
    pub at: u64,
    pub event: &'a Event,
    pub state: &'a State,
}

/// Replays a journal with a visitor.
pub(crate) fn replay_with_visitor(
    reader: JournalReader,
    settings: &Settings,
    visitor: impl ReplayVisitor,
) -> Result<FoldedJournal, JournalError> {
    fold_visited(reader, settings, visitor).map(|(folded, _)| folded)
}

/// A visitor made of functions.
struct FunctionVisitor<OnStep, OnEntry> {
    on_step: OnStep,
    on_entry: OnEntry,
}

impl<OnStep: FnMut(ReplayStep<'_>), OnEntry: FnMut(JournalEntry)> ReplayVisitor
    for FunctionVisitor<OnStep, OnEntry>
{
    fn visit_step(&mut self, step: ReplayStep<'_>) {
        (self.on_step)(step);
    }

    fn visit_entry(&mut self, entry: JournalEntry) {
        (self.on_entry)(entry);
    }
}

/// Replays a journal, and calls a function with every step.
pub fn replay(
    reader: JournalReader,
    settings: &Settings,
    on_step: impl FnMut(ReplayStep<'_>),
) -> Result<FoldedJournal, JournalError> {
    fold_reader(reader, settings, on_step)
}

pub(crate) fn fold_reader(
    reader: JournalReader,
    settings: &Settings,
    on_step: impl FnMut(ReplayStep<'_>),
) -> Result<FoldedJournal, JournalError> {
    fold_entries(reader, settings, on_step, |_| {}).map(|(folded, _)| folded)
}

/// Replays everything that is left to read; `meet` receives heads, claims and notes. Returns the
/// reader, at its end.
pub(crate) fn fold_entries(
    reader: JournalReader,
    settings: &Settings,
    on_step: impl FnMut(ReplayStep<'_>),
    on_entry: impl FnMut(JournalEntry),
) -> Result<(FoldedJournal, JournalReader), JournalError> {
    fold_visited(reader, settings, FunctionVisitor { on_step, on_entry })
}

fn fold_visited(
    reader: JournalReader,
    settings: &Settings,
    visitor: impl ReplayVisitor,
) -> Result<(FoldedJournal, JournalReader), JournalError> {
    let GrowingReplay { folding, reader } =
        GrowingReplay::new(reader, settings, visitor).advance()?;
    let FoldProgress { state, settings, damages, .. } = folding;
    let folded = FoldedJournal {
        state,
        settings,
        seq: reader.seq(),
        whole_bytes: reader.whole_bytes(),
        torn_bytes: reader.torn_bytes(),
        damages,
    };
    Ok((folded, reader))
}

/// A replay that can continue when its journal has grown.
pub(crate) struct GrowingReplay<V> {
    folding: FoldProgress<V>,
    reader: JournalReader,
}

impl<V: ReplayVisitor> GrowingReplay<V> {
    pub(crate) fn new(reader: JournalReader, settings: &Settings, visitor: V) -> Self {
        let folding = FoldProgress {
            state: State::new(settings),
            settings: Arc::new(settings.clone()),
            is_begun: false,
            damages: Vec::new(),
            realigner: Realigner::default(),
            visitor,
        };
        Self { folding, reader }
    }

    /// Replays what has been added so far.
    pub(crate) fn advance(self) -> Result<Self, JournalError> {
        let Self { mut folding, mut reader } = self;
        for _ in 0..SINGLE_THREADED_ENTRIES {
            let Some(entry) = reader.next_entry()? else { return Ok(Self { folding, reader }) };
            folding = folding.apply_entry((reader.line_place(), entry), reader.path())?;
        }
        let (folding, reader) = fold_with_reader_thread(folding, reader)?;
        Ok(Self { folding, reader })
    }

    /// The number of the last record.
    pub(crate) fn seq(&self) -> u64 {
        self.reader.seq()
    }

    /// The number of damaged lines listed.
    pub(crate) fn damage_count(&self) -> usize {
        self.folding.damages.len()
    }

    /// Can the reader see lines that are added? Only if it is after a complete line of the last
    /// file.
    pub(crate) fn can_go_on(&self) -> bool {
        self.reader.can_go_on()
    }
}

type PlacedEntry = (LinePlace, Result<JournalEntry, LineDamage>);

struct FoldProgress<V> {
    state: State,
    settings: Arc<Settings>,
    /// An event was applied.
    is_begun: bool,
    damages: Vec<(u64, LineDamage)>,
    realigner: Realigner,
    visitor: V,
}

impl<V: ReplayVisitor> FoldProgress<V> {
    fn apply_entry(
        mut self,
        (place, entry): PlacedEntry,
        path: &Path,
    ) -> Result<Self, JournalError> {
        match entry {
            Ok(JournalEntry::Record(JournalRecord { seq, at, item: RecordItem::Event(event) })) => {
                let state = &self.state;
                self.visitor.visit_event(ReplayedEvent { place, seq, at, event: &event, state });
                for event in
                    self.realigner.build_missing_events(&self.state, &event).into_iter().flatten()
                {
                    self = self.apply_event(seq, at, event);
                }
                let event = self.realigner.align_event(&self.state, event);
                self = self.apply_event(seq, at, event);
            }
            Ok(other) => {
                if let JournalEntry::Record(JournalRecord {
                    item: RecordItem::Note(note), ..
                }) = &other
                {
                    self.realigner.observe_note(note);
                }
                self.visitor.visit_entry(other);
            }
            Err(LineDamage::Newer(found)) => {
                return Err(JournalError::Newer {
                    path: path.to_owned(),
                    found,
                    known: FORMAT_VERSION,
                });
            }
            Err(damage) => {
                if !matches!(damage, LineDamage::Repeated(_) | LineDamage::Fenced(_)) {
                    self.realigner.mark_loss();
                }
                if self.damages.len() < DAMAGES_MAX {
                    self.damages.push((place.number, damage));
                }
            }
        }
        Ok(self)
    }

    fn apply_event(mut self, seq: u64, at: u64, event: Event) -> Self {
        if let Event::Configured(settings) = &event {
            self.settings = Arc::new(Settings::clone(settings));
            if !self.is_begun {
                // These are the settings with which the session began.
                self.state = State::new(settings);
            }
        }
        self.is_begun = true;
        let Step { state, effects } = step(self.state, event, &self.settings);
        self.state = state;
        let Self { state, settings, visitor, .. } = &mut self;
        visitor.visit_step(ReplayStep { seq, at, state, settings, effects: &effects });
        self
    }
}

/// Replays the rest of a long journal while another thread reads it: both take about the same time.
fn fold_with_reader_thread<V: ReplayVisitor>(
    mut folding: FoldProgress<V>,
    mut reader: JournalReader,
) -> Result<(FoldProgress<V>, JournalReader), JournalError> {
    let path = reader.path().to_owned();
    let (sender, receiver) = sync_channel::<Vec<PlacedEntry>>(BATCHES_MAX);
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut is_at_end = false;
            while !is_at_end {
                let mut batch = Vec::with_capacity(BATCH_ENTRIES);
                while batch.len() < BATCH_ENTRIES && !is_at_end {
                    match reader.next_entry()? {
                        Some(entry) => batch.push((reader.line_place(), entry)),
                        None => is_at_end = true,
                    }
                }
                // Fails when the receiver has stopped because of an error.
                is_at_end |= sender.send(batch).is_err();
            }
            Ok(reader)
        });
        for entry in receiver.iter().flatten() {
            folding = folding.apply_entry(entry, &path)?;
        }
        match reading.join() {
            Ok(reader) => Ok((folding, reader?)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// For fewer entries than this a second thread does not pay off.
const SINGLE_THREADED_ENTRIES: usize = 500;
/// Entries per batch.
const BATCH_ENTRIES: usize = 64;
/// Capacity of the queue of batches.
const BATCHES_MAX: usize = 4;
