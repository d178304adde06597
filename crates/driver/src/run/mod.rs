//! The async loop: event, journal, step, perform.
//!
//! One task owns the engine's state; nothing else ever sees it, so there is no lock. What front ends
//! ask for is served before what errands report, so an interrupt never queues behind a fast stream.
//! The loop ends when it is told to close, when every handle is gone, or when the disk fails under the
//! journal: without it no further effect may start.

mod back;
mod command;
mod redact;
mod storage;
mod supervise;
mod terms;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep_until, timeout_at};
use windlass_engine::revival::{Revival, revival};
use windlass_engine::{Effect, Event, Interrupt, Settings, State, Step, step};
use windlass_hook::HookSet;
use windlass_journal::Note;
use windlass_vocabulary::{Chore, ModelFacts};

use crate::clock;
use crate::hook::door::{Door, Passage, Standing};
use crate::hook::{Parting, SessionHooks};
use crate::journal::{Decided, Journal};
use crate::perform::Performer;
use crate::tool::subagent::NestedQuestions;
use crate::transcript::{Pen, Whose};
use crate::undo::Undo;

pub(crate) use back::GoingBack;
pub(crate) use command::{Change, Command};
use redact::redacted;
pub(crate) use supervise::supervise;
pub(crate) use terms::Lent;

/// What the loop is to do next.
enum Next {
    Event(Event),
    /// Nothing is in the way of going back.
    Back(GoingBack),
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
    /// What the run under way was lent.
    pub(crate) lent: Option<Lent>,
    /// Hooks that skills bring along, until they are loaded.
    pub(crate) skill_hooks: Vec<(String, HookSet)>,
    /// Models that a prompt may bring along, by the names people have for them.
    pub(crate) models: Arc<[(String, ModelFacts)]>,
    /// Keeps what files held.
    pub(crate) undo: Option<Arc<Undo>>,
    /// Somebody wants to go back.
    pub(crate) back: Option<GoingBack>,
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
        while !self.journal.has_failed() {
            match self.next().await {
                Next::Event(event) => self = self.take(event).await,
                Next::Back(back) => self = self.go_back(back).await,
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
            if self.journal.has_failed() {
                break;
            }
            self = self.take(event).await;
        }
        self
    }

    /// The next thing that happened.
    async fn next(&mut self) -> Next {
        loop {
            if let Some(back) = self.ready_back() {
                return Next::Back(back);
            }
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
            let (standing, until) = (self.standing(), self.back_until());
            let is_ending = until.is_some() && self.performer.is_busy();
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
                () = self.performer.stirred(is_ending) => self.tell_drained(),
                () = sleep_until(until.unwrap_or_else(clock::now)), if until.is_some() => {}
                passed = self.door.next(standing) => self.ready.extend(passed),
            }
        }
    }

    fn standing(&self) -> Standing {
        Standing {
            is_running: self.state.control.phase.is_running(),
            spent: self.state.ledger.spent(),
            mode: self.state.tool_context.policy.mode,
        }
    }

    /// One event: decided, and written down with what follows from it.
    fn decide(mut self, event: Event) -> (Self, Vec<Effect>) {
        let event = redacted(event, &self.performer.surroundings().secrets);
        let held = self.journal.hold(&event);
        let Step { state, effects } = step(self.state, event, &self.settings);
        self.state = state;
        let decided = Decided { state: &self.state, settings: &self.settings, effects: &effects };
        self.journal = self.journal.write(held.as_ref(), &decided);
        (self, effects)
    }

    /// One event: decided, written down with what follows from it, performed.
    async fn take(mut self, event: Event) -> Self {
        if self.journal.has_failed() {
            return self.take_down(event);
        }
        let effects;
        (self, effects) = self.decide(event);
        // Whoever is told that a run is over, or a change made, may switch the machine off.
        let is_over = effects.iter().any(|effect| matches!(effect, Effect::Finish(_)));
        if is_over || self.awaited.is_some() || self.journal.is_overdue() {
            self.journal = self.journal.settle().await;
        }
        if let Some(awaited) = self.awaited.take() {
            let _ = awaited.send(!self.journal.is_broken());
        }
        if self.journal.has_failed() {
            return self.stop_short(effects).await;
        }
        self.pen.write(&effects, self.performer.teller());
        for effect in &effects {
            match effect {
                Effect::Keep { chore: Chore::Title, text } => {
                    self.pen.title(text, Whose::Model, self.performer.teller());
                    self.note(Note::Titled(text.clone()));
                }
                Effect::StartTool { granted, .. } if granted.get().name.as_str() == "Skill" => {
                    self.loaded(granted.get());
                }
                Effect::Finish(_) => self.end_terms(),
                _ => {}
            }
        }
        self.perform(effects);
        self.tell_drained();
        self
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
        if !self.journal.has_failed() {
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
                () = sleep_until(deadline) => break,
            };
            if let Some(event) = event {
                self = self.take(event).await;
            }
        }
        while let Ok(event) = self.events.try_recv() {
            self = self.take(event).await;
        }
        let _ = timeout_at(deadline, self.journal.finish()).await;
        // Bounded by its own deadlines.
        let _ = parting.await;
        self.state
    }
}

/// Commands that may wait.
pub(crate) const COMMANDS_MAX: usize = 1_024;
/// Events that may wait; errands that report more wait themselves, down to the network.
pub(crate) const EVENTS_MAX: usize = 256;
/// How long tools get to be gone when a session closes.
const TOOLS_GONE_MAX: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Assembled;
    use crate::{Builder, Credential, Durability, Endpoint, Registry, notices};
    use serde_json::json;
    use tokio::sync::watch;
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
