//! One session that this process has open: collects its questions and output for the page, and
//! forwards the page's acts to it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use windlass_assembly::options::RunOptions;
use windlass_assembly::prompt_expansion::PromptExpander;
use windlass_assembly::report::rewind::rewind_open_session;
use windlass_assembly::session::rewind_point::trace_messages;
use windlass_assembly::session_plan::{self, SessionPlan};
use windlass_assembly::slash_command::{self, FrontEnd, RewindArguments, SlashCommand};
use windlass_driver::mcp::McpServers;
use windlass_driver::rewind::{RewindOptions, RewindScope};
use windlass_driver::{Interrupt, Notices, Session};
use windlass_host::environment::process_environment;
use windlass_vocabulary::{ContentBlock, Delta, Notice, PermissionQuestion, Ticket};

use super::act_request::QuestionAnswer;
use crate::viewer::{FoundSession, ViewFailure};

pub(super) struct OpenSession {
    id: String,
    session: Session,
    expander: PromptExpander,
    mcp_servers: McpServers,
    journal: PathBuf,
    scratch_directory: Option<PathBuf>,
    seen: Arc<Mutex<SeenNotices>>,
}

/// What the page shows of the session's notices.
#[derive(Default)]
struct SeenNotices {
    is_running: bool,
    is_over: bool,
    questions: BTreeMap<Ticket, PermissionQuestion>,
    /// Text of the answer that is streaming in.
    draft: String,
}

impl OpenSession {
    /// Resumes a session in its own directory, like `windlass --resume` there.
    pub(super) async fn start(
        options: &RunOptions,
        session: &FoundSession,
        changes: &Arc<AtomicU64>,
    ) -> Result<Self, ViewFailure> {
        let mut options = options.clone();
        options.session.resume = Some(Some(session.id.clone()));
        let cwd = session.row.summary.project.as_deref().map(PathBuf::from);
        let cwd = cwd
            .filter(|cwd| cwd.is_dir())
            .ok_or_else(|| ViewFailure::failed("the directory of this session no longer exists"))?;
        // Reading its journal blocks, and takes long if it is long.
        let started = tokio::task::spawn_blocking(move || {
            let plan = session_plan::plan_editor_session(&options, cwd, &process_environment)?;
            let SessionPlan {
                mut builder,
                subagents,
                expander,
                mcp_servers,
                scratch_directory,
                ..
            } = plan;
            if let Some(subagents) = subagents {
                builder = builder.subagents(subagents);
            }
            let (driven, notices) =
                builder.start().map_err(|error| ViewFailure::failed(&error.to_string()))?;
            Ok::<_, ViewFailure>((driven, notices, expander, mcp_servers, scratch_directory))
        });
        let started = started.await.map_err(|error| ViewFailure::failed(&error.to_string()))?;
        let (driven, notices, expander, mcp_servers, scratch_directory) = started?;
        let seen = Arc::new(Mutex::new(SeenNotices::default()));
        tokio::spawn(collect_notices(notices, Arc::clone(&seen), Arc::clone(changes)));
        Ok(Self {
            id: session.id.clone(),
            session: driven,
            expander,
            mcp_servers,
            journal: session.journal.clone(),
            scratch_directory,
            seen,
        })
    }

    pub(super) fn is_over(&self) -> bool {
        lock(&self.seen).is_over || self.session.is_closed()
    }

    pub(super) async fn describe(&self) -> Value {
        let waiting = self.session.queued_messages().await.unwrap_or_default();
        let queued: Vec<String> =
            waiting.iter().map(|queued| join_texts(&queued.content)).collect();
        let is_running = self.session.is_run_active().await;
        let seen = lock(&self.seen);
        let questions: Vec<Value> =
            seen.questions.iter().map(|(ticket, asked)| question_to_json(*ticket, asked)).collect();
        let draft = (is_running && !seen.draft.is_empty()).then(|| seen.draft.clone());
        json!({
            "can_act": true,
            "is_open": true,
            "is_running": is_running,
            "held_by": null,
            "questions": questions,
            "queued": queued,
            "draft": draft,
        })
    }

    pub(super) async fn submit(&self, text: String) -> Result<(), ViewFailure> {
        let refused = |error: &dyn std::fmt::Display| ViewFailure::bad_request(&error.to_string());
        let command = slash_command::parse_prompt(text, FrontEnd::Headless)
            .map_err(|error| ViewFailure::bad_request(error.message()))?;
        match command {
            SlashCommand::SubmitPrompt(submission) => {
                let expanded = self.expander.expand(submission).await;
                let expanded =
                    expanded.map_err(|error| ViewFailure::bad_request(error.message()))?;
                self.record("prompt")?;
                self.session.submit(expanded).map_err(|error| refused(&error))
            }
            SlashCommand::Compact(focus) => {
                self.record("compact")?;
                self.session.compact(focus).map_err(|error| refused(&error))
            }
            SlashCommand::SideQuestion(_)
            | SlashCommand::Clear
            | SlashCommand::Resume(_)
            | SlashCommand::Context
            | SlashCommand::Cost
            | SlashCommand::Diff(_)
            | SlashCommand::Why
            | SlashCommand::Show { .. }
            | SlashCommand::Rewind(_)
            | SlashCommand::TerminalAction(_)
            | SlashCommand::ContinueRun
            | SlashCommand::ResumeDeferredCall => Err(ViewFailure::bad_request(
                "the page shows this itself, or it is for the terminal",
            )),
        }
    }

