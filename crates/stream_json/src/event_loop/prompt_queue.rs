//! A prompt arrives, waits its turn, and becomes a run.

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;
use windlass_driver::{Interrupt, PromptSubmission, SendError};
use windlass_vocabulary::{ContentBlock, Tokens};

use super::EventLoop;
use crate::elicitation::ElicitationClient;
use crate::frame::{OutgoingFrame, PromptFrame, SystemSubtype, UserFrame, UserMessage};
use crate::fresh_plan::build_fresh_plan;
use crate::live_session::{LiveSession, LiveSessionOptions};
use crate::notice_to_frame::{build_system_frame, build_warning_frame};
use crate::prompt_content;
use crate::prompt_turn;
use crate::prompt_turn::PromptTurn;
use crate::session_phase::SessionPhase;
use crate::session_state::SessionState;
use windlass_assembly::options::ThinkingDisplay;
use windlass_assembly::report::session_report::SessionReport;
use windlass_assembly::slash_command;
use windlass_assembly::slash_command::{FrontEnd, OverviewSection, SlashCommand};
use windlass_host::random;

pub(crate) struct PromptQueue {
    /// In the order they are started.
    pub(crate) waiting: VecDeque<PromptFrame>,
    /// What the first prompt asks for, if that is known already.
    first: Option<SlashCommand>,
    /// Prompts that ask the model nothing; sent with the next one.
    unsent_blocks: Vec<ContentBlock>,
    /// Tasks in the background whose end was queued as a prompt.
    pub(super) notified_tasks: BTreeSet<String>,
}

impl PromptQueue {
    pub(super) fn new(first: Option<SlashCommand>) -> Self {
        Self {
            waiting: VecDeque::new(),
            first,
            unsent_blocks: Vec::new(),
            notified_tasks: BTreeSet::new(),
        }
    }

    /// Are so many prompts waiting that no more should be read?
    fn is_full(&self, times: usize) -> bool {
        let bytes: usize = self.waiting.iter().map(|prompt| prompt.line_bytes).sum();
        self.waiting.len() >= QUEUE_MAX * times || bytes >= QUEUE_BYTES_MAX * times
    }

    /// The ids of prompts that wait and have one.
    pub(crate) fn waiting_ids(&self) -> Vec<Value> {
        self.waiting.iter().filter_map(|prompt| prompt.uuid.clone().map(Value::from)).collect()
    }
}

impl EventLoop {
    pub(super) fn enqueue_prompt(&mut self, prompt: PromptFrame) {
        if self.signals.caught.is_some() {
            return;
        }
        if prompt.problem.is_none() {
            self.deferred_call.on_prompt();
        }
        match prompt.priority.as_deref() {
            Some("now") => {
                self.prompts.waiting.push_front(prompt);
                if let (Some(live), Some(_)) = (self.session.live(), &self.turn) {
                    // A session that does not take this is over, which its notices say next.
                    let _ = live.session.interrupt(Interrupt::NewMessage);
                }
            }
            Some("later") => self.prompts.waiting.push_back(prompt),
            _ => {
                let is_late = |prompt: &PromptFrame| prompt.priority.as_deref() == Some("later");
                let place = self
                    .prompts
                    .waiting
                    .iter()
                    .position(is_late)
                    .unwrap_or(self.prompts.waiting.len());
                self.prompts.waiting.insert(place, prompt);
            }
        }
    }

    /// A prompt that cannot be read waits for its turn, which ends with the reason. About other lines
    /// the client is told at once.
    pub(super) fn on_invalid_line(
        &mut self,
        number: u64,
        problem: &str,
        prompt: Option<Box<PromptFrame>>,
    ) {
        let words = format!(
            "line {number} of standard input is left out: {problem}; write one JSON object a line"
        );
        self.output.report_error_line(&words);
        match prompt {
            Some(prompt) => self.enqueue_prompt(*prompt),
            None => self.send_frame(build_warning_frame(words)),
        }
    }

    /// If the queue is full the input is not read, so that the client waits. While an answer of the
    /// client is expected, which comes after its prompts in the input, some more are read:
    /// otherwise the run that makes room could not continue.
    pub(super) fn may_read_input(&self) -> bool {
        let is_asking = !self.client.pending.is_empty();
        !self.prompts.is_full(if is_asking { ASKING_FACTOR } else { 1 })
    }

    /// Starts prompts until one of them is a run.
    pub(super) async fn start_next_prompt(&mut self) {
        while self.turn.is_none() && self.signals.caught.is_none() && !self.session.is_lost() {
            let is_due = self.deferred_call.is_due();
            let is_idle = self.prompts.waiting.is_empty() && !is_due;
            if is_idle || !self.is_ready() || !self.are_settings_current() {
                return;
            }
            if is_due {
                self.resume_deferred_call().await;
                continue;
            }
            let Some(prompt) = self.prompts.waiting.pop_front() else {
                return;
            };
            self.start_prompt(prompt).await;
        }
    }

