//! Write ahead: an event is written before its effects are performed, and on the disk before those
//! that cannot be taken back.
//!
//! A request, a tool that changes something and the end of a run wait for the disk; all other records
//! ride on the next such wait ([`JournalSyncer`]). Pieces of text change no decision, so they are grouped
//! and written with the next event that does; raw wire events and words of progress are not written
//! at all. When the disk fails, the event in hand is not acted on and the session ends; what is not safe
//! is saved in another file where that can be done.

pub(crate) mod durability;
pub(crate) mod journal_notes;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::spawn_blocking;
use windlass_engine::{Effect, Event, Settings, State};
use windlass_journal::{
    Durability, FoldedJournal, JournalEntry, JournalError, JournalHead, JournalNote,
    JournalOpenOptions, JournalWriter, KnownConversation, LockedJournal, NewRecordItem, ReplayStep,
    RescuedSession, rescue_session,
};
use windlass_vocabulary::{Delta, EffectClass, Message, MessageOrigin, MicroUsd};

use self::durability::{DurabilityGate, JournalSyncer};
use self::journal_notes::{JournalNoteCollector, effect_class};
use crate::clock::{self, timeout};
use crate::joinable_delta::find_joinable_delta;
use crate::journal_location::JournalLocation;
use crate::notices::NoticeSender;
use crate::rewind::FileHistory;
use crate::transcript_writer::SessionTranscriptWriter;

/// The journal of a session, if it has one.
pub(crate) enum SessionJournal {
    /// Nothing is written down.
    Off,
    /// Events are written down here.
    On(Box<OpenJournal>),
    /// It can no longer be written.
    Broken(Box<BrokenJournal>),
}

pub(crate) struct BrokenJournal {
    error: JournalError,
    /// The journal as it was opened, if another program changed it: memory knows more than the file.
    damaged: Option<JournalLocation>,
    /// Where what is known was kept instead.
    rescued: Option<RescuedSession>,
}

impl From<JournalError> for Box<BrokenJournal> {
    fn from(error: JournalError) -> Self {
        Self::new(BrokenJournal { error, damaged: None, rescued: None })
    }
}

pub(crate) struct OpenJournal {
    writer: JournalWriter,
    pending_text: Option<Event>,
    /// What follows from events and is not written yet.
    notes: Vec<JournalNote>,
    note_collector: JournalNoteCollector,
    is_continued: bool,
    location: JournalLocation,
    /// Waits for the disk, if records are to survive a loss of power.
    syncer: Option<JournalSyncer>,
    /// Why a file was left for the next one, in words.
    abandoned_reason: Option<String>,
}

impl SessionJournal {
    /// Opens the journal, if there is to be one, and gives what to begin with.
    pub(crate) fn open(
        location: Option<JournalLocation>,
        settings: &Arc<Settings>,
        notice_sender: &NoticeSender,
        transcript: &mut SessionTranscriptWriter,
    ) -> Result<OpenedJournal, JournalError> {
        match location {
            None => {
                transcript.begin_writing(None);
                let journal = Self::Off;
                let state = State::new(settings);
                Ok(OpenedJournal { journal, state, spent_before_rewind: MicroUsd(0) })
            }
            Some(location) => Self::open_at(location, None, settings, notice_sender, transcript),
        }
    }

    /// Opens the journal that lies here, which may be held already.
    fn open_at(
        location: JournalLocation,
        held: Option<LockedJournal>,
        settings: &Arc<Settings>,
        notice_sender: &NoticeSender,
        transcript: &mut SessionTranscriptWriter,
    ) -> Result<OpenedJournal, JournalError> {
        let mut opening = JournalOpenOptions::new(location.durability);
        opening.must_exist = location.must_exist;
        opening.disk = Arc::clone(&location.disk);
        opening.head = JournalHead { created: opening.at, ..location.head.clone() };
        let mut spent_before_rewind = MicroUsd(0);
        let shared = RefCell::new(&mut *transcript);
        let on_step = |step: ReplayStep<'_>| shared.borrow_mut().replay(step.effects);
        let on_entry = |entry: &JournalEntry| {
            if let JournalEntry::Head(head) = entry {
                spent_before_rewind = spent_before_rewind.max(head.spent);
            }
            shared.borrow_mut().read_entry(entry);
        };
        let (writer, folded) = match held {
            Some(held) => {
                JournalWriter::open_from_lock(held, opening, settings, on_step, on_entry)?
            }
            None => JournalWriter::open_with_entries(
                &location.path,
                opening,
                settings,
                on_step,
                on_entry,
            )?,
        };
        let FoldedJournal { state, settings: _, seq, whole_bytes: _, torn_bytes, damages } = folded;
        let path = location.path.display();
        for (line, damage) in damages {
            notice_sender.warn(format!("line {line} of the journal {path} was skipped: {damage}"));
        }
        if torn_bytes > 0 {
            notice_sender
                .warn(format!("the last record of the journal {path} was torn and is left out"));
        }
        transcript.begin_writing(Some((location.path.clone(), Arc::clone(settings))));
        let note_collector = JournalNoteCollector::new(&state, location.price_table.clone());
        location.last_seq.store(seq, Ordering::Relaxed);
        let syncer = match location.durability {
            Durability::Written => None,
            Durability::Synced => {
                Some(JournalSyncer::new(writer.flusher()?, seq, Arc::clone(&location.latency)))
            }
        };
        let open = OpenJournal {
            writer,
            pending_text: None,
            notes: Vec::new(),
            note_collector,
            is_continued: seq > 0,
            location,
            syncer,
            abandoned_reason: None,
        };
        Ok(OpenedJournal { journal: Self::On(Box::new(open)), state, spent_before_rewind })
    }

