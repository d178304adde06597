//! One match arm per effect. Starts, never waits; what comes of it arrives as an event.
//!
//! There is no rule here and no branch on why the engine wants something.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use windlass_engine::{Effect, Event};
use windlass_hook::RequestAnswer;
use windlass_permission::Policy;
use windlass_tool::{Registry, Surroundings, Terms};
use windlass_vocabulary::{
    Answer, AttachmentKind, AttemptId, Chore, FailureKind, Json, Millis, ModelFailure,
    ModelRequest, Notice, PermissionQuestion, Ticket,
};

use crate::aside::Asides;
use crate::attachment::Attachments;
use crate::compact;
use crate::guard::caught;
use crate::hook::SessionHooks;
use crate::hook::errand::HookErrands;
use crate::inspect::Inspector;
use crate::keeper::Gate;
use crate::model::ModelPort;
use crate::notebook::Notebook;
use crate::notices::Teller;
use crate::permission::Questions;
use crate::spill::Spills;
use crate::tool::Tools;

/// Everything under way, and what is needed to start more.
pub(crate) struct Performer {
    model: Arc<ModelPort>,
    tools: Tools,
    questions: Questions,
    hooks: HookErrands,
    spills: Spills,
    attachments: Arc<Attachments>,
    teller: Teller,
    events: mpsc::Sender<Event>,
    attempts: HashMap<AttemptId, AbortHandle>,
    /// The timer set last; the engine has no more than one.
    timer: Option<(Ticket, AbortHandle)>,
    /// Model calls, summaries, timers: dropped with the session.
    errands: JoinSet<()>,
    /// What is being kept of what was seen to beside runs.
    chores: JoinSet<()>,
    notebook: Option<Arc<Notebook>>,
}

/// What a performer is made of.
pub(crate) struct Parts {
    pub(crate) model: Arc<ModelPort>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) aside: Arc<Asides>,
    pub(crate) inspector: Arc<Inspector>,
    pub(crate) attachments: Attachments,
    pub(crate) hooks: Arc<SessionHooks>,
    pub(crate) notebook: Option<Arc<Notebook>>,
    pub(crate) teller: Teller,
    pub(crate) events: mpsc::Sender<Event>,
}

