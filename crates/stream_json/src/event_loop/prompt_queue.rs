//! A prompt arrives, waits its turn, and becomes a run.

use serde_json::Value;
use windlass_driver::{Interrupt, PromptSubmission, SendError};
use windlass_vocabulary::{ContentBlock, Tokens};

use super::EventLoop;
use crate::elicitation::ElicitationClient;
use crate::frame::{OutgoingFrame, PromptFrame, SystemSubtype, UserFrame, UserMessage};
use crate::live_session::{LiveSession, LiveSessionOptions};
use crate::notice_to_frame::build_system_frame;
use crate::prompt_turn;
use crate::prompt_turn::PromptTurn;
use crate::{build_fresh_plan, prompt_content};
use windlass_assembly::options::ThinkingDisplay;
use windlass_assembly::report::session_report::SessionReport;
use windlass_assembly::slash_command;
use windlass_assembly::slash_command::{FrontEnd, OverviewSection, SlashCommand};
use windlass_host::random;

impl EventLoop {
    /// A prompt arrived.
    pub(super) fn enqueue_prompt(&mut self, prompt: PromptFrame) {
        if self.caught_signal.is_some() {
            return;
        }
        self.deferred_call.on_prompt();
        if self.prompt_queue.len() >= QUEUE_MAX {
            let turn =
                PromptTurn::new(prompt.uuid, prompt.origin).into_result_frame(&self.usage_totals);
            let why = format!("{QUEUE_MAX} prompts wait already; send fewer at a time");
            self.send_result(prompt_turn::fail_with(turn, why));
            return;
        }
        match prompt.priority.as_deref() {
            Some("now") => {
                self.prompt_queue.push_front(prompt);
                if let (Some(stage), Some(_)) = (&self.live_session, &self.turn) {
                    // A session that does not take this is over, which is told next.
                    let _ = stage.session.interrupt(Interrupt::NewMessage);
                }
            }
            Some("later") => self.prompt_queue.push_back(prompt),
            _ => {
                let is_late = |prompt: &PromptFrame| prompt.priority.as_deref() == Some("later");
                let place =
                    self.prompt_queue.iter().position(is_late).unwrap_or(self.prompt_queue.len());
                self.prompt_queue.insert(place, prompt);
            }
        }
    }

    /// Takes up prompts until one of them is a run.
    pub(super) async fn start_next_prompt(&mut self) {
        while self.turn.is_none() && self.caught_signal.is_none() && self.session_failure.is_none()
        {
            let is_due = self.deferred_call.is_due();
            let is_idle = self.prompt_queue.is_empty() && !is_due;
            if is_idle || !self.is_ready() || !self.are_settings_current() {
                return;
            }
            if is_due {
                self.resume_deferred_call().await;
                continue;
            }
            let Some(prompt) = self.prompt_queue.pop_front() else {
                return;
            };
            self.start_prompt(prompt).await;
        }
    }

    async fn start_prompt(&mut self, mut prompt: PromptFrame) {
        if prompt.uuid.is_none() && self.args.headless.stream.replay_user_messages {
            prompt.uuid = Some(random::generate_uuid());
        }
        let turn = PromptTurn::new(prompt.uuid.clone(), prompt.origin.clone());
        if let Err(why) = self.open_session() {
            let frame = prompt_turn::fail_with(turn.into_result_frame(&self.usage_totals), why);
            self.send_result(frame);
            return;
        }
        self.send_state("running");
        self.replay_prompt(&prompt);
        self.send_init();
        match self.resolve_prompt(&prompt).await {
            Err(why) => {
                let frame = prompt_turn::fail_with(turn.into_result_frame(&self.usage_totals), why);
                self.send_result(frame);
            }
            Ok(None) => self.clear_conversation(turn).await,
            Ok(Some(order)) => self.begin_turn(order, turn, prompt.should_query).await,
        }
    }

