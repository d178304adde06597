//! A prompt arrives, waits its turn, and becomes a run.

use serde_json::Value;
use windlass_driver::{Interrupt, SendError, Submission};
use windlass_vocabulary::{Block, Tokens};

use super::Desk;
use crate::args::ThinkingDisplay;
use crate::chance;
use crate::command::{self, Front, Order, Topic};
use crate::front::stream_json::elicitation::Client;
use crate::front::stream_json::frame::{Frame, Prompt, Subtype, User, UserMessage};
use crate::front::stream_json::narrator::system;
use crate::front::stream_json::stage::{Stage, Terms};
use crate::front::stream_json::verdict::{self, Turn};
use crate::front::stream_json::{afresh, prompt};
use crate::front::view::View;

impl Desk {
    /// A prompt arrived.
    pub(super) fn prompted(&mut self, prompt: Prompt) {
        if self.caught.is_some() {
            return;
        }
        self.put_off.somebody_speaks();
        if self.queue.len() >= QUEUE_MAX {
            let turn = Turn::new(prompt.uuid, prompt.origin).frame(&self.account);
            let why = format!("{QUEUE_MAX} prompts wait already; send fewer at a time");
            self.result(verdict::refused(turn, why));
            return;
        }
        match prompt.priority.as_deref() {
            Some("now") => {
                self.queue.push_front(prompt);
                if let (Some(stage), Some(_)) = (&self.stage, &self.turn) {
                    // A session that does not take this is over, which is told next.
                    let _ = stage.session.interrupt(Interrupt::NewMessage);
                }
            }
            Some("later") => self.queue.push_back(prompt),
            _ => {
                let is_late = |prompt: &Prompt| prompt.priority.as_deref() == Some("later");
                let place = self.queue.iter().position(is_late).unwrap_or(self.queue.len());
                self.queue.insert(place, prompt);
            }
        }
    }

    /// Takes up prompts until one of them is a run.
    pub(super) async fn take_next(&mut self) {
        while self.turn.is_none() && self.caught.is_none() && self.broken.is_none() {
            let is_due = self.put_off.is_due();
            let is_idle = self.queue.is_empty() && !is_due;
            if is_idle || !self.is_ready() || !self.is_up_to_date() {
                return;
            }
            if is_due {
                self.take_up().await;
                continue;
            }
            let Some(prompt) = self.queue.pop_front() else {
                return;
            };
            self.take(prompt).await;
        }
    }

    async fn take(&mut self, mut prompt: Prompt) {
        if prompt.uuid.is_none() && self.args.headless.replay_user_messages {
            prompt.uuid = Some(chance::uuid());
        }
        let turn = Turn::new(prompt.uuid.clone(), prompt.origin.clone());
        if let Err(why) = self.open() {
            let frame = verdict::refused(turn.frame(&self.account), why);
            self.result(frame);
            return;
        }
        self.state("running");
        self.replay(&prompt);
        self.introduce();
        match self.meant(&prompt).await {
            Err(why) => {
                let frame = verdict::refused(turn.frame(&self.account), why);
                self.result(frame);
            }
            Ok(None) => self.clear(turn).await,
            Ok(Some(order)) => self.begin(order, turn, prompt.should_query).await,
        }
    }

    /// What a prompt asks for; `None` to begin anew.
    async fn meant(&mut self, prompt: &Prompt) -> Result<Option<Order>, String> {
        if let Some(order) = self.first.take() {
            return Ok(Some(order).filter(|order| *order != Order::Clear));
        }
        let blocks = prompt::blocks(&prompt.message.content)?;
        if prompt.client_composed {
            return Ok(Some(Order::Say(Submission::from(blocks))));
        }
        let order = match prompt::text(&blocks) {
            Some(words) => {
                command::order(words.to_owned(), Front::Headless).map_err(|why| why.to_string())?
            }
            None => Order::Say(Submission::from(blocks)),
        };
        let Some(stage) = &self.stage else {
            return Ok(Some(order));
        };
        Ok(Some(match order {
            Order::Clear => return Ok(None),
            Order::Say(submission) if !submission.pinned => {
                let expanded = stage.expander.expand(submission).await;
                Order::Say(expanded.map_err(|why| why.to_string())?)
            }
            Order::Show { topic, .. } => {
                if topic == Topic::Servers {
                    stage.remote.settled(SERVERS_WAIT).await;
                }
                Order::Show { topic, text: stage.words(topic) }
            }
            other => other,
        }))
    }

    /// Starts the session if that was not done.
    pub(in crate::front::stream_json) fn open(&mut self) -> Result<(), String> {
        if self.stage.is_some() {
            return Ok(());
        }
        let Some(plan) = self.plan.take() else {
            return Err(self.broken.clone().unwrap_or_else(|| "the session is over".to_owned()));
        };
        let settings = plan.builder.settings();
        let models = std::iter::once(&settings.model).chain(&settings.fallbacks);
        models.chain(&settings.small_model).for_each(|facts| self.account.knows(facts));
        let terms = Terms {
            hooks: self.wishes.hooks(&self.port),
            schema: self.wishes.schema.clone().or_else(|| self.schema.clone()),
            agent: self.args.headless.agent.clone(),
            tells_lines: self.args.headless.session_mirror,
            tells_pieces: self.args.headless.include_partial_messages,
            tells_text: self.wishes.forwards_text,
            hides_thinking: self.args.headless.thinking_display == Some(ThinkingDisplay::Omitted),
            betas: self.args.headless.betas.clone(),
        };
        match Stage::open(plan, terms) {
            Ok(stage) => {
                if self.args.is_stream_in() {
                    stage.remote.seat(Client::new(self.port.clone()));
                }
                let session = &self.args.session;
                let is_new = !session.goes_on && session.resume.is_none();
                if let Some(title) = self.wishes.title.clone().filter(|_| is_new) {
                    // A session that does not take this is over, which is told next.
                    let _ = stage.session.rename(title);
                }
                self.stage = Some(stage);
                Ok(())
            }
            Err(refusal) => {
                self.broken = Some(refusal.to_string());
                Err(refusal.to_string())
            }
        }
    }