impl Performer {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { model, registry, aside, inspector, attachments, .. } = parts;
        let Parts { hooks, notebook, teller, events, .. } = parts;
        let surroundings = Arc::clone(&attachments.surroundings);
        Self {
            model,
            spills: Spills::new(surroundings.spill.clone(), teller.clone()),
            questions: Questions::new(inspector, teller.clone()),
            tools: Tools::new(
                registry,
                surroundings,
                Arc::clone(&attachments.neighbours),
                aside,
                (Arc::clone(&hooks), events.clone()),
            ),
            attachments: Arc::new(attachments),
            hooks: HookErrands::new(hooks, events.clone()),
            teller,
            events,
            attempts: HashMap::new(),
            timer: None,
            errands: JoinSet::new(),
            chores: JoinSet::new(),
            notebook,
        }
    }

    /// Starts what the engine asks for, when the gate is open. What is allowed at this moment goes
    /// with a tool that may start a session of its own.
    pub(crate) fn perform(&mut self, effect: Effect, policy: &Policy, gate: Gate) {
        while self.errands.try_join_next().is_some() {}
        match effect {
            Effect::CallModel(request) => {
                self.hooks.spoken();
                self.call_model(request, gate);
            }
            Effect::CancelModel { attempt } => {
                if let Some(call) = self.attempts.remove(&attempt) {
                    call.abort();
                }
            }
            Effect::StartTool { ticket, granted, allowance } => {
                let terms = Terms { policy: policy.clone(), allowance };
                self.tools.start(ticket, granted, terms, gate);
            }
            Effect::CancelTool { ticket } => self.tools.cancel(ticket),
            Effect::AskPermission { ticket, question } => self.ask(ticket, question, policy),
            Effect::RunHook { ticket, point, subject } => {
                self.hooks.ask(ticket, point, subject, policy);
            }
            Effect::Summarize { ticket, request } => self.summarize(ticket, request, gate),
            Effect::Spill { name, text } => self.spills.write(name, text),
            Effect::Keep { chore, text } => self.keep(chore, text),
            Effect::Prefetch { kind, about } => self.prefetch(kind, about),
            Effect::SetTimer { ticket, after } => self.set_timer(ticket, after),
            Effect::Tell(notice) => self.tell(notice),
            Effect::Finish(ending) => {
                self.hooks.run_over(policy.mode);
                self.tell(Notice::RunEnded(ending));
            }
        }
    }

    /// A question was answered by a front end.
    pub(crate) fn answered(&mut self, ticket: Ticket, answer: Answer) -> Event {
        self.questions.answered(ticket, answer)
    }

    /// Where tools work.
    pub(crate) fn surroundings(&self) -> Arc<Surroundings> {
        Arc::clone(&self.attachments.surroundings)
    }

    /// Where people are told things.
    pub(crate) fn teller(&self) -> &Teller {
        &self.teller
    }

    /// Runs something of the hooks' beside everything else.
    pub(crate) fn beside(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.hooks.beside(work);
    }

    /// Tells people something the engine does not know.
    pub(crate) fn warn(&self, words: String) {
        self.teller.warn(words);
    }

    /// Drops everything but what must end by itself: tools are asked to, writing to disk does.
    pub(crate) fn cancel_all(&mut self) {
        self.errands.abort_all();
        self.tools.cancel_all();
        self.hooks.cancel_all();
    }

    /// Nothing that was begun before is heard of any more, and what was told to the model before may
    /// be told again.
    pub(crate) fn begin_anew(&mut self, events: mpsc::Sender<Event>) {
        self.cancel_all();
        self.tools.report_to(events.clone());
        self.hooks.report_to(events.clone());
        self.events = events;
        self.attempts.clear();
        self.timer = None;
        self.attachments.neighbours.forget();
        self.attachments.surroundings.forget_files();
    }

    /// Does a tool run?
    pub(crate) fn are_tools_running(&self) -> bool {
        self.tools.are_running()
    }

    /// Is something still there that must end by itself?
    pub(crate) fn is_busy(&self) -> bool {
        self.tools.are_running() || self.hooks.are_running() || self.spills.are_writing()
    }

    /// Waits until one thing that must end by itself has ended.
    pub(crate) async fn one_ended(&mut self) {
        tokio::select! {
            () = self.tools.one_gone(), if self.tools.are_running() => {}
            () = self.hooks.one_gone(), if self.hooks.are_running() => {}
            () = self.spills.one_written(), if self.spills.are_writing() => {}
            else => {}
        }
    }

    /// Hooks may answer before anybody else does; hooks are told when somebody is asked.
    fn ask(&mut self, ticket: Ticket, question: PermissionQuestion, policy: &Policy) {
        let words = format!("Windlass needs your permission to use {}", question.call.name);
        let call = self.hooks.notification("permission_prompt", &words, policy.mode);
        let Some(asking) = self.hooks.answerers(&question, policy) else {
            self.questions.ask(ticket, question);
            if let Some(call) = call {
                self.hooks.beside(async move { drop(call.run().await) });
            }
            return;
        };
        let cancel = self.questions.hold(ticket, &question);
        let (questions, events) = (self.questions.clone(), self.events.clone());
        self.hooks.beside(async move {
            let joint = asking.until(cancel.clone()).run().await;
            let answer = match joint.request {
                _ if cancel.is_cancelled() => return,
                Some(answer) => answered(answer),
                None => {
                    if questions.put(ticket, question)
                        && let Some(call) = call
                    {
                        drop(call.run().await);
                    }
                    return;
                }
            };
            let _ = events.send(questions.answered(ticket, answer)).await;
        });
    }

    fn tell(&mut self, notice: Notice) {
        if let Notice::PermissionWithdrawn(ticket) = &notice {
            self.questions.forget(*ticket);
        }
        self.teller.tell(notice);
    }

    fn call_model(&mut self, request: Box<ModelRequest>, gate: Gate) {
        let attempt = request.attempt;
        let (model, events) = (Arc::clone(&self.model), self.events.clone());
        let call = self.errands.spawn(async move {
            let report = |event| report(&events, event);
            if let Err(words) = caught(model.attempt(&request, gate, report)).await {
                let failure = ModelFailure::new(
                    FailureKind::Misconfigured,
                    format!("a fault inside Windlass ended the call: {words}"),
                );
                let _ = events.send(Event::ModelFailed { attempt, failure }).await;
            }
        });
        self.remember(attempt, call);
    }

    fn summarize(&mut self, ticket: Ticket, request: Box<ModelRequest>, gate: Gate) {
        let attempt = request.attempt;
        let (model, events) = (Arc::clone(&self.model), self.events.clone());
        let call = self.errands.spawn(async move {
            let event = compact::summarize(&model, ticket, &request, gate).await;
            let _ = events.send(event).await;
        });
        self.remember(attempt, call);
    }

    /// Keeps the means to cancel a request.
    fn remember(&mut self, attempt: AttemptId, call: AbortHandle) {
        self.attempts.retain(|_, call| !call.is_finished());
        self.attempts.insert(attempt, call);
    }

    fn set_timer(&mut self, ticket: Ticket, after: Millis) {
        let events = self.events.clone();
        let timer = self.errands.spawn(async move {
            tokio::time::sleep(Duration::from_millis(after.0)).await;
            let _ = events.send(Event::TimerFired { ticket }).await;
        });
        self.timer = Some((ticket, timer));
    }

    /// Lets the timer that runs run out now.
    pub(crate) fn end_wait(&mut self) -> Option<Event> {
        let (ticket, timer) = self.timer.take().filter(|(_, timer)| !timer.is_finished())?;
        timer.abort();
        // Should it have fired a moment ago, the engine hears it twice and heeds it once.
        Some(Event::TimerFired { ticket })
    }

    /// Keeps what came of a chore. Titles are the journal's and the transcript's to keep.
    fn keep(&mut self, chore: Chore, text: String) {
        let Some(notebook) = self.notebook.clone() else { return };
        let (events, teller) = (self.events.clone(), self.teller.clone());
        self.chores.spawn(async move {
            match notebook.keep(chore, text).await {
                Ok(Some(about)) => {
                    let chore = Chore::Consolidation;
                    let _ = events.send(Event::ChoreAsked { chore, about }).await;
                }
                Ok(None) => {}
                Err(problem) => teller.warn(problem),
            }
        });
    }

    /// Is something being kept that was seen to beside runs?
    pub(crate) fn are_chores_kept(&mut self) -> bool {
        while self.chores.try_join_next().is_some() {}
        self.chores.is_empty()
    }

    /// Waits until something is kept that was seen to beside runs; or, where that is waited for, until
    /// one thing has ended that must end by itself.
    pub(crate) async fn stirred(&mut self, is_ending: bool) {
        match is_ending {
            true => self.one_ended().await,
            false => self.chore_kept().await,
        }
    }

    /// Waits until something is kept; for ever when nothing is under way.
    async fn chore_kept(&mut self) {
        if self.chores.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// A prefetch that finds nothing says so by not arriving.
    fn prefetch(&mut self, kind: AttachmentKind, about: String) {
        let (attachments, events) = (Arc::clone(&self.attachments), self.events.clone());
        self.errands.spawn(async move {
            if let Some(event) = attachments.find(kind, about).await {
                let _ = events.send(event).await;
            }
        });
    }
}

/// A hook's answer to a question, as whoever is asked would give it.
fn answered(answer: RequestAnswer) -> Answer {
    match answer {
        RequestAnswer::Allow { updated_input, remember } => Answer::Allow {
            updated_input: updated_input.map(|input| Json::from_checked(&input.to_string())),
            remember,
        },
        RequestAnswer::Deny { message, interrupt } => Answer::Deny { message, interrupt },
    }
}

/// A session that is gone needs no more events.
async fn report(events: &mpsc::Sender<Event>, event: Event) {
    let _ = events.send(event).await;
}