    /// Goes back to this record and is opened anew there. If there is nothing behind it, or it cannot
    /// go back, it goes on as before; if that cannot be known, it is broken.
    pub(crate) async fn rewind_to(
        self,
        to: u64,
        file_history: Arc<FileHistory>,
        settings: &Arc<Settings>,
        notice_sender: &NoticeSender,
        mut transcript: SessionTranscriptWriter,
    ) -> (Self, Result<Option<RewoundState>, JournalError>) {
        let journal = self.wait_until_synced().await;
        let mut open = match journal {
            Self::On(open) if open.abandoned_reason.is_none() => open,
            Self::Off | Self::On(_) | Self::Broken(_) => return (journal, Ok(None)),
        };
        let settings = Arc::clone(settings);
        let notice_sender = notice_sender.clone();
        let rewinding = spawn_blocking(move || {
            // What is held back belongs to what is left behind.
            let spent = match open.writer.rewind(to, &settings, file_history.store()) {
                Ok(Some(spent)) => spent,
                Ok(None) => return (Self::On(open), Ok(None)),
                Err(error) => return (Self::On(open), Err(error)),
            };
            let OpenJournal { writer, location, syncer, .. } = *open;
            // What still waits at a gate waits in vain.
            drop(syncer);
            let held = Some(writer.into_locked());
            match Self::open_at(location, held, &settings, &notice_sender, &mut transcript) {
                Ok(OpenedJournal { journal, state, .. }) => {
                    (journal, Ok(Some(RewoundState { state, transcript, spent })))
                }
                Err(error) => (Self::Broken(error.into()), Ok(None)),
            }
        });
        match rewinding.await {
            Ok(rewound) => rewound,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Does the session go on from an earlier process?
    pub(crate) fn is_continued(&self) -> bool {
        matches!(self, Self::On(open) if open.is_continued)
    }

    /// Is anything written down?
    pub(crate) fn is_on(&self) -> bool {
        matches!(self, Self::On(_))
    }

    /// Takes in what is written down with the next event, before it.
    pub(crate) fn add_note(&mut self, note: JournalNote) {
        if let Self::On(open) = self {
            open.notes.push(note);
        }
    }

    /// Can it no longer be written?
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Self::Broken(_))
    }

    /// Did the disk fail under it? Then nothing more may be done, although what comes to its end may
    /// perhaps still be written down in another file.
    pub(crate) fn has_failed(&self) -> bool {
        match self {
            Self::Off => false,
            Self::On(open) => open.abandoned_reason.is_some(),
            Self::Broken(_) => true,
        }
    }

    pub(crate) fn failure_message(&self) -> String {
        match self {
            Self::Broken(broken) => broken.message(),
            Self::On(open) => match &open.abandoned_reason {
                Some(left) => format!(
                    "the session ends, because {left}; nothing is lost: check the disk, then resume it"
                ),
                None => String::new(),
            },
            Self::Off => String::new(),
        }
    }

    /// Did another program change the file, so that only memory knows the whole conversation?
    pub(crate) fn is_damaged(&self) -> bool {
        matches!(self, Self::Broken(broken) if broken.damaged.is_some())
    }