    /// What a prompt asks for; `None` to begin anew.
    async fn resolve_prompt(
        &mut self,
        prompt: &PromptFrame,
    ) -> Result<Option<SlashCommand>, String> {
        if let Some(order) = self.first_prompt.take() {
            return Ok(Some(order).filter(|order| *order != SlashCommand::Clear));
        }
        let blocks = prompt_content::parse_blocks(&prompt.message.content)?;
        if prompt.client_composed {
            return Ok(Some(SlashCommand::SubmitPrompt(PromptSubmission::from(blocks))));
        }
        let order = match prompt_content::as_single_text(&blocks) {
            Some(words) => slash_command::parse_prompt(words.to_owned(), FrontEnd::Headless)
                .map_err(|why| why.to_string())?,
            None => SlashCommand::SubmitPrompt(PromptSubmission::from(blocks)),
        };
        let Some(stage) = &self.live_session else {
            return Ok(Some(order));
        };
        Ok(Some(match order {
            SlashCommand::Clear => return Ok(None),
            SlashCommand::SubmitPrompt(submission) if !submission.pinned => {
                let expanded = stage.expander.expand(submission).await;
                SlashCommand::SubmitPrompt(expanded.map_err(|why| why.to_string())?)
            }
            SlashCommand::Show { section: topic, .. } => {
                if topic == OverviewSection::McpServers {
                    stage.mcp_servers.wait_until_settled(SERVERS_WAIT).await;
                }
                SlashCommand::Show { section: topic, text: stage.render_overview(topic) }
            }
            other => other,
        }))
    }

    /// Starts the session if that was not done.
    pub(crate) fn open_session(&mut self) -> Result<(), String> {
        if self.live_session.is_some() {
            return Ok(());
        }
        let Some(plan) = self.plan.take() else {
            return Err(self
                .session_failure
                .clone()
                .unwrap_or_else(|| "the session is over".to_owned()));
        };
        let settings = plan.builder.settings();
        let models = std::iter::once(&settings.model).chain(&settings.fallbacks);
        models
            .chain(&settings.small_model)
            .for_each(|facts| self.usage_totals.add_model_facts(facts));
        let terms = LiveSessionOptions {
            hooks: self.initialize_options.build_hook_set(&self.client_channel),
            schema: self.initialize_options.schema.clone().or_else(|| self.schema.clone()),
            agent: self.args.headless.agent.clone(),
            mirrors_transcript: self.args.headless.stream.session_mirror,
            includes_partial_messages: self.args.headless.stream.include_partial_messages,
            includes_subagent_text: self.initialize_options.wants_subagent_text,
            hides_thinking: self.args.headless.stream.thinking_display
                == Some(ThinkingDisplay::Omitted),
            betas: self.args.headless.betas.clone(),
        };
        match LiveSession::start(plan, terms) {
            Ok(stage) => {
                if self.args.reads_stream_json() {
                    stage
                        .mcp_servers
                        .set_prompter(ElicitationClient::new(self.client_channel.clone()));
                }
                let session = &self.args.session;
                let is_new = !session.goes_on && session.resume.is_none();
                if let Some(title) = self.initialize_options.title.clone().filter(|_| is_new) {
                    // A session that does not take this is over, which is told next.
                    let _ = stage.session.rename(title);
                }
                self.live_session = Some(stage);
                Ok(())
            }
            Err(refusal) => {
                self.session_failure = Some(refusal.to_string());
                Err(refusal.to_string())
            }
        }
    }

    /// Says what the session is made of.
    pub(super) fn send_init(&mut self) {
        if let Some(init) = self.live_session.as_ref().map(LiveSession::build_init) {
            self.send_frame(build_system_frame(SystemSubtype::Init(Box::new(init))));
        }
    }

    fn replay_prompt(&mut self, prompt: &PromptFrame) {
        if !self.args.headless.stream.replay_user_messages {
            return;
        }
        let frame = OutgoingFrame::User(UserFrame {
            message: UserMessage { role: "user", content: prompt.message.content.clone() },
            parent_tool_use_id: None,
            tool_use_result: None,
            is_replay: true,
        });
        let uuid = prompt.uuid.clone().unwrap_or_else(random::generate_uuid);
        let session = self.session_id();
        self.send_frame_as(frame, session, uuid);
    }

