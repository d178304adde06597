//! One nested session, from its start to its end: waited for, or left in the background.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_engine::Interrupt;
use windlass_tool::{Beside, Job};
use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{
    AgentId, Message, MicroUsd, ModelName, Notice, Role, ToolCallId, ToolOutcome,
};

use super::definition::{AgentDefinition, Isolation};
use super::input::Input;
use super::nest::{Nest, Seat};
use super::outcome::{self, Cut, End};
use super::place::Place;
use crate::clock;
use crate::guard::caught;
use crate::notices::Notices;
use crate::session::Session;

/// Runs it. Whatever happens, its money is accounted for and nothing of it is left running, except
/// in the background, where it has an end of its own.
pub(super) async fn run(
    nest: &Arc<Nest>,
    input: Input,
    definition: AgentDefinition,
    call: &ToolCallId,
    job: Job,
) -> ToolOutcome {
    // Only the first session leaves agents behind: another one's end would end them unfinished.
    let is_left = (input.run_in_background || definition.background) && nest.depth == 1;
    let nested = match Nested::start(nest, input, definition, call, job).await {
        Ok(nested) => nested,
        Err(problem) => return ToolOutcome::failure(problem),
    };
    match is_left {
        false => nested.waited().await,
        true => nested.leave().await,
    }
}

/// A nested session under way.
pub(super) struct Nested {
    nest: Arc<Nest>,
    _seat: Seat,
    pub(super) id: AgentId,
    call: ToolCallId,
    pub(super) input: Input,
    place: Place,
    session: Session,
    notices: Notices,
    job: Job,
    cancel: CancellationToken,
    /// What is known of it while it is left alone.
    beside: Option<Beside>,
    /// Somebody may want it to be left alone after all; the call is answered here then.
    leave: Option<(CancellationToken, oneshot::Sender<ToolOutcome>)>,
    /// What it said last.
    pub(super) answer: String,
    /// Tools it has started.
    pub(super) calls: u64,
    /// How often hooks were asked whether it may end.
    rounds: u8,
}

impl Nested {
    async fn start(
        nest: &Arc<Nest>,
        input: Input,
        mut definition: AgentDefinition,
        call: &ToolCallId,
        job: Job,
    ) -> Result<Self, String> {
        let seat = nest.seat().ok_or_else(|| {
            let most = nest.subagents.running_max;
            format!(
                "There are {most} agents at work, and no more may run at once. Wait for one, or do \
                 it yourself."
            )
        })?;
        if let Some(model) = &input.model {
            definition.model = Some(ModelName::from(model.as_str()));
        }
        let isolation = input.isolation.map_or(definition.isolation, |_| Isolation::Worktree);
        let id = nest.name();
        let (parent, journal) = (&nest.parent.surroundings, nest.parent.journal.as_ref());
        let place = Place::find(isolation, &id, parent, journal, &job.cancel).await?;
        let effort = input.effort.map(Into::into);
        let started =
            nest.builder(&id, &definition, call, &place, job.terms.clone()).and_then(|builder| {
                match builder.effort(effort).start() {
                    Ok(started) => Ok(started),
                    Err(error) => Err(format!("The agent could not start: {error}.")),
                }
            });
        let (session, notices) = match started {
            Ok(started) => started,
            Err(problem) => {
                place.settle().await;
                return Err(problem);
            }
        };
        let cancel = job.cancel.clone();
        Ok(Self {
            nest: Arc::clone(nest),
            _seat: seat,
            id,
            call: call.clone(),
            input,
            place,
            session,
            notices,
            job,
            cancel,
            beside: None,
            leave: None,
            answer: String::new(),
            calls: 0,
            rounds: 0,
        })
    }

    /// Waits for it, unless somebody sends it into the background meanwhile.
    async fn waited(mut self) -> ToolOutcome {
        let surroundings = Arc::clone(&self.job.surroundings);
        let waiting = surroundings.wait_for(self.id.as_str(), self.call.as_str(), &self.cancel);
        self.cancel = waiting.stop.clone();
        let (launched, left) = oneshot::channel();
        // Only the first session leaves agents behind.
        if self.nest.depth == 1 {
            self.leave = Some((waiting.leave.clone(), launched));
        }
        let mut finishing = Box::pin(self.finished());
        tokio::select! {
            biased;
            Ok(outcome) = left => {
                // One that breaks down sends no bill and keeps what was set aside for it.
                tokio::spawn(async move { caught(finishing).await.map(drop) });
                outcome
            }
            outcome = &mut finishing => outcome,
        }
    }

    /// It is waited for no longer, if what it does can be kept.
    fn go_beside(&mut self) {
        let Some((_, answer)) = self.leave.take() else { return };
        let Self { id, input, job, .. } = &*self;
        let begun = job.surroundings.begin_beside(id.as_str(), &input.description, &job.cancel);
        let Ok(beside) = begun else { return };
        let launched = outcome::launched(id, input, beside.output());
        if answer.send(launched).is_ok() {
            self.cancel = beside.cancel();
            self.beside = Some(beside);
        }
    }

    /// Lets it run and says where it can be found.
    async fn leave(mut self) -> ToolOutcome {
        let Self { id, input, job, .. } = &self;
        let begun = job.surroundings.begin_beside(id.as_str(), &input.description, &job.cancel);
        let beside = match begun {
            Ok(beside) => beside,
            Err(error) => {
                self.session.close().await;
                self.place.settle().await;
                return ToolOutcome::failure(format!(
                    "The agent was not started, because what it does cannot be kept: {error}."
                ));
            }
        };
        let launched = outcome::launched(id, input, beside.output());
        self.cancel = beside.cancel();
        self.beside = Some(beside);
        // One that breaks down sends no bill and keeps what was set aside for it.
        tokio::spawn(async move { caught(self.finished()).await.map(drop) });
        launched
    }

