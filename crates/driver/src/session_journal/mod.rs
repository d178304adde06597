//! The write-ahead log: an event is written before its effects are performed, and synced to disk
//! before those that cannot be undone.
//!
//! A request, a tool that changes something and the end of a run wait for the disk; all other
//! records are covered by the next such sync ([`JournalSyncer`]). Pieces of text affect no
//! decision, so they are buffered and written with the next event that does; raw wire events and
//! tool progress are not written at all. When the disk fails, the current event is not acted on and
//! the session ends; records that are not on disk are saved in another file if possible.

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
    /// The session has no journal.
    Off,
    On(Box<OpenJournal>),
    /// It can no longer be written.
    Broken(Box<BrokenJournal>),
}

pub(crate) struct BrokenJournal {
    error: JournalError,
    /// The original journal, if another program changed it: memory is ahead of the file.
    damaged: Option<JournalLocation>,
    /// The new session that was saved instead.
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
    /// Notes that are not written yet.
    notes: Vec<JournalNote>,
    note_collector: JournalNoteCollector,
    is_continued: bool,
    location: JournalLocation,
    /// Syncs to the disk, if the durability setting asks for it.
    syncer: Option<JournalSyncer>,
    /// Why the journal continues in another file, for the user.
    abandoned_reason: Option<String>,
}

impl SessionJournal {
    /// Opens the journal, if there is one, and returns the initial state.
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

    /// Opens the journal at this location. It may be locked by another process.
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
                .warn(format!("the last record of the journal {path} was cut off and is left out"));
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

    /// Rewinds to this record, and reopens the journal. If that is not possible, the journal
    /// continues as before; if its state is unknown, it is marked as broken.
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
            // Buffered text belongs to the part that is dropped.
            let spent = match open.writer.rewind(to, &settings, file_history.store()) {
                Ok(Some(spent)) => spent,
                Ok(None) => return (Self::On(open), Ok(None)),
                Err(error) => return (Self::On(open), Err(error)),
            };
            let OpenJournal { writer, location, syncer, .. } = *open;
            // Gates that still wait never open.
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

    /// Is the session resumed from an earlier process?
    pub(crate) fn is_continued(&self) -> bool {
        matches!(self, Self::On(open) if open.is_continued)
    }

    pub(crate) fn is_on(&self) -> bool {
        matches!(self, Self::On(_))
    }

    /// Adds a note that is written before the next event.
    pub(crate) fn add_note(&mut self, note: JournalNote) {
        if let Self::On(open) = self {
            open.notes.push(note);
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Self::Broken(_))
    }

    /// Has the disk failed? Then no further effect may start, although events may still be saved in
    /// another file.
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

    /// Did another program change the file, so that only memory has the whole conversation?
    pub(crate) fn is_damaged(&self) -> bool {
        matches!(self, Self::Broken(broken) if broken.damaged.is_some())
    }

    /// Saves the conversation from memory as a new session beside the damaged journal.
    pub(crate) fn rescue(&mut self, state: &State) {
        let Self::Broken(broken) = self else { return };
        let Some(location) = broken.damaged.take() else { return };
        let is_conversation = |message: &Message| {
            let is_conversation =
                [MessageOrigin::User, MessageOrigin::Model, MessageOrigin::ToolResults];
            is_conversation.contains(&message.origin)
        };
        let messages = state.transcript.messages().map(|message| Message::clone(message));
        let known = KnownConversation {
            head: location.head.clone(),
            last_seq: location.last_seq.load(Ordering::Relaxed),
            messages: messages.filter(is_conversation).collect(),
            spent: state.ledger.spent(),
            at: clock::unix_millis(),
        };
        // A session without messages has nothing to save.
        if !known.messages.is_empty() {
            broken.rescued = rescue_session(&location.path, known).ok();
        }
    }

    /// Buffers an event before it is decided. Returns the part that must be written.
    pub(crate) fn buffer_event(&mut self, event: &Event) -> Option<Event> {
        match self {
            Self::On(open) => open.buffer_event(event),
            Self::Off | Self::Broken(_) => None,
        }
    }

    /// Writes buffered text, the event and its notes, before its effects are performed. What is not
    /// urgent is written with the next event.
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

    /// Are too many bytes unsynced?
    pub(crate) fn is_overdue(&self) -> bool {
        matches!(self, Self::On(open) if open.writer.unsynced_bytes() > UNSYNCED_BYTES_MAX)
    }

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

    /// Returns when a sync has failed.
    pub(crate) async fn wait_for_failure(&self) {
        match self {
            Self::On(open) if let Some(syncer) = &open.syncer => syncer.wait_for_failure().await,
            Self::Off | Self::On(_) | Self::Broken(_) => std::future::pending().await,
        }
    }

    /// After a failed sync: saves the records in another file, or marks the journal as broken.
    /// Effects that waited for the sync never start.
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

    /// Writes buffered text, and syncs.
    pub(crate) async fn finish(self) {
        if let Self::On(mut open) = self {
            // Only text and notes without a following event are lost; the session is valid without
            // them.
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
    /// What was spent on messages that were rewound.
    pub(crate) spent_before_rewind: MicroUsd,
}

/// The state after a rewind.
pub(crate) struct RewoundState {
    pub(crate) state: State,
    pub(crate) transcript: SessionTranscriptWriter,
    /// What was spent on messages that were rewound.
    pub(crate) spent: MicroUsd,
}

pub(crate) struct DecidedStep<'a> {
    pub(crate) state: &'a State,
    pub(crate) settings: &'a Settings,
    pub(crate) effects: &'a [Effect],
}

impl OpenJournal {
    /// Returns what must be written now. Text is buffered and joined; raw wire events and tool
    /// progress are not written at all.
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

    /// Writes the buffered text, the event and its notes atomically. Takes microseconds, because it
    /// does not wait for the disk.
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
                // Only limits what a power loss costs; no effect waits for it.
                drop(syncer.request_sync());
            }
        }
        Ok(())
    }
}

/// The two texts, if the second event continues the first.
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

/// Limit on buffered text.
const BUFFERED_BYTES_MAX: usize = 64 * 1024;
/// Above this many unsynced bytes a sync starts, although no effect depends on it.
const UNSYNCED_BYTES: usize = 1024 * 1024;
/// Above this many unsynced bytes the session waits for the disk.
const UNSYNCED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// A disk that takes longer is treated as failed.
const SYNC_WAIT_MAX: Duration = Duration::from_secs(60);