    async fn begin_turn(
        &mut self,
        order: SlashCommand,
        mut turn: PromptTurn,
        should_query: Option<bool>,
    ) {
        let Some(stage) = &mut self.live_session else {
            return;
        };
        stage.final_answer = Default::default();
        if let Some(wanted) = &stage.structured_output {
            wanted.reset();
        }
        let sent = match order {
            SlashCommand::Context
            | SlashCommand::Cost
            | SlashCommand::Show { .. }
            | SlashCommand::Resume(_)
            | SlashCommand::Clear
            | SlashCommand::Why
            | SlashCommand::TerminalAction(_)
            | SlashCommand::Rewind(_) => {
                return self.run_session_report(&order, turn).await;
            }
            SlashCommand::ResumeDeferredCall => match stage.session.resume_deferred().await {
                true => Ok(()),
                false => Err(SendError::Closed),
            },
            // It goes on by itself, and began in another process.
            SlashCommand::ContinueRun => {
                stage.has_run_started = true;
                Ok(())
            }
            // Answers do not say which question they are to.
            SlashCommand::SideQuestion(_) if self.side_question.is_some() => {
                let why = "another question is not answered yet; ask again then".to_owned();
                return self.send_result(prompt_turn::fail_with(
                    turn.into_result_frame(&self.usage_totals),
                    why,
                ));
            }
            SlashCommand::SideQuestion(question) => {
                turn.is_side_question = true;
                stage.session.ask_side_question(question)
            }
            SlashCommand::SubmitPrompt(submission) if should_query == Some(false) => {
                self.unsent_blocks.extend(submission.content);
                let mut frame = turn.into_result_frame(&self.usage_totals);
                frame.result = Some(String::new());
                return self.send_result(frame);
            }
            SlashCommand::SubmitPrompt(submission) => {
                let mut content: Vec<ContentBlock> = std::mem::take(&mut self.unsent_blocks);
                content.extend(submission.content);
                let name = turn.uuid.clone();
                stage.session.submit(PromptSubmission { content, name, ..submission })
            }
            SlashCommand::Compact(focus) => {
                turn.freed_tokens = Some(Tokens(0));
                let sent = stage.session.compact(focus);
                self.send_frame(build_system_frame(SystemSubtype::Status {
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
                let frame = turn.into_result_frame(&self.usage_totals);
                self.send_result(prompt_turn::fail_with(
                    frame,
                    format!("the prompt was not taken: {error}"),
                ));
            }
        }
    }

    /// Prompts that only look at the session: nothing is asked of a model and nothing is said.
    async fn run_session_report(&mut self, order: &SlashCommand, turn: PromptTurn) {
        let Some(stage) = &self.live_session else {
            return;
        };
        let journal = stage.journal.as_deref();
        let seen = SessionReport::build(order, &stage.session, &stage.id, journal).await;
        let frame =
            prompt_turn::complete_with_report(turn.into_result_frame(&self.usage_totals), seen);
        self.send_result(frame);
    }

    /// Everything that was said is forgotten: another session goes on from here.
    async fn clear_conversation(&mut self, turn: PromptTurn) {
        let args = self.args.clone();
        let composed = tokio::task::spawn_blocking(move || build_fresh_plan(&args)).await;
        let mut plan = match composed {
            Ok(Ok(plan)) => plan,
            Ok(Err(refusal)) => {
                let frame = turn.into_result_frame(&self.usage_totals);
                return self.send_result(prompt_turn::fail_with(frame, refusal.to_string()));
            }
            Err(_) => return,
        };
        self.initialize_options.apply_to_plan(&mut plan);
        let new_conversation_id = plan.session_id.clone();
        self.send_frame(OutgoingFrame::ConversationReset { new_conversation_id });
        if let Some(stage) = self.live_session.take() {
            stage.close(windlass_driver::SessionEndReason::Clear).await;
        }
        self.side_question = None;
        self.unsent_blocks.clear();
        self.usage_totals.start_next_session();
        self.are_client_servers_connected = false;
        self.plan = Some(plan);
        let mut frame = turn.into_result_frame(&self.usage_totals);
        frame.result = Some(String::new());
        self.send_result(frame);
    }
}

/// Names and ids of prompts that wait.
pub(crate) fn queued_prompt_ids(desk: &EventLoop) -> Vec<Value> {
    desk.prompt_queue.iter().filter_map(|prompt| prompt.uuid.clone().map(Value::from)).collect()
}

/// How long servers that are being connected are waited for, by whoever asks how they stand.
const SERVERS_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
/// Prompts that may wait.
const QUEUE_MAX: usize = 1_024;
