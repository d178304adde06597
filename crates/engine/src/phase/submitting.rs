//! A message arrives: it begins a run, or waits for the next tool boundary of the one under way.

use alloc::string::String;
use alloc::vec::Vec;
use windlass_vocabulary::{
    AttachmentKind, ContentBlock, Message, MessageOrigin, MetaKind, Millis, Notice, Role,
};

use crate::effect::Effect;
use crate::signal::Signal;
use crate::state::Submission;
use crate::step::Loop;
use crate::text;

impl Loop<'_> {
    pub(crate) fn submitted(&mut self, content: Vec<ContentBlock>, pinned: bool) {
        let submission = Submission { content, pinned };
        if self.state.control.phase.is_running() {
            self.tell(Notice::InputQueued(words(&submission.content)));
            self.state.inbox.queued.push(submission);
            return;
        }
        match self.state.control.calls_open {
            // It is handled when the deferred call has its result.
            true => {
                self.refresh();
                self.state.inbox.queued.push(submission);
            }
            false => self.begin_run(submission),
        }
        self.drive(Signal::Submitted);
    }

    /// Input that was not delivered yet is the sender's to change.
    pub(crate) fn queue_changed(&mut self, place: usize, content: Option<Vec<ContentBlock>>) {
        let queued = &mut self.state.inbox.queued;
        match (queued.get_mut(place), content) {
            (None, _) => self.warn("what was to be changed is no longer waiting"),
            (Some(submission), Some(content)) => submission.content = content,
            (Some(_), None) => drop(queued.remove(place)),
        }
    }

    /// What was said elsewhere is taken in as it was said there.
    pub(crate) fn adopted(&mut self, messages: Vec<Message>) {
        if self.state.control.phase.is_running() || self.state.control.calls_open {
            self.warn("a conversation can be taken over when the run is over");
            return;
        }
        self.state.is_adopted |= self.state.transcript.entries().is_empty();
        for message in messages {
            for call in message.tool_calls() {
                // The caller has made sure that every call has an id of its own.
                self.state.transcript.claim_call_id(call.id.clone());
            }
            let id = self.state.transcript.next_id();
            self.add(Message { id, ..message });
        }
    }

    /// The user wants history compacted: a run of its own, which asks the model nothing else.
    pub(crate) fn compaction_asked(&mut self, focus: Option<String>) {
        if self.state.control.phase.is_running() {
            self.warn("history can be compacted when the run is over");
            return;
        }
        self.refresh();
        self.state.compaction.focus = focus;
        self.drive(Signal::CompactionAsked);
    }

    /// Everything that belongs to one run starts afresh.
    pub(crate) fn refresh(&mut self) {
        self.state.ledger.begin_run();
        self.state.circle.forget();
        self.state.recovery.waited = Millis(0);
        self.state.request.overhead = None;
        self.state.recovery.objection = None;
        self.tell(Notice::RunStarted);
    }

    pub(crate) fn begin_run(&mut self, submission: Submission) {
        self.refresh();
        // Input that an interrupt left behind was sent first and is heard first.
        self.state.inbox.queued.push(submission);
        self.take_in_prompts();
    }

    /// What was said goes into the transcript, and what may help with it is looked for.
    pub(crate) fn take_in_prompts(&mut self) {
        self.add_context();
        let mut prompt = None;
        for submission in core::mem::take(&mut self.state.inbox.queued) {
            prompt = Some(words(&submission.content));
            self.add_submission(submission, MessageOrigin::User);
        }
        self.add_hook_words();
        if let Some(prompt) = prompt.filter(|_| self.settings.switches.prefetch) {
            for kind in [AttachmentKind::Memory, AttachmentKind::Skills] {
                self.effects.push(Effect::Prefetch { kind, about: prompt.clone() });
            }
        }
    }

    /// What hooks said before the run goes with the prompt; the rest waits for the tool boundary.
    fn add_hook_words(&mut self) {
        let arrived = core::mem::take(&mut self.state.inbox.arrived);
        for (kind, text) in arrived {
            if kind == AttachmentKind::Hook {
                self.add_attachment(kind, text);
            } else {
                self.state.inbox.arrived.push((kind, text));
            }
        }
    }

    /// The user's context goes first, once per session, as a hidden message of the transcript, so
    /// that it is replayed byte for byte.
    fn add_context(&mut self) {
        let is_adopted = core::mem::take(&mut self.state.is_adopted);
        if !is_adopted && !self.state.transcript.entries().is_empty() {
            return;
        }
        if let Some(context) = self.settings.prompt.user_context.clone() {
            let id = self.state.transcript.next_id();
            let origin = MessageOrigin::Meta(MetaKind::Context);
            self.add(Message::user_text(id, origin, text::user_context(&context)));
        }
    }

    pub(crate) fn add_submission(&mut self, submission: Submission, origin: MessageOrigin) {
        let Submission { content, pinned } = submission;
        self.add(Message {
            id: self.state.transcript.next_id(),
            role: Role::User,
            origin,
            content,
            model: None,
            pinned,
        });
    }
}

fn words(content: &[ContentBlock]) -> String {
    let mut words = String::new();
    for block in content {
        if let ContentBlock::Text(text) = block {
            words.push_str(text);
        }
    }
    words
}