    /// Says what the session is made of.
    pub(super) fn introduce(&mut self) {
        if let Some(init) = self.stage.as_ref().map(Stage::init) {
            self.put(system(Subtype::Init(Box::new(init))));
        }
    }

    fn replay(&mut self, prompt: &Prompt) {
        if !self.args.headless.replay_user_messages {
            return;
        }
        let frame = Frame::User(User {
            message: UserMessage { role: "user", content: prompt.message.content.clone() },
            parent_tool_use_id: None,
            tool_use_result: None,
            is_replay: true,
        });
        let uuid = prompt.uuid.clone().unwrap_or_else(chance::uuid);
        let session = self.session_id();
        self.put_as(frame, session, uuid);
    }

    async fn begin(&mut self, order: Order, mut turn: Turn, should_query: Option<bool>) {
        let Some(stage) = &mut self.stage else {
            return;
        };
        stage.answer = Default::default();
        if let Some(wanted) = &stage.wanted {
            wanted.reset();
        }
        let sent = match order {
            Order::Context
            | Order::Cost
            | Order::Show { .. }
            | Order::Resume(_)
            | Order::Clear
            | Order::Why
            | Order::Act(_)
            | Order::Rewind(_) => {
                return self.look(&order, turn).await;
            }
            Order::TakeUp => match stage.session.take_up().await {
                true => Ok(()),
                false => Err(SendError::Closed),
            },
            // It goes on by itself, and began in another process.
            Order::GoOn => {
                stage.has_begun = true;
                Ok(())
            }
            // Answers do not say which question they are to.
            Order::Aside(_) if self.aside.is_some() => {
                let why = "another question is not answered yet; ask again then".to_owned();
                return self.result(verdict::refused(turn.frame(&self.account), why));
            }
            Order::Aside(question) => {
                turn.is_aside = true;
                stage.session.ask_aside(question)
            }
            Order::Say(submission) if should_query == Some(false) => {
                self.held.extend(submission.content);
                let mut frame = turn.frame(&self.account);
                frame.result = Some(String::new());
                return self.result(frame);
            }
            Order::Say(submission) => {
                let mut content: Vec<Block> = std::mem::take(&mut self.held);
                content.extend(submission.content);
                let name = turn.uuid.clone();
                stage.session.submit(Submission { content, name, ..submission })
            }
            Order::Compact(focus) => {
                turn.freed = Some(Tokens(0));
                let sent = stage.session.compact(focus);
                self.put(system(Subtype::Status {
                    status: Some("compacting"),
                    permission_mode: None,
                    compact_result: None,
                }));
                sent
            }
        };
        match sent {
            Ok(()) => self.turn = Some(turn),
            Err(error) => {
                let frame = turn.frame(&self.account);
                self.result(verdict::refused(frame, format!("the prompt was not taken: {error}")));
            }
        }
    }

    /// Prompts that only look at the session: nothing is asked of a model and nothing is said.
    async fn look(&mut self, order: &Order, turn: Turn) {
        let Some(stage) = &self.stage else {
            return;
        };
        let session = (stage.id.as_str(), stage.journal.as_deref());
        let seen = View::of(order, &stage.session, session).await;
        let frame = verdict::seen(turn.frame(&self.account), seen);
        self.result(frame);
    }

    /// Everything that was said is forgotten: another session goes on from here.
    async fn clear(&mut self, turn: Turn) {
        let args = self.args.clone();
        let composed = tokio::task::spawn_blocking(move || afresh(&args)).await;
        let mut plan = match composed {
            Ok(Ok(plan)) => plan,
            Ok(Err(refusal)) => {
                let frame = turn.frame(&self.account);
                return self.result(verdict::refused(frame, refusal.to_string()));
            }
            Err(_) => return,
        };
        self.wishes.apply(&mut plan);
        let new_conversation_id = plan.session_id.clone();
        self.put(Frame::ConversationReset { new_conversation_id });
        if let Some(stage) = self.stage.take() {
            stage.close(windlass_driver::Parting::Clear).await;
        }
        self.aside = None;
        self.held.clear();
        self.account.next_session();
        self.are_inside_asked = false;
        self.plan = Some(plan);
        let mut frame = turn.frame(&self.account);
        frame.result = Some(String::new());
        self.result(frame);
    }
}

/// Names and ids of prompts that wait.
pub(in crate::front::stream_json) fn waiting(desk: &Desk) -> Vec<Value> {
    desk.queue.iter().filter_map(|prompt| prompt.uuid.clone().map(Value::from)).collect()
}

/// How long servers that are being connected are waited for, by whoever asks how they stand.
const SERVERS_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
/// Prompts that may wait.
const QUEUE_MAX: usize = 1_024;
