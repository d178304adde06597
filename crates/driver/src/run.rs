//! The async loop: event, journal, step, perform.
//!
//! One task owns the engine's state; nothing else ever sees it, so there is no lock. What front ends
//! ask for is served before what errands report, so an interrupt never queues behind a fast stream.
//! The loop ends when it is told to close, when every handle is gone, or when the journal cannot be
//! written: without it no further effect may start.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout_at;
use windlass_engine::context::inventory;
use windlass_engine::revival::{Revival, revival};
use windlass_engine::{Effect, Event, Interrupt, Settings, State, Step, step};
use windlass_journal::Note;
use windlass_tool::Secrets;
use windlass_vocabulary::inventory::Inventory;
use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{Answer, Block, Chore, Json, Outcome, ResultPart, Ticket};

use crate::clock;
use crate::guard;
use crate::hook::door::{Door, Passage, Standing};
use crate::hook::{Parting, SessionHooks};
use crate::journal::{Decided, Journal};
use crate::keeper::Gate;
use crate::notices::Teller;
use crate::perform::Performer;
use crate::session::{Queued, Submission};
use crate::tool::subagent::NestedQuestions;
use crate::transcript::{Pen, Whose};

/// What a handle may ask for.
#[derive(Debug)]
pub(crate) enum Command {
    /// A message came.
    Submit(Submission),
    /// A question was answered.
    Answer(Ticket, Answer),
    /// End what is going on.
    Interrupt(Interrupt),
    /// Compact history.
    Compact(Option<String>),
    /// Say what fills the window.
    Inventory(oneshot::Sender<Inventory>),
    /// Say what waits for the next tool boundary.
    Queued(oneshot::Sender<Vec<Queued>>),
    /// Change what waits there, or take it back.
    ChangeQueued {
        /// What is meant.
        queued: Queued,
        /// What it says from now on.
        content: Option<Vec<Block>>,
        /// Was it still waiting? Answered when the change is on record.
        reply: oneshot::Sender<bool>,
    },
    /// Ask something beside the conversation.
    Ask(String),
    /// Call the session this.
    Rename(String),
    /// Say when nothing is seen to beside runs any more.
    Drain(oneshot::Sender<()>),
    /// Wait no longer before the next try.
    RetryNow,
    /// Go on with other settings.
    Configure(Change),
    /// End the session.
    Close(Parting),
}

/// What to change in a session's settings.
pub(crate) struct Change(pub(crate) Box<dyn FnOnce(&mut Settings) + Send>);

impl std::fmt::Debug for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Change")
    }
}

/// What the loop is to do next.
enum Next {
    Event(Event),
    /// The disk failed to keep what was written.
    Trouble,
    Close,
}

/// A session under way.
pub(crate) struct Run {
    pub(crate) state: State,
    pub(crate) settings: Arc<Settings>,
    pub(crate) journal: Journal,
    pub(crate) pen: Pen,
    pub(crate) performer: Performer,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) questions: Arc<NestedQuestions>,
    /// A run that the last process left unfinished goes on.
    pub(crate) continues_run: bool,
    /// Who is told when the event in hand is on record.
    pub(crate) awaited: Option<oneshot::Sender<bool>>,
    /// Who is told when nothing is seen to beside runs any more.
    pub(crate) drained: Vec<oneshot::Sender<()>>,
    pub(crate) hooks: Arc<SessionHooks>,
    pub(crate) door: Door,
    /// What came through the door together.
    pub(crate) ready: VecDeque<Passage>,
    /// Why the session starts, where that does not follow from its journal.
    pub(crate) source: Option<String>,
    /// Why it ends.
    pub(crate) parting: Parting,
}