    pub(super) fn interrupt(&self) -> Result<(), ViewFailure> {
        self.record("interrupt")?;
        let sent = self.session.interrupt(Interrupt::User);
        sent.map_err(|error| ViewFailure::failed(&error.to_string()))
    }

    pub(super) fn answer(&self, answer: QuestionAnswer) -> Result<(), ViewFailure> {
        let QuestionAnswer { ticket, answer } = answer;
        if lock(&self.seen).questions.remove(&ticket).is_none() {
            return Err(ViewFailure::bad_request("this question is no longer open"));
        }
        self.record("answer")?;
        let sent = self.session.answer(ticket, answer);
        sent.map_err(|error| ViewFailure::failed(&error.to_string()))
    }

    /// Rewinds to before the prompt of record `seq`.
    pub(super) async fn rewind(&self, seq: u64, files: bool) -> Result<(), ViewFailure> {
        let journal = self.journal.clone();
        let id = self.id.clone();
        let traced = tokio::task::spawn_blocking(move || trace_messages(&journal, &id));
        let messages = traced.await.map_err(|error| ViewFailure::failed(&error.to_string()))??;
        let mut prompts = messages.iter().filter(|message| message.is_prompt);
        let number = prompts.position(|message| message.record == seq);
        let number = number.ok_or_else(|| ViewFailure::bad_request("this item is not a prompt"))?;
        self.record("rewind")?;
        let wanted = RewindArguments {
            to: Some((number + 1).to_string()),
            scope: RewindScope { conversation: true, files },
            options: RewindOptions::default(),
        };
        let rewound = rewind_open_session(&self.session, &self.journal, &self.id, &wanted).await;
        rewound.map(|_| ()).map_err(|error| ViewFailure::bad_request(error.message()))
    }

    pub(super) async fn close(&self) {
        self.session.close().await;
        self.mcp_servers.close().await;
        if let Some(scratch) = &self.scratch_directory {
            // It may not exist.
            let _ = std::fs::remove_dir_all(scratch);
        }
    }

    fn record(&self, act: &'static str) -> Result<(), ViewFailure> {
        let recorded = self.session.record_act("browser", act);
        recorded.map_err(|error| ViewFailure::failed(&error.to_string()))
    }
}

/// Collects the session's notices until it ends.
async fn collect_notices(
    mut notices: Notices,
    seen: Arc<Mutex<SeenNotices>>,
    changes: Arc<AtomicU64>,
) {
    while let Some(notice) = notices.next().await {
        changes.fetch_add(1, Ordering::AcqRel);
        let mut seen = lock(&seen);
        match notice {
            Notice::RunStarted => seen.is_running = true,
            Notice::RequestStarted { .. } | Notice::Retracted { .. } => seen.draft.clear(),
            Notice::Streamed { delta: Delta::Text(text), .. } => {
                if seen.draft.len() < DRAFT_BYTES_MAX {
                    seen.draft.push_str(&text);
                }
            }
            Notice::MessageAdded(_) => seen.draft.clear(),
            Notice::PermissionAsked { ticket, question } => {
                seen.questions.insert(ticket, question);
            }
            Notice::PermissionWithdrawn(ticket) => {
                seen.questions.remove(&ticket);
            }
            Notice::RunEnded(_) => {
                seen.is_running = false;
                seen.draft.clear();
            }
            Notice::AnswerStarted { .. }
            | Notice::Streamed { .. }
            | Notice::Sealed { .. }
            | Notice::ToolStarted(_)
            | Notice::ToolProgressed { .. }
            | Notice::ToolEnded { .. }
            | Notice::ToolDenied { .. }
            | Notice::RetryScheduled { .. }
            | Notice::ModelSwitched { .. }
            | Notice::Repaired { .. }
            | Notice::ContextShrunk { .. }
            | Notice::Continued { .. }
            | Notice::HookMessage { .. }
            | Notice::Hook(_)
            | Notice::FilesChanged { .. }
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::InputQueued(_)
            | Notice::Billed { .. }
            | Notice::Warning(_)
            | Notice::MaxTurnsReached { .. }
            | Notice::SubagentNotice { .. } => {}
        }
    }
    lock(&seen).is_over = true;
    changes.fetch_add(1, Ordering::AcqRel);
}

fn question_to_json(ticket: Ticket, asked: &PermissionQuestion) -> Value {
    let input = serde_json::from_str::<Value>(asked.call.input.as_str());
    json!({
        "ticket": ticket.0,
        "call": asked.call.id.as_str(),
        "tool": asked.call.name.as_str(),
        "input": input.unwrap_or_else(|_| Value::from(asked.call.input.as_str())),
        "why": asked.why,
        "suggestions": asked.suggestions,
        "agent": asked.agent.as_ref().map(|agent| agent.as_str()),
    })
}

fn join_texts(content: &[ContentBlock]) -> String {
    let mut words = String::new();
    for block in content {
        match block {
            ContentBlock::Text(text) => words.push_str(text),
            ContentBlock::Thinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::Media(_)
            | ContentBlock::Provider(_) => {}
        }
    }
    words
}

fn lock(seen: &Mutex<SeenNotices>) -> MutexGuard<'_, SeenNotices> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

const DRAFT_BYTES_MAX: usize = 64 << 10;
