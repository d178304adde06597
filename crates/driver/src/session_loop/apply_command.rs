//! Handles the commands of session handles.

use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_engine::context::inventory;
use windlass_engine::{Event, Settings};
use windlass_journal::JournalNote;
use windlass_vocabulary::{Chore, ContentBlock};

use super::SessionLoop;
use crate::hook::prompt_intake::IntakeItem;
use crate::nested_questions::NestedQuestions;
use crate::prompt_submission::{PromptSubmission, QueuedMessage};
use crate::session_command::SessionCommand;
use crate::session_settings::SessionSettingsView;
use crate::transcript_writer::TitleSource;

impl SessionLoop {
    /// The event for the engine, if the command leads to one now.
    pub(super) fn apply_command(&mut self, command: SessionCommand) -> Option<Event> {
        Some(match command {
            SessionCommand::Submit(submission) => {
                let submission = self.inbox.prompt_intake.submit(submission)?;
                self.accept_prompt(submission)
            }
            SessionCommand::Answer(ticket, answer) if NestedQuestions::is_nested_ticket(ticket) => {
                self.nested_questions.answer(ticket, answer);
                return None;
            }
            SessionCommand::Answer(ticket, answer) => {
                self.performer.answer_question(ticket, answer)
            }
            SessionCommand::Interrupt(why) => {
                self.inbox.prompt_intake.interrupt(self.run_status());
                Event::Interrupted(why)
            }
            SessionCommand::ResumeDeferred(reply) => {
                let control = &self.state.control;
                let is_deferred = control.calls_open && !control.phase.is_running();
                // If this fails, the caller has stopped waiting.
                let _ = reply.send(is_deferred);
                if !is_deferred {
                    return None;
                }
                self.hooks.begin_prompt();
                Event::Resumed
            }
            SessionCommand::AskIdleHooks(reply) => {
                let mode = self.state.tool_context.policy.mode;
                tokio::spawn(Arc::clone(&self.hooks).run_teammate_idle_hooks(mode, reply));
                return None;
            }
            SessionCommand::Compact(focus) => Event::CompactionAsked { focus },
            SessionCommand::GetInventory(reply) => {
                // If this fails, the caller has stopped waiting.
                let _ = reply.send(inventory(&self.state, &self.settings));
                return None;
            }
            SessionCommand::GetSettings(reply) => {
                let _ = reply.send(Box::new(SessionSettingsView::from(&self.current_settings())));
                return None;
            }
            SessionCommand::ListQueued(reply) => {
                let _ = reply.send(self.list_queued());
                return None;
            }
            SessionCommand::ChangeQueued { queued, content, reply } => {
                self.change_queued(&queued, content, reply)?
            }
            SessionCommand::Rewind(back) => self.prepare_rewind(back)?,
            SessionCommand::Configure(changes) => self.change_settings(|settings| {
                changes.into_iter().for_each(|change| change.apply(settings));
            }),
            SessionCommand::IsRunActive(reply) => {
                let _ = reply.send(self.state.control.phase.is_running());
                return None;
            }
            SessionCommand::ReviewConfigChange(change, reply) => {
                self.run_config_change_hooks(change, reply);
                return None;
            }
            SessionCommand::ReplaceHooks(hooks) => self.apply_hooks(hooks),
            SessionCommand::AskSideQuestion(about) => {
                Event::ChoreAsked { chore: Chore::Question, about }
            }
            SessionCommand::Rename(title) => self.set_title(title, TitleSource::Person),
            SessionCommand::RecordAct { by, act } => {
                let note = format!(r#"{{"acted":{{"by":"{by}","act":"{act}"}}}}"#);
                self.add_note(JournalNote::Unknown(note));
                return None;
            }
            SessionCommand::Drain(reply) => {
                self.waiters.drained.push(reply);
                self.notify_drained();
                return None;
            }
            SessionCommand::RetryNow => self.performer.fire_timer_now()?,
            SessionCommand::Close(_) => return None,
        })
    }

    /// Sets the title. The engine is informed too, so that it does not ask a model for one.
    pub(super) fn set_title(&mut self, title: String, whose: TitleSource) -> Event {
        self.transcript.set_title(&title, whose, self.performer.notice_sender());
        self.add_note(JournalNote::Titled(title));
        Event::ChoreAsked { chore: Chore::Title, about: String::new() }
    }

    /// Replies to callers of `drain` if no chore is running any more.
    pub(super) fn notify_drained(&mut self) {
        if !self.waiters.drained.is_empty()
            && self.state.side_work.chores.are_kept_ones_done()
            && self.performer.are_chores_saved()
            && self.inbox.events.is_empty()
        {
            for reply in self.waiters.drained.drain(..) {
                // If this fails, the caller has stopped waiting.
                let _ = reply.send(());
            }
        }
    }

    /// Adds a journal note that belongs to the next event.
    pub(super) fn add_note(&mut self, note: JournalNote) {
        self.transcript.add_note(&note);
        self.journal.add_note(note);
    }

    fn list_queued(&self) -> Vec<QueuedMessage> {
        let names = self.transcript.queued_names().into_iter().chain(std::iter::repeat(None));
        let queued = self.state.inbox.queued.iter().zip(names).enumerate();
        let listed = queued.map(|(place, (submission, name))| {
            let content = submission.content.clone();
            let pinned = submission.pinned;
            QueuedMessage { index: place, name, content, pinned }
        });
        listed.collect()
    }

    /// Changes a message only if it is still as the caller saw it.
    fn change_queued(
        &mut self,
        queued: &QueuedMessage,
        content: Option<Vec<ContentBlock>>,
        reply: oneshot::Sender<bool>,
    ) -> Option<Event> {
        if self.list_queued().get(queued.index) != Some(queued) {
            // If this fails, the caller has stopped waiting.
            let _ = reply.send(false);
            return None;
        }
        let place = queued.index;
        if content.is_none() {
            self.add_note(JournalNote::Unqueued(place as u64));
        }
        self.waiters.recorded = Some(reply);
        Some(Event::QueueChanged { place, content })
    }

    /// Changes a copy of the current settings. Those include what was allowed and loaded since the
    /// session began, so that one change undoes nothing else.
    pub(crate) fn change_settings(&mut self, change: impl FnOnce(&mut Settings)) -> Event {
        let mut settings = self.current_settings();
        let denied = settings.policy.rules.deny.clone();
        change(&mut settings);
        let policy = &settings.policy;
        if policy.rules.deny != denied {
            self.performer
                .tool_context()
                .hidden_paths
                .set_added(policy.rules.build_hidden_paths(&policy.directories));
        }
        self.settings = Arc::new(settings.clone());
        Event::Configured(Box::new(settings))
    }

    fn current_settings(&self) -> Settings {
        let mut settings = Settings::clone(&self.settings);
        settings.policy = self.state.tool_context.policy.clone();
        settings.tools = self.state.tool_context.tools.clone();
        settings
    }

    pub(super) fn accept_prompt(&mut self, mut submission: PromptSubmission) -> Event {
        if let Some(page) = submission.slash_command.take()
            && let Some(event) = self.load_skill_hooks(&page.name)
        {
            self.inbox.ready_items.push_front(IntakeItem::Prompt(submission));
            return event;
        }
        if !submission.allow.is_empty() || submission.model.is_some() {
            return self.apply_run_overrides(submission);
        }
        let PromptSubmission { content, pinned, name, .. } = submission;
        if let Some(name) = name {
            self.add_note(JournalNote::Named(name));
        }
        Event::UserSubmitted { content, pinned }
    }
}