/// What others say, without our own keys in it: nothing of it was written or shown before.
fn redacted(mut event: Event, secrets: &Secrets) -> Event {
    let clean = |text: &mut String| {
        if let Cow::Owned(clean) = secrets.redacted(text) {
            *text = clean;
        }
    };
    match &mut event {
        Event::ToolEnded { outcome, .. } => {
            for part in &mut outcome.content {
                if let ResultPart::Text(text) = part {
                    clean(text);
                }
            }
            if let Some(json) = &outcome.structured
                && let Cow::Owned(clean) = secrets.redacted(json.as_str())
            {
                outcome.structured = Some(Json::from_checked(&clean));
            }
        }
        Event::UserSubmitted { content, .. }
        | Event::QueueChanged { content: Some(content), .. } => {
            for block in content {
                if let Block::Text(text) = block {
                    clean(text);
                }
            }
        }
        Event::ToolProgressed { text, .. } | Event::AttachmentArrived { text, .. } => clean(text),
        Event::ModelFailed { failure, .. } => clean(&mut failure.message),
        Event::SummaryEnded { result: Err(failure), .. } => clean(&mut failure.message),
        Event::SummaryEnded { result: Ok(text), .. } => clean(text),
        _ => {}
    }
    event
}

impl Run {
    /// Runs until told to close.
    pub(crate) async fn until_closed(mut self) -> State {
        if self.journal.is_on() {
            // Every process says with which settings it decides.
            let settings = Box::new(Settings::clone(&self.settings));
            self = self.take(Event::Configured(settings)).await;
        }
        if self.journal.is_continued() {
            self = self.take_up().await;
        }
        self.open_door();
        while !self.journal.is_broken() {
            match self.next().await {
                Next::Event(event) => self = self.take(event).await,
                Next::Trouble => self = self.mend().await,
                Next::Close => break,
            }
        }
        self.close().await
    }

    /// Hooks are told that the session starts, and why.
    fn open_door(&mut self) {
        let source = match (&self.source, self.journal.is_continued()) {
            (Some(source), _) => source.as_str(),
            (None, true) => "resume",
            (None, false) => "startup",
        };
        self.door.open(source, self.state.tool_context.policy.mode);
    }

    /// Nothing of what the last process had under way is still there: its run goes on without it, or
    /// is closed.
    async fn take_up(mut self) -> Self {
        for left in self.performer.surroundings().end_left_over() {
            let words = "a command that the last process left running was ended";
            let wrote = match left.exists() {
                true => format!("; what it wrote is in {}", left.display()),
                false => String::new(),
            };
            self.performer.warn(format!("{words}{wrote}"));
        }
        if !self.continues_run {
            return self.take(Event::Interrupted(Interrupt::Crashed)).await;
        }
        let Revival { effects, events } = revival(&self.state);
        self.perform(effects);
        for event in events {
            if self.journal.is_broken() {
                break;
            }
            self = self.take(event).await;
        }
        self
    }