    /// Writes what memory knows down as a session of its own, beside the journal that was damaged.
    pub(crate) fn rescue(&mut self, state: &State) {
        let Self::Broken(broken) = self else { return };
        let Some(location) = broken.damaged.take() else { return };
        let is_said = |message: &Message| {
            let is_said = [MessageOrigin::User, MessageOrigin::Model, MessageOrigin::ToolResults];
            is_said.contains(&message.origin)
        };
        let messages = state.transcript.messages().map(|message| Message::clone(message));
        let known = KnownConversation {
            head: location.head.clone(),
            last_seq: location.last_seq.load(Ordering::Relaxed),
            messages: messages.filter(is_said).collect(),
            spent: state.ledger.spent(),
            at: clock::unix_millis(),
        };
        // A session in which nothing was said has nothing to keep.
        if !known.messages.is_empty() {
            broken.rescued = rescue_session(&location.path, known).ok();
        }
    }

    /// Looks at an event before it is decided: what of it must be on disk before anything is done
    /// about it.
    pub(crate) fn buffer_event(&mut self, event: &Event) -> Option<Event> {
        match self {
            Self::On(open) => open.buffer_event(event),
            Self::Off | Self::Broken(_) => None,
        }
    }

    /// Writes down what was held of an event together with what follows from it, before its effects
    /// are performed. What need not be written yet goes with the next event.
    pub(crate) fn write(self, event: Option<&Event>, step: &DecidedStep<'_>) -> Self {
        let Self::On(mut open) = self else { return self };
        let DecidedStep { state, settings, effects } = *step;
        let mut notes = Vec::new();
        let is_urgent = open.note_collector.collect_notes(state, settings, effects, &mut notes);
        if event.is_none() && !is_urgent {
            open.notes.append(&mut notes);
            return Self::On(open);
        }
        match open.write(event, &notes) {
            Ok(()) => Self::On(open),
            Err(error) => {
                let damaged = error.is_changed_by_others().then(|| open.location.clone());
                Self::Broken(Box::new(BrokenJournal { error, damaged, rescued: None }))
            }
        }
    }

    pub(crate) fn build_gate(&self, effect: &Effect, state: &State) -> DurabilityGate {
        let Self::On(open) = self else { return DurabilityGate::open() };
        let Some(syncer) = &open.syncer else { return DurabilityGate::open() };
        let cannot_be_undone = match effect {
            Effect::CallModel(_) | Effect::Summarize { .. } => true,
            Effect::StartTool { ticket, .. } => effect_class(state, *ticket) != EffectClass::Pure,
            Effect::CancelModel { .. }
            | Effect::CancelTool { .. }
            | Effect::AskPermission { .. }
            | Effect::RunHook { .. }
            | Effect::Spill { .. }
            | Effect::Keep { .. }
            | Effect::Prefetch { .. }
            | Effect::SetTimer { .. }
            | Effect::Tell(_)
            | Effect::Finish(_) => false,
        };
        if cannot_be_undone { syncer.request_sync() } else { DurabilityGate::open() }
    }

    /// Is more written than may be in doubt?
    pub(crate) fn is_overdue(&self) -> bool {
        matches!(self, Self::On(open) if open.writer.unsynced_bytes() > UNSYNCED_BYTES_MAX)
    }

    /// Waits until everything that was written is safe.
    pub(crate) async fn wait_until_synced(self) -> Self {
        let mut journal = self;
        loop {
            let Self::On(open) = &journal else { return journal };
            let Some(syncer) = &open.syncer else { return journal };
            match timeout(SYNC_WAIT_MAX, syncer.wait_until_synced()).await {
                Ok(true) => return journal,
                Ok(false) => journal = journal.recover().await,
                Err(_) => {
                    let error = open.writer.overdue_error(SYNC_WAIT_MAX);
                    return Self::Broken(error.into());
                }
            }
        }
    }

    /// Returns when the disk has failed to keep something.
    pub(crate) async fn wait_for_failure(&self) {
        match self {
            Self::On(open) if let Some(syncer) = &open.syncer => syncer.wait_for_failure().await,
            Self::Off | Self::On(_) | Self::Broken(_) => std::future::pending().await,
        }
    }