    async fn start_prompt(&mut self, mut prompt: PromptFrame) {
        let is_replayed =
            self.args.headless.stream.replay_user_messages && prompt.problem.is_none();
        if prompt.uuid.is_none() && is_replayed {
            prompt.uuid = Some(random::generate_uuid());
        }
        let turn = PromptTurn::new(prompt.uuid.clone(), prompt.origin.clone());
        if let Err(why) = self.open_session() {
            return self.fail_turn(turn, why);
        }
        self.send_state(SessionState::Running);
        if is_replayed {
            self.replay_prompt(&prompt);
        }
        self.send_init();
        match self.resolve_prompt(&prompt).await {
            Err(why) => self.fail_turn(turn, why),
            Ok(None) => self.clear_conversation(turn).await,
            Ok(Some(command)) => self.begin_turn(command, turn, prompt.should_query).await,
        }
    }

    /// The expanded prompt; `None` to start a new conversation.
    async fn resolve_prompt(
        &mut self,
        prompt: &PromptFrame,
    ) -> Result<Option<SlashCommand>, String> {
        if let Some(problem) = &prompt.problem {
            return Err(problem.clone());
        }
        if let Some(command) = self.prompts.first.take() {
            return Ok(Some(command).filter(|command| *command != SlashCommand::Clear));
        }
        let blocks = prompt_content::parse_blocks(&prompt.message.content)?;
        if prompt.client_composed {
            return Ok(Some(SlashCommand::SubmitPrompt(PromptSubmission::from(blocks))));
        }
        let command = match prompt_content::as_single_text(&blocks) {
            Some(words) => slash_command::parse_prompt(words.to_owned(), FrontEnd::Headless)
                .map_err(|why| why.to_string())?,
            None => SlashCommand::SubmitPrompt(PromptSubmission::from(blocks)),
        };
        let Some(live) = self.session.live() else {
            return Ok(Some(command));
        };
        Ok(Some(match command {
            SlashCommand::Clear => return Ok(None),
            SlashCommand::SubmitPrompt(submission) if !submission.pinned => {
                let expanded = live.expander.expand(submission).await;
                SlashCommand::SubmitPrompt(expanded.map_err(|why| why.to_string())?)
            }
            SlashCommand::Show { section, .. } => {
                if section == OverviewSection::McpServers {
                    live.mcp_servers.wait_until_settled(SERVERS_WAIT).await;
                }
                SlashCommand::Show { section, text: live.render_overview(section) }
            }
            command @ (SlashCommand::SubmitPrompt(_)
            | SlashCommand::Context
            | SlashCommand::Cost
            | SlashCommand::Diff(_)
            | SlashCommand::Resume(_)
            | SlashCommand::Why
            | SlashCommand::TerminalAction(_)
            | SlashCommand::Rewind(_)
            | SlashCommand::ResumeDeferredCall
            | SlashCommand::ContinueRun
            | SlashCommand::SideQuestion(_)
            | SlashCommand::Compact(_)) => command,
        }))
    }

    /// Starts the session if it is not live yet.
    pub(crate) fn open_session(&mut self) -> Result<(), String> {
        let Some(plan) = self.session.take_plan() else {
            return match &self.session {
                SessionPhase::Lost(why) => Err(why.clone()),
                SessionPhase::Planned { .. }
                | SessionPhase::Opening { .. }
                | SessionPhase::Live(_) => Ok(()),
            };
        };
        let settings = plan.builder.settings();
        // The session's own come last: variables may have given them other windows.
        let models = plan.description.named_models.iter().chain([&settings.model]);
        models
            .chain(&settings.fallbacks)
            .chain(&settings.small_model)
            .for_each(|facts| self.usage_totals.add_model_facts(facts));
        let options = LiveSessionOptions {
            hooks: self.initialize_options.build_hook_set(&self.client.channel),
            schema: self.initialize_options.schema.clone().or_else(|| self.schema.clone()),
            agent: self.args.headless.agent.clone(),
            mirrors_transcript: self.args.headless.stream.session_mirror,
            includes_partial_messages: self.args.headless.stream.include_partial_messages,
            includes_subagent_text: self.args.headless.stream.forward_subagent_text
                || self.initialize_options.wants_subagent_text,
            hides_thinking: self.args.headless.stream.thinking_display
                == Some(ThinkingDisplay::Omitted),
            betas: self.args.headless.betas.clone(),
        };
        match LiveSession::start(*plan, options) {
            Ok(live) => {
                if self.args.reads_stream_json() {
                    live.mcp_servers
                        .set_prompter(ElicitationClient::new(self.client.channel.clone()));
                }
                let session = &self.args.session;
                let is_new = !session.goes_on && session.resume.is_none();
                if let Some(title) = self.initialize_options.title.clone().filter(|_| is_new) {
                    // A session that does not take this is over, which its notices say next.
                    let _ = live.session.rename(title);
                }
                self.usage_totals.follow_session(live.session.spending());
                self.session = SessionPhase::Live(Box::new(live));
                Ok(())
            }
            Err(refusal) => {
                self.session = SessionPhase::Lost(refusal.to_string());
                Err(refusal.to_string())
            }
        }
    }