    /// The next thing that happened.
    async fn next(&mut self) -> Next {
        loop {
            match self.ready.pop_front() {
                Some(Passage::Words(event)) => return Next::Event(event),
                Some(Passage::Title(title)) => {
                    return Next::Event(self.titled(title, Whose::Person));
                }
                Some(Passage::Prompt(submission)) => {
                    return Next::Event(self.entered(submission));
                }
                None => {}
            }
            let standing = self.standing();
            tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    None => return Next::Close,
                    Some(Command::Close(why)) => {
                        self.parting = why;
                        return Next::Close;
                    }
                    Some(command) => {
                        if let Some(event) = self.obey(command) {
                            return Next::Event(event);
                        }
                    }
                },
                () = self.journal.failing() => return Next::Trouble,
                Some(event) = self.events.recv() => return Next::Event(event),
                () = self.performer.chore_kept() => self.tell_drained(),
                passed = self.door.next(standing) => self.ready.extend(passed),
            }
        }
    }

    /// What a command means for the engine, if it means something now.
    fn obey(&mut self, command: Command) -> Option<Event> {
        Some(match command {
            Command::Submit(submission) => {
                let submission = self.door.submit(submission)?;
                self.entered(submission)
            }
            Command::Answer(ticket, answer) if NestedQuestions::is_nested(ticket) => {
                self.questions.answer(ticket, answer);
                return None;
            }
            Command::Answer(ticket, answer) => self.performer.answered(ticket, answer),
            Command::Interrupt(why) => {
                self.door.interrupt(self.standing());
                Event::Interrupted(why)
            }
            Command::Compact(focus) => Event::CompactionAsked { focus },
            Command::Inventory(reply) => {
                // Nobody waits for it any more if this fails.
                let _ = reply.send(inventory(&self.state, &self.settings));
                return None;
            }
            Command::Queued(reply) => {
                let _ = reply.send(self.queued());
                return None;
            }
            Command::ChangeQueued { queued, content, reply } => {
                self.change_queued(&queued, content, reply)?
            }
            Command::Configure(change) => self.configured(change),
            Command::Ask(about) => Event::ChoreAsked { chore: Chore::Question, about },
            Command::Rename(title) => self.titled(title, Whose::Person),
            Command::Drain(reply) => {
                self.drained.push(reply);
                self.tell_drained();
                return None;
            }
            Command::RetryNow => self.performer.end_wait()?,
            Command::Close(_) => return None,
        })
    }

    /// The session gets a name. Said to the engine too, so that it asks for none.
    fn titled(&mut self, title: String, whose: Whose) -> Event {
        self.pen.title(&title, whose, self.performer.teller());
        self.note(Note::Titled(title));
        Event::ChoreAsked { chore: Chore::Title, about: String::new() }
    }

    /// Tells those who wait that nothing is seen to beside runs any more, if that is so.
    fn tell_drained(&mut self) {
        if !self.drained.is_empty()
            && self.state.chores.are_done()
            && self.performer.are_chores_kept()
            && self.events.is_empty()
        {
            for reply in self.drained.drain(..) {
                // Nobody waits for it any more if this fails.
                let _ = reply.send(());
            }
        }
    }

    /// Something that belongs to the next event, for those who read the journal.
    fn note(&mut self, note: Note) {
        self.pen.note(&note);
        self.journal.note(note);
    }

    fn queued(&self) -> Vec<Queued> {
        let names = self.pen.waiting().into_iter().chain(std::iter::repeat(None));
        let queued = self.state.inbox.queued.iter().zip(names).enumerate();
        let listed = queued.map(|(place, (submission, name))| {
            let (content, pinned) = (submission.content.clone(), submission.pinned);
            Queued { place, name, content, pinned }
        });
        listed.collect()
    }

    /// Only what is still there as it was seen is changed.
    fn change_queued(
        &mut self,
        queued: &Queued,
        content: Option<Vec<Block>>,
        reply: oneshot::Sender<bool>,
    ) -> Option<Event> {
        if self.queued().get(queued.place) != Some(queued) {
            // Nobody waits for it any more if this fails.
            let _ = reply.send(false);
            return None;
        }
        let place = queued.place;
        if content.is_none() {
            self.note(Note::Unqueued(place as u64));
        }
        self.awaited = Some(reply);
        Some(Event::QueueChanged { place, content })
    }

    /// The settings as they are now, changed. What was allowed and loaded since the session began is
    /// part of them, so that a change of one thing takes nothing else back.
    fn configured(&mut self, change: Change) -> Event {
        let mut settings = Settings::clone(&self.settings);
        settings.policy = self.state.tool_context.policy.clone();
        settings.tools = self.state.tool_context.tools.clone();
        (change.0)(&mut settings);
        self.settings = Arc::new(settings.clone());
        Event::Configured(Box::new(settings))
    }

    /// A prompt goes in.
    fn entered(&mut self, submission: Submission) -> Event {
        let Submission { content, pinned, name } = submission;
        if let Some(name) = name {
            self.note(Note::Named(name));
        }
        Event::UserSubmitted { content, pinned }
    }

    fn standing(&self) -> Standing {
        Standing {
            is_running: self.state.control.phase.is_running(),
            spent: self.state.ledger.spent(),
            mode: self.state.tool_context.policy.mode,
        }
    }

    /// One event: decided, written down with what follows from it, performed.
    async fn take(mut self, event: Event) -> Self {
        let event = redacted(event, &self.performer.surroundings().secrets);
        let held = self.journal.hold(&event);
        let Step { state, effects } = step(self.state, event, &self.settings);
        self.state = state;
        if self.journal.is_broken() {
            // Too late to be written down, and so to be acted on.
            self.tell_only(effects);
            return self;
        }
        let decided = Decided { state: &self.state, settings: &self.settings, effects: &effects };
        self.journal = self.journal.write(held.as_ref(), &decided);
        // Whoever is told that a run is over, or a change made, may switch the machine off.
        let is_over = effects.iter().any(|effect| matches!(effect, Effect::Finish(_)));
        if is_over || self.awaited.is_some() || self.journal.is_overdue() {
            self.journal = self.journal.settle(self.performer.teller()).await;
        }
        if let Some(awaited) = self.awaited.take() {
            let _ = awaited.send(!self.journal.is_broken());
        }
        if self.journal.is_broken() {
            return self.stop_short(effects).await;
        }
        self.pen.write(&effects, self.performer.teller());
        for effect in &effects {
            if let Effect::Keep { chore: Chore::Title, text } = effect {
                self.pen.title(text, Whose::Model, self.performer.teller());
                self.note(Note::Titled(text.clone()));
            }
        }
        self.perform(effects);
        self.tell_drained();
        self
    }

    /// The disk failed to keep what was written.
    async fn mend(mut self) -> Self {
        self.journal = self.journal.mend(self.performer.teller()).await;
        match self.journal.is_broken() {
            true => self.stop_short(Vec::new()).await,
            false => self,
        }
    }

    /// What could not be written down is not done, only shown. What runs may end; the rest is called
    /// off.
    async fn stop_short(mut self, undone: Vec<Effect>) -> Self {
        self.performer.warn(self.journal.complaint());
        self.tell_only(undone);
        let deadline = clock::now() + TOOLS_END_MAX;
        while self.performer.are_tools_running() {
            let event = tokio::select! {
                biased;
                // Whatever it is, somebody is there and does not want to wait.
                _ = self.commands.recv() => break,
                Some(event) = self.events.recv() => Some(event),
                () = self.performer.one_ended() => None,
                () = tokio::time::sleep_until(deadline) => break,
            };
            if let Some(event) = event {
                let Step { state, effects } = step(self.state, event, &self.settings);
                self.state = state;
                self.tell_only(effects);
            }
        }
        let shutdown = Event::Interrupted(Interrupt::Shutdown);
        let Step { state, effects } = step(self.state, shutdown, &self.settings);
        self.state = state;
        self.tell_only(effects);
        self.performer.cancel_all();
        self
    }

    /// Shows what was decided and does nothing of it. A run that ends now ends for want of a disk.
    fn tell_only(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let told = match effect {
                Effect::Tell(notice) => Effect::Tell(notice),
                Effect::Finish(ending) => Effect::Finish(Ending {
                    outcome: Some(Outcome::StorageFailed),
                    why: self.journal.complaint(),
                    ..ending
                }),
                _ => continue,
            };
            self.performer.perform(told, &self.state.tool_context.policy, Gate::open());
        }
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let gate = self.journal.gate(&effect, &self.state);
            self.performer.perform(effect, &self.state.tool_context.policy, gate);
        }
    }

    /// Ends whatever is under way and waits until the tools are gone, as long as they may take.
    async fn close(mut self) -> State {
        self.commands.close();
        if !self.journal.is_broken() {
            self = self.take(Event::Interrupted(Interrupt::Shutdown)).await;
        }
        self.performer.cancel_all();
        let parting = tokio::spawn(Arc::clone(&self.hooks).part(self.parting));
        let deadline = clock::now() + TOOLS_GONE_MAX;
        // What was left in the background has no owner after this.
        let surroundings = self.performer.surroundings();
        let _ = timeout_at(deadline, surroundings.background().close()).await;
        while self.performer.is_busy() {
            let event = tokio::select! {
                Some(event) = self.events.recv() => Some(event),
                () = self.performer.one_ended() => None,
                () = tokio::time::sleep_until(deadline) => break,
            };
            if let Some(event) = event {
                self = self.take(event).await;
            }
        }
        while let Ok(event) = self.events.try_recv() {
            self = self.take(event).await;
        }
        let _ = timeout_at(deadline, self.journal.finish(self.performer.teller())).await;
        // Bounded by its own deadlines.
        let _ = parting.await;
        self.state
    }
}