    async fn finished(mut self) -> ToolOutcome {
        let begun = clock::now();
        let ending = self.until_ended().await;
        self.session.close().await;
        self.nest.tree.questions.withdraw_all(&self.nest.teller, &self.session);
        let took = clock::since(begun).0;
        let place = std::mem::replace(&mut self.place, Place::Shared).settle().await;
        let outcome = outcome::outcome(&self, ending, End { took, place });
        if let Some(mut beside) = self.beside.take() {
            let answer = outcome::text(&outcome);
            beside.write(&format!("\n{answer}\n"));
            // Whoever hears of the end finds it paid for.
            self.job.bill.clone().settle(outcome.spent);
            let words = if outcome.is_error { "It failed." } else { "It is done." };
            beside.end(words.to_owned(), outcome.is_error, Some(answer));
        }
        outcome
    }

    async fn until_ended(&mut self) -> Result<Ending, (Cut, MicroUsd)> {
        let mut spent = MicroUsd(0);
        if self.session.submit(self.input.prompt.as_str()).is_err() {
            return Err((Cut::Gone, spent));
        }
        let deadline = clock::later(clock::now(), self.nest.subagents.time_max);
        let mut cut = None;
        loop {
            let cancel = self.cancel.clone();
            let leave = self.leave.as_ref().map(|(leave, _)| leave.clone());
            let is_left = async {
                match &leave {
                    Some(leave) => leave.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            // What was spent up to a forced end is told by the end itself, so it is waited for.
            let notice = tokio::select! {
                biased;
                () = cancel.cancelled(), if cut.is_none() => {
                    cut = Some(Cut::Cancelled);
                    let _ = self.session.interrupt(Interrupt::User);
                    continue;
                }
                () = tokio::time::sleep_until(deadline), if cut.is_none() => {
                    cut = Some(Cut::TooLong);
                    let _ = self.session.interrupt(Interrupt::User);
                    continue;
                }
                () = is_left, if cut.is_none() => {
                    self.go_beside();
                    continue;
                }
                notice = self.notices.next() => notice,
            };
            if cut.is_none()
                && let Some(Notice::RunEnded(ending)) = &notice
                && self.goes_on(ending, deadline).await
            {
                continue;
            }
            if let Some(notice) = &notice {
                self.pass_on(notice);
            }
            match notice {
                None => return Err((cut.unwrap_or(Cut::Gone), spent)),
                Some(Notice::RunEnded(ending)) => {
                    return match cut {
                        None => Ok(ending),
                        Some(cut) => Err((cut, ending.cost)),
                    };
                }
                Some(Notice::Billed { total, .. }) => spent = total,
                Some(notice) => self.heard(notice),
            }
        }
    }

    /// One that was left alone may be given more to do when it is done, by hooks, so many times.
    async fn goes_on(&mut self, ending: &Ending, deadline: Instant) -> bool {
        if self.beside.is_none() || ending.terminal.is_error() || self.rounds >= ROUNDS_MAX {
            return false;
        }
        self.rounds += 1;
        let wish = tokio::select! {
            () = self.cancel.cancelled() => None,
            () = tokio::time::sleep_until(deadline) => None,
            wish = self.session.idle() => wish,
        };
        wish.is_some_and(|wish| self.session.submit(wish).is_ok())
    }

    /// What is worth telling beside the parent's own words. What still deeper sessions tell is passed
    /// on as it is: it names its own call.
    fn pass_on(&self, notice: &Notice) {
        let told = match notice {
            Notice::RunStarted
            | Notice::RequestStarted { .. }
            | Notice::MessageAdded(_)
            | Notice::ToolStarted(_)
            | Notice::ToolProgressed { .. }
            | Notice::ToolEnded { .. }
            | Notice::ToolDenied { .. }
            | Notice::RunEnded(_) => Notice::Nested {
                call: self.call.clone(),
                agent: self.id.clone(),
                notice: Box::new(notice.clone()),
            },
            Notice::Nested { .. } => notice.clone(),
            _ => return,
        };
        self.nest.teller.tell(told);
    }

    /// Questions go to whoever answers the parent's; the rest is how far it is.
    fn heard(&mut self, notice: Notice) {
        let (teller, questions) = (&self.nest.teller, &self.nest.tree.questions);
        match notice {
            Notice::PermissionAsked { ticket, mut question } => {
                question.agent.get_or_insert_with(|| self.id.clone());
                questions.ask(teller, &self.session, ticket, question);
            }
            Notice::PermissionWithdrawn(ticket) => {
                questions.withdraw(teller, &self.session, ticket);
            }
            Notice::ToolStarted(call) => {
                self.calls += 1;
                let number = self.calls;
                self.job.progress.say(|| format!("{} (call {number})", call.name));
                if let Some(beside) = &mut self.beside {
                    let input = call.input.as_str();
                    let cut = input.floor_char_boundary(CALL_BYTES_SHOWN);
                    let shown = input.get(..cut).unwrap_or_default();
                    beside.write(&format!("[{} {shown}]\n", call.name));
                }
            }
            Notice::MessageAdded(message) if message.role == Role::Assistant => {
                self.remember(&message);
            }
            _ => {}
        }
    }

    fn remember(&mut self, message: &Message) {
        let text = message.text();
        if !text.trim().is_empty() {
            if let Some(beside) = &mut self.beside {
                beside.write(&format!("{}\n", text.trim_end()));
            }
            self.answer = text;
        }
    }
}

/// How often hooks may find more to do for one that was left alone.
const ROUNDS_MAX: u8 = 8;
/// Bytes of a call's input that are written down for whoever looks.
const CALL_BYTES_SHOWN: usize = 300;