    pub(super) fn send_init(&mut self) {
        if let Some(init) = self.session.live().map(LiveSession::build_init) {
            self.send_frame(build_system_frame(SystemSubtype::Init(Box::new(init))));
        }
    }

    fn replay_prompt(&mut self, prompt: &PromptFrame) {
        let frame = OutgoingFrame::User(UserFrame {
            message: UserMessage { role: "user", content: prompt.message.content.clone() },
            parent_tool_use_id: None,
            tool_use_result: None,
            is_replay: true,
        });
        let uuid = prompt.uuid.clone().unwrap_or_else(random::generate_uuid);
        self.send_frame_as(frame, uuid);
    }

    async fn begin_turn(
        &mut self,
        command: SlashCommand,
        mut turn: PromptTurn,
        should_query: Option<bool>,
    ) {
        let Some(live) = self.session.live_mut() else {
            return;
        };
        live.final_answer = Default::default();
        if let Some(wanted) = &live.structured_output {
            wanted.reset();
        }
        let sent = match command {
            SlashCommand::Context
            | SlashCommand::Cost
            | SlashCommand::Diff(_)
            | SlashCommand::Show { .. }
            | SlashCommand::Resume(_)
            | SlashCommand::Clear
            | SlashCommand::Why
            | SlashCommand::TerminalAction(_)
            | SlashCommand::Rewind(_) => {
                return self.run_session_report(&command, turn).await;
            }
            SlashCommand::ResumeDeferredCall => match live.session.resume_deferred().await {
                true => Ok(()),
                false => Err(SendError::Closed),
            },
            // It continues by itself, and was started by another process.
            SlashCommand::ContinueRun => {
                live.has_run_started = true;
                Ok(())
            }
            // Answers do not say which question they are to.
            SlashCommand::SideQuestion(_) if self.control.side_question.is_some() => {
                let why =
                    "another side question is still being answered; ask again after it".to_owned();
                return self.fail_turn(turn, why);
            }
            SlashCommand::SideQuestion(question) => {
                turn.is_side_question = true;
                live.session.ask_side_question(question)
            }
            SlashCommand::SubmitPrompt(submission) if should_query == Some(false) => {
                self.prompts.unsent_blocks.extend(submission.content);
                let mut frame = turn.into_result_frame(&self.usage_totals);
                frame.result = Some(String::new());
                return self.send_result(frame);
            }
            SlashCommand::SubmitPrompt(submission) => {
                let mut content: Vec<ContentBlock> =
                    std::mem::take(&mut self.prompts.unsent_blocks);
                content.extend(submission.content);
                let name = turn.uuid.clone();
                live.session.submit(PromptSubmission { content, name, ..submission })
            }
            SlashCommand::Compact(focus) => {
                turn.freed_tokens = Some(Tokens(0));
                let sent = live.session.compact(focus);
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
            Err(error) => self.fail_turn(turn, format!("the prompt was not accepted: {error}")),
        }
    }

    /// Runs a command that only looks at the session, without a model.
    async fn run_session_report(&mut self, command: &SlashCommand, turn: PromptTurn) {
        let Some(live) = self.session.live() else {
            return;
        };
        let files = &live.files;
        let journal = files.journal.as_deref();
        let seen = SessionReport::build(command, &live.session, &files.session_id, journal).await;
        let frame =
            prompt_turn::complete_with_report(turn.into_result_frame(&self.usage_totals), seen);
        self.send_result(frame);
    }

    /// Ends the session and plans another one in its place.
    async fn clear_conversation(&mut self, turn: PromptTurn) {
        let args = self.args.clone();
        let planned = tokio::task::spawn_blocking(move || build_fresh_plan(&args)).await;
        let mut plan = match planned {
            Ok(Ok(plan)) => plan,
            Ok(Err(refusal)) => return self.fail_turn(turn, refusal.to_string()),
            Err(_) => return,
        };
        self.initialize_options.apply_to_plan(&mut plan);
        let new_conversation_id = plan.session_id.clone();
        self.send_frame(OutgoingFrame::ConversationReset { new_conversation_id });
        let next = SessionPhase::from_plan(plan);
        if let SessionPhase::Live(live) = std::mem::replace(&mut self.session, next) {
            live.close(windlass_driver::SessionEndReason::Clear).await;
        }
        self.control.side_question = None;
        self.prompts.unsent_blocks.clear();
        self.usage_totals.start_next_session();
        let mut frame = turn.into_result_frame(&self.usage_totals);
        frame.result = Some(String::new());
        self.send_result(frame);
    }
}

/// How long the overview of MCP servers waits for those that are being connected.
const SERVERS_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
/// Prompts that may wait.
const QUEUE_MAX: usize = 16_384;
/// Bytes of the lines of prompts that may wait.
const QUEUE_BYTES_MAX: usize = 64 << 20;
/// By this factor the limit is higher while an answer of the client is expected.
const ASKING_FACTOR: usize = 4;