/// Runs a session in a task of its own and sees to it that its end is told, whatever it is.
pub(crate) async fn supervise(
    run: impl Future<Output = State> + Send + 'static,
    teller: Teller,
    scratch: Option<PathBuf>,
    over: watch::Sender<bool>,
) {
    if let Err(error) = tokio::spawn(run).await {
        let words = match error.try_into_panic() {
            Ok(panic) => guard::words(&*panic),
            Err(_) => "the runtime is shutting down".to_owned(),
        };
        teller.fail(format!("the session ended because of a fault inside Windlass: {words}"));
    }
    if let Some(scratch) = scratch
        && std::fs::remove_dir(&scratch).is_err()
    {
        // Not empty. Best effort: it lies in the system's temporary directory and was ours alone.
        let _ = spawn_blocking(move || std::fs::remove_dir_all(scratch)).await;
    }
    teller.close();
    let _ = over.send(true);
}

/// Commands that may wait.
pub(crate) const COMMANDS_MAX: usize = 1_024;
/// Events that may wait; errands that report more wait themselves, down to the network.
pub(crate) const EVENTS_MAX: usize = 256;
/// How long tools may go on when nothing more can be written down.
const TOOLS_END_MAX: Duration = Duration::from_secs(10);
/// How long tools get to be gone when a session closes.
const TOOLS_GONE_MAX: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Assembled;
    use crate::{Builder, Credential, Durability, Endpoint, Registry, notices};
    use serde_json::json;
    use windlass_rehearsal::{Answer as Says, Fault, Rehearsal, Script, StartOptions};
    use windlass_vocabulary::{Mode, ModelFacts, Notice, Prices, Terminal, Tokens, Wire};

    fn settings() -> Settings {
        let mut settings = Settings::new(ModelFacts {
            name: "rehearsed-model".into(),
            window: Tokens(200_000),
            output_default: Tokens(8_000),
            output_max: Tokens(64_000),
            prices: Prices { input: 3_000_000, output: 15_000_000, ..Prices::default() },
        });
        settings.policy.mode = Mode::BypassPermissions;
        settings.tools = Registry::builtin().specs().into();
        settings
    }

    #[tokio::test]
    async fn the_journal_replays_to_the_state_that_was_left() {
        let directory = tempfile::tempdir().unwrap();
        let journal = directory.path().join("session.jsonl");
        let script = Script::new()
            .answer(Says::text("cut").thinking("hm").fault(Fault::cut_after_event(6)))
            .answer(Says::text("go").tool("Bash", json!({ "command": "echo one" })).chunk(1))
            .answer(
                Says::text("a longer text, cut by the user").fault(Fault::stall_after_event(5)),
            );
        let server = Rehearsal::start(script, StartOptions::default()).await.unwrap();
        let endpoint = Endpoint::new(Wire::AnthropicMessages, server.url())
            .credential(Credential::Key("key".to_owned()));
        let builder = Builder::new(settings(), endpoint)
            .registry(Registry::builtin())
            .journal(&journal, Durability::Written);
        let Assembled { run, commands, mut notices, .. } = builder.assemble().unwrap();
        let mut settings = settings();
        settings.context.spill_directory = run.settings.context.spill_directory.clone();
        let run = tokio::spawn(run.until_closed());
        commands.send(Command::Submit("do it".into())).await.unwrap();
        assert!(server.wait_for_requests(3, Duration::from_secs(20)).await);
        while !matches!(notices.next().await, Some(Notice::Continued { turn: 2, .. })) {}
        while !matches!(notices.next().await, Some(Notice::Streamed { .. })) {}
        commands.send(Command::Interrupt(Interrupt::User)).await.unwrap();
        let ending = notices.ending().await.unwrap();
        assert_eq!(ending.terminal, Terminal::AbortedStreaming);
        commands.send(Command::Close(Parting::Other)).await.unwrap();
        let left = run.await.unwrap();
        let replayed = windlass_journal::fold(&journal, &settings).unwrap();
        assert_eq!(format!("{left:#?}"), format!("{:#?}", replayed.state));
        assert!(replayed.seq > 10);
    }

    #[tokio::test]
    async fn a_panic_of_the_session_ends_the_run_and_not_the_process() {
        let (teller, mut notices) = notices::channel();
        let (over, closed) = watch::channel(false);
        teller.tell(Notice::RunStarted);
        let run = async { panic!("the loop must come nearer to its end") };
        supervise(run, teller, None, over).await;
        let ending = notices.ending().await.unwrap();
        assert!(ending.why.contains("nearer to its end"), "{ending:?}");
        assert_eq!(notices.next().await, None);
        assert!(*closed.borrow());
    }
}
