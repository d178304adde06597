//! What a handle may ask of a session, and what that means for the engine.

use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_engine::context::inventory;
use windlass_engine::{Event, Interrupt, Settings};
use windlass_hook::HookSet;
use windlass_journal::Note;
use windlass_vocabulary::inventory::Inventory;
use windlass_vocabulary::{Answer, Block, Chore, Ticket};

use super::Run;
use super::back::GoingBack;
use crate::change::ConfigChange;
use crate::hook::Parting;
use crate::hook::door::Passage;
use crate::session::{Queued, Submission};
use crate::tool::subagent::NestedQuestions;
use crate::transcript::Whose;

/// What a handle may ask for.
#[derive(Debug)]
pub(crate) enum Command {
    /// A message came.
    Submit(Submission),
    /// A question was answered.
    Answer(Ticket, Answer),
    /// End what is going on.
    Interrupt(Interrupt),
    /// Look again at the call that was put off, and say whether there is one.
    TakeUp(oneshot::Sender<bool>),
    /// Ask hooks whether an agent that was left alone and has nothing more to do may end; what they
    /// want of it, if not.
    Idle(oneshot::Sender<Option<String>>),
    /// Compact history.
    Compact(Option<String>),
    /// Say what fills the window.
    Inventory(oneshot::Sender<Inventory>),
    /// Say what is set now.
    Settings(oneshot::Sender<Box<Settings>>),
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
    /// Go back to an earlier prompt.
    GoBack(GoingBack),
    /// Go on with other settings.
    Configure(Change),
    /// Say whether a run is going on.
    Working(oneshot::Sender<bool>),
    /// Ask hooks whether a change of settings files may take effect.
    ConfigChanged(ConfigChange, oneshot::Sender<Result<(), String>>),
    /// Ask other hooks from now on.
    ChangeHooks(HookSet),
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

impl Run {
    /// What a command means for the engine, if it means something now.
    pub(super) fn obey(&mut self, command: Command) -> Option<Event> {
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
            Command::TakeUp(reply) => {
                let control = &self.state.control;
                let is_put_off = control.calls_open && !control.phase.is_running();
                // Nobody waits for it any more if this fails.
                let _ = reply.send(is_put_off);
                if !is_put_off {
                    return None;
                }
                self.hooks.new_prompt();
                Event::Resumed
            }
            Command::Idle(reply) => {
                let mode = self.state.tool_context.policy.mode;
                tokio::spawn(Arc::clone(&self.hooks).idle(mode, reply));
                return None;
            }
            Command::Compact(focus) => Event::CompactionAsked { focus },
            Command::Inventory(reply) => {
                // Nobody waits for it any more if this fails.
                let _ = reply.send(inventory(&self.state, &self.settings));
                return None;
            }
            Command::Settings(reply) => {
                let _ = reply.send(Box::new(self.in_force()));
                return None;
            }
            Command::Queued(reply) => {
                let _ = reply.send(self.queued());
                return None;
            }
            Command::ChangeQueued { queued, content, reply } => {
                self.change_queued(&queued, content, reply)?
            }
            Command::GoBack(back) => self.prepare_back(back)?,
            Command::Configure(change) => self.configured(change),
            Command::Working(reply) => {
                let _ = reply.send(self.state.control.phase.is_running());
                return None;
            }
            Command::ConfigChanged(change, reply) => {
                self.config_changed(change, reply);
                return None;
            }
            Command::ChangeHooks(hooks) => self.hooks_changed(hooks),
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
    pub(super) fn titled(&mut self, title: String, whose: Whose) -> Event {
        self.pen.title(&title, whose, self.performer.teller());
        self.note(Note::Titled(title));
        Event::ChoreAsked { chore: Chore::Title, about: String::new() }
    }

    /// Tells those who wait that nothing is seen to beside runs any more, if that is so.
    pub(super) fn tell_drained(&mut self) {
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
    pub(super) fn note(&mut self, note: Note) {
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
    pub(crate) fn configured(&mut self, change: Change) -> Event {
        let mut settings = self.in_force();
        let denied = settings.policy.rules.deny.clone();
        (change.0)(&mut settings);
        let policy = &settings.policy;
        if policy.rules.deny != denied {
            self.performer.surroundings().hide(policy.rules.hidden(&policy.directories));
        }
        self.settings = Arc::new(settings.clone());
        Event::Configured(Box::new(settings))
    }

    fn in_force(&self) -> Settings {
        let mut settings = Settings::clone(&self.settings);
        settings.policy = self.state.tool_context.policy.clone();
        settings.tools = self.state.tool_context.tools.clone();
        settings
    }

    /// A prompt goes in.
    pub(super) fn entered(&mut self, mut submission: Submission) -> Event {
        if let Some(page) = submission.page.take()
            && let Some(event) = self.load(&page.name)
        {
            self.ready.push_front(Passage::Prompt(submission));
            return event;
        }
        if !submission.allow.is_empty() || submission.model.is_some() {
            return self.lend(submission);
        }
        let Submission { content, pinned, name, .. } = submission;
        if let Some(name) = name {
            self.note(Note::Named(name));
        }
        Event::UserSubmitted { content, pinned }
    }
}