    /// The disk failed to keep something: it is saved in another file, or the journal is broken.
    /// Whatever waited for it to be safe is not done.
    pub(crate) async fn recover(self) -> Self {
        let Self::On(mut open) = self else { return self };
        let Some(syncer) = open.syncer.take_if(|syncer| syncer.is_failing()) else {
            return Self::On(open);
        };
        let recover = move || {
            let upto = syncer.synced_seq();
            let seq = open.writer.seq();
            open.writer.complete_flush(upto, Ok(()))?;
            open.writer.complete_flush(upto, Err(syncer.take_failure()))?;
            let waits = Arc::clone(&open.location.latency);
            open.syncer = Some(JournalSyncer::new(open.writer.flusher()?, seq, waits));
            open.abandoned_reason = Some(open.writer.take_warnings().join("; "));
            Ok::<_, JournalError>(open)
        };
        match spawn_blocking(recover).await {
            Ok(Ok(open)) => Self::On(open),
            Ok(Err(error)) => Self::Broken(error.into()),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Writes what is still held back, and waits for the disk.
    pub(crate) async fn finish(self) {
        if let Self::On(mut open) = self {
            // Only text and notes that nothing followed; the session is over without them.
            if open.write(None, &[]).is_err() {
                return;
            }
            if let Self::On(mut open) = Self::On(open).wait_until_synced().await
                && let Some(syncer) = &open.syncer
            {
                let _ = open.writer.complete_flush(syncer.synced_seq(), Ok(()));
                let _ = open.writer.write_sync_marker(clock::unix_millis());
            }
        }
    }
}

impl BrokenJournal {
    fn message(&self) -> String {
        let Self { error, rescued, .. } = self;
        match rescued {
            None => format!("the session ends, because {error}"),
            Some(RescuedSession { id, journal }) => format!(
                "the session ends, because {error}; everything that was said is kept in {}: resume session {id}",
                journal.display()
            ),
        }
    }
}

pub(crate) struct OpenedJournal {
    pub(crate) journal: SessionJournal,
    pub(crate) state: State,
    /// What was spent on what the conversation went back from.
    pub(crate) spent_before_rewind: MicroUsd,
}

/// Where a session is after it went back.
pub(crate) struct RewoundState {
    pub(crate) state: State,
    pub(crate) transcript: SessionTranscriptWriter,
    /// What was spent on what it went back from.
    pub(crate) spent: MicroUsd,
}

pub(crate) struct DecidedStep<'a> {
    pub(crate) state: &'a State,
    pub(crate) settings: &'a Settings,
    pub(crate) effects: &'a [Effect],
}

impl OpenJournal {
    /// What must be written now. Text is held back, joined to what is already held; raw wire events
    /// and words of progress are not written at all.
    fn buffer_event(&mut self, event: &Event) -> Option<Event> {
        if let Event::ToolProgressed { .. } | Event::ModelDelta { delta: Delta::Raw(_), .. } = event
        {
            return None;
        }
        let Event::ModelDelta {
            delta: Delta::Text(_) | Delta::Thinking(_) | Delta::CallInput(_),
            ..
        } = event
        else {
            return Some(event.clone());
        };
        match &mut self.pending_text {
            None => self.pending_text = Some(event.clone()),
            Some(pending) => match find_joinable_text(pending, event) {
                Some((held, more)) if held.len() < BUFFERED_BYTES_MAX => held.push_str(more),
                _ => return Some(event.clone()),
            },
        }
        None
    }

    /// Writes what is held, then this and what follows from it, as one: all of it will be there or
    /// nothing. With the operating system in microseconds.
    fn write(
        &mut self,
        event: Option<&Event>,
        follows: &[JournalNote],
    ) -> Result<(), JournalError> {
        if let Some(syncer) = &self.syncer {
            self.writer.complete_flush(syncer.synced_seq(), Ok(()))?;
        }
        let notes = std::mem::take(&mut self.notes);
        let pending = self.pending_text.take();
        let held = notes.iter().map(NewRecordItem::Note);
        let events = pending.iter().chain(event).map(NewRecordItem::Event);
        let follows = follows.iter().map(NewRecordItem::Note);
        let items: Vec<NewRecordItem<'_>> = held.chain(events).chain(follows).collect();
        let seq = self.writer.write_items(clock::unix_millis(), &items)?;
        self.location.last_seq.store(seq, Ordering::Relaxed);
        if let Some(syncer) = &self.syncer {
            syncer.record_written(seq);
            if self.writer.unsynced_bytes() > UNSYNCED_BYTES {
                // Only bounds what a power loss costs; no effect waits for it.
                drop(syncer.request_sync());
            }
        }
        Ok(())
    }
}

/// The two texts, when the second event continues the first.
fn find_joinable_text<'a>(
    held: &'a mut Event,
    next: &'a Event,
) -> Option<(&'a mut String, &'a str)> {
    match (held, next) {
        (
            Event::ModelDelta { attempt: a, delta: held },
            Event::ModelDelta { attempt: b, delta: more },
        ) if a == b => find_joinable_delta(held, more),
        _ => None,
    }
}

/// Text held back at most.
const BUFFERED_BYTES_MAX: usize = 64 * 1024;
/// Written bytes over which the disk is waited for although nothing depends on it yet.
const UNSYNCED_BYTES: usize = 1024 * 1024;
/// Written bytes over which nothing happens before the disk has them.
const UNSYNCED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// A disk that takes longer does not answer any more.
const SYNC_WAIT_MAX: Duration = Duration::from_secs(60);
