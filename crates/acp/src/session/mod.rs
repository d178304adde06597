//! One conversation of an editor: a task that owns a session, carries out what the client wants of it,
//! and tells the client what happens.

mod client_files;
mod compaction_updates;
mod config_options;
mod editor_questions;
mod open;
mod prompt_blocks;
mod prompt_ending;
mod prompt_runner;
mod question_elicitation;
mod replay;
mod session_settings;
mod tool_call_view;
mod update_builder;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};
use windlass_assembly::prompt_expansion::PromptExpander;
use windlass_assembly::settings::SettingsLayers;
use windlass_assembly::settings::reloader::SettingsReloader;
use windlass_assembly::slash_command::{self, FrontEnd};
use windlass_driver::mcp::McpServers;
use windlass_driver::{
    AgentDefinition, Interrupt, Notices, Session, SessionEndReason, SessionSettingsView,
};
use windlass_provider::endpoint::EndpointDescriptions;
use windlass_vocabulary::{ModelName, Notice, Ticket};

use config_options::SessionChoices;
use editor_questions::EditorQuestions;
use prompt_runner::PreparedPrompt;
use update_builder::UpdateBuilder;

use crate::rpc::RpcError;
use crate::schema::{
    AcpContent, AvailableCommand, CommandInput, NoticeSeverity, PromptStopReason, SessionUpdate,
};

pub(crate) use open::{OpenedSession, SessionRequest, open_session};

/// What the client wants of a session. Every request carries the id to answer with.
#[derive(Debug)]
pub(crate) enum EditorCommand {
    Prompt {
        id: Value,
        blocks: Vec<AcpContent>,
    },
    Cancel,
    /// Cancels the prompt with this id only.
    CancelRequest(Value),
    SetMode {
        id: Value,
        mode: String,
    },
    SetConfigOption {
        id: Value,
        option: String,
        value: Value,
    },
    Close {
        done: oneshot::Sender<()>,
    },
}

/// The server's end of a session.
#[derive(Debug)]
pub(crate) struct SessionHandle {
    pub session_id: String,
    commands: mpsc::UnboundedSender<EditorCommand>,
}

impl SessionHandle {
    /// Returns false if the session is over.
    pub(crate) fn send(&self, command: EditorCommand) -> bool {
        self.commands.send(command).is_ok()
    }
}

/// Everything around a session that is not the session itself.
struct SessionResources {
    settings: SessionSettingsView,
    agents: Vec<AgentDefinition>,
    expander: PromptExpander,
    layers: SettingsLayers,
    reloader: SettingsReloader,
    endpoints: EndpointDescriptions,
    mcp_servers: McpServers,
    journal: Option<PathBuf>,
    /// To be removed at the end.
    scratch_directory: Option<PathBuf>,
}

struct SessionTask {
    session: Session,
    notices: Notices,
    commands: mpsc::UnboundedReceiver<EditorCommand>,
    resources: SessionResources,
    questions: EditorQuestions,
    updates: UpdateBuilder,
    choices: SessionChoices,
    waiting: VecDeque<WaitingPrompt>,
    prompt: PromptState,
    open_questions: HashMap<Ticket, AbortHandle>,
    /// The model of the last request, for advice about a failure.
    last_model: Option<ModelName>,
    /// A run began in this process, not in the one that is resumed.
    has_run_started: bool,
    /// The slash commands as the client knows them.
    told_commands: Option<SessionUpdate>,
    /// Ends when the MCP servers, which have commands too, are connected or have failed.
    servers_start: Option<JoinHandle<()>>,
}

struct WaitingPrompt {
    id: Value,
    blocks: Vec<AcpContent>,
}

/// The state of the current prompt.
enum PromptState {
    None,
    /// Its files are read and its commands expanded.
    Preparing {
        id: Value,
        work: JoinHandle<Result<PreparedPrompt, String>>,
    },
    Running {
        id: Value,
        /// The name of its message.
        message: Option<String>,
        is_side_question: bool,
        is_cancelled: bool,
    },
}

enum TaskEvent {
    Command(Option<EditorCommand>),
    Notice(Option<Notice>),
    Prepared(Result<PreparedPrompt, String>),
    ServersStarted,
}

impl SessionTask {
    fn new(
        session: Session,
        notices: Notices,
        resources: SessionResources,
        questions: EditorQuestions,
        updates: UpdateBuilder,
        choices: SessionChoices,
    ) -> (Self, SessionHandle) {
        let (sender, commands) = mpsc::unbounded_channel();
        let handle = SessionHandle { session_id: questions.session_id.clone(), commands: sender };
        let task = Self {
            session,
            notices,
            commands,
            resources,
            questions,
            updates,
            choices,
            waiting: VecDeque::new(),
            prompt: PromptState::None,
            open_questions: HashMap::new(),
            last_model: None,
            has_run_started: false,
            told_commands: None,
            servers_start: None,
        };
        (task, handle)
    }

    /// Runs until the client closes the session or disconnects.
    async fn run(mut self) {
        self.tell_commands();
        let servers = self.resources.mcp_servers.clone();
        let starting = async move { servers.wait_until_settled(SERVERS_START_MAX).await };
        self.servers_start = Some(tokio::spawn(starting));
        let mut closed = None;
        loop {
            self.start_next_prompt().await;
            match self.next_event().await {
                TaskEvent::Command(None) => break,
                TaskEvent::Command(Some(EditorCommand::Close { done })) => {
                    closed = Some(done);
                    break;
                }
                TaskEvent::Command(Some(command)) => self.on_command(command).await,
                TaskEvent::Notice(Some(notice)) => self.on_notice(&notice).await,
                TaskEvent::Notice(None) => {
                    let storage_failure = self.notices.storage_failure();
                    if let Some(why) = &storage_failure {
                        let told = self.updates.tell(NoticeSeverity::Error, why.clone());
                        told.iter().for_each(|update| self.send_update(update));
                    }
                    let why = storage_failure.unwrap_or_else(|| "the session ended".to_owned());
                    self.fail_prompts(&RpcError::internal(why));
                    break;
                }
                TaskEvent::Prepared(prepared) => self.on_prepared(prepared).await,
                TaskEvent::ServersStarted => {
                    self.servers_start = None;
                    self.tell_commands();
                }
            }
        }
        self.cancel_prompts();
        self.close().await;
        if let Some(done) = closed {
            // The server may be gone.
            let _ = done.send(());
        }
    }

    async fn next_event(&mut self) -> TaskEvent {
        let client = &self.questions.client;
        let notices = &mut self.notices;
        let next_notice = async {
            client.wait_for_room().await;
            notices.next().await
        };
        let prepared = async {
            match &mut self.prompt {
                PromptState::Preparing { work, .. } => match work.await {
                    Ok(prepared) => prepared,
                    Err(broken) => Err(format!("the prompt could not be prepared: {broken}")),
                },
                PromptState::None | PromptState::Running { .. } => std::future::pending().await,
            }
        };
        let servers_started = async {
            match &mut self.servers_start {
                // Whether it ended or broke, there is nothing more to wait for.
                Some(starting) => drop(starting.await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            command = self.commands.recv() => TaskEvent::Command(command),
            prepared = prepared => TaskEvent::Prepared(prepared),
            () = servers_started => TaskEvent::ServersStarted,
            notice = next_notice => TaskEvent::Notice(notice),
        }
    }

    async fn on_command(&mut self, command: EditorCommand) {
        match command {
            EditorCommand::Prompt { id, .. } if self.waiting.len() >= WAITING_MAX => {
                let why = format!("{WAITING_MAX} prompts wait already");
                self.questions.client.respond(&id, Err(RpcError::invalid_request(why)));
            }
            EditorCommand::Prompt { id, blocks } => {
                self.waiting.push_back(WaitingPrompt { id, blocks });
            }
            EditorCommand::Cancel => self.cancel_prompts(),
            EditorCommand::CancelRequest(id) => self.cancel_request(&id),
            EditorCommand::SetMode { id, mode } => {
                let outcome = self.set_mode(&mode).map(|()| json!({}));
                self.questions.client.respond(&id, outcome);
            }
            EditorCommand::SetConfigOption { id, option, value } => {
                let outcome = self.set_config_option(&option, &value).await;
                let outcome =
                    outcome.map(|()| json!({ "configOptions": self.choices.to_options() }));
                self.questions.client.respond(&id, outcome);
            }
            // The loop ends with it.
            EditorCommand::Close { .. } => {}
        }
    }

    async fn on_notice(&mut self, notice: &Notice) {
        if let Notice::RunStarted = notice {
            self.has_run_started = true;
        }
        // A resumed journal may first tell the end of a run of an earlier process.
        if matches!(notice, Notice::RunEnded(_)) && !self.has_run_started {
            return;
        }
        for update in self.updates.notice_to_updates(notice) {
            self.send_update(&update);
        }
        if let Notice::RequestStarted { model, .. } = notice {
            self.last_model = Some(model.clone());
        }
        if let Notice::PermissionAsked { ticket, question } = notice {
            let ticket = *ticket;
            let questions = self.questions.clone();
            let question = question.clone();
            let session = self.session.clone();
            let work = tokio::spawn(async move {
                let answer = questions.ask_permission(&question).await;
                // A session that does not take this is over, which its notices say next.
                let _ = session.answer(ticket, answer);
            });
            self.open_questions.insert(ticket, work.abort_handle());
        }
        if let Notice::PermissionWithdrawn(ticket) = notice
            && let Some(work) = self.open_questions.remove(ticket)
        {
            work.abort();
        }
        if let Notice::ToolEnded { outcome, .. } = notice
            && let Some(mode) = outcome.update.as_ref().and_then(|update| update.mode)
        {
            self.tell_mode(mode);
        }
        if let Notice::SideQuestionAnswered(answer) = notice {
            self.end_side_question(answer);
        }
        if let Notice::RunEnded(ending) = notice {
            self.tell_commands();
            self.end_run(ending).await;
        }
    }

    fn cancel_prompts(&mut self) {
        for prompt in std::mem::take(&mut self.waiting) {
            self.answer_prompt(&prompt.id, Ok(PromptStopReason::Cancelled));
        }
        self.cancel_current();
    }

    fn cancel_request(&mut self, id: &Value) {
        let current = match &self.prompt {
            PromptState::Preparing { id, .. } | PromptState::Running { id, .. } => Some(id),
            PromptState::None => None,
        };
        if current == Some(id) {
            return self.cancel_current();
        }
        let place = self.waiting.iter().position(|prompt| prompt.id == *id);
        if let Some(prompt) = place.and_then(|place| self.waiting.remove(place)) {
            self.questions.client.respond(&prompt.id, Err(RpcError::cancelled()));
        }
    }

    fn cancel_current(&mut self) {
        match std::mem::replace(&mut self.prompt, PromptState::None) {
            PromptState::None => {}
            PromptState::Preparing { id, work } => {
                work.abort();
                self.answer_prompt(&id, Ok(PromptStopReason::Cancelled));
            }
            PromptState::Running { id, is_side_question: true, .. } => {
                self.answer_prompt(&id, Ok(PromptStopReason::Cancelled));
            }
            PromptState::Running { id, message, is_side_question: false, .. } => {
                let is_side_question = false;
                let is_cancelled = true;
                self.prompt = PromptState::Running { id, message, is_side_question, is_cancelled };
                // A session that does not take this is over, which its notices say next.
                let _ = self.session.interrupt(Interrupt::User);
            }
        }
    }

    /// A prompt that was cancelled has that as its answer, however the session ends.
    fn fail_prompts(&mut self, error: &RpcError) {
        let client = &self.questions.client;
        for prompt in std::mem::take(&mut self.waiting) {
            client.respond(&prompt.id, Err(error.clone()));
        }
        match std::mem::replace(&mut self.prompt, PromptState::None) {
            PromptState::Running { id, is_cancelled: true, .. } => {
                self.answer_prompt(&id, Ok(PromptStopReason::Cancelled));
            }
            PromptState::Preparing { id, .. } | PromptState::Running { id, .. } => {
                client.respond(&id, Err(error.clone()));
            }
            PromptState::None => {}
        }
    }

    fn answer_prompt(&self, id: &Value, outcome: Result<PromptStopReason, RpcError>) {
        self.questions.client.respond(id, outcome.map(prompt_ending::stop_with));
    }

    fn send_update(&self, update: &SessionUpdate) {
        let params = json!({ "sessionId": self.questions.session_id, "update": update });
        self.questions.client.notify("session/update", &params);
    }

    /// Prompts of MCP servers are commands too, and come when the server is there.
    fn tell_commands(&mut self) {
        let commands = list_commands(&self.resources.expander);
        if self.told_commands.as_ref() != Some(&commands) {
            self.send_update(&commands);
            self.told_commands = Some(commands);
        }
    }

    /// Tells the client in the only place where it is shown: among the notices of the session.
    fn warn(&self, text: String) {
        self.session.warn(text);
    }

    async fn close(&mut self) {
        for work in self.open_questions.values() {
            work.abort();
        }
        if let Some(starting) = self.servers_start.take() {
            starting.abort();
        }
        self.session.close_with_reason(SessionEndReason::Other).await;
        // What was under way has its end now, and the prompt its answer.
        while let Some(notice) = self.notices.try_next() {
            self.on_notice(&notice).await;
        }
        self.fail_prompts(&RpcError::internal("the session was closed"));
        self.resources.mcp_servers.close().await;
        if let Some(scratch) = &self.resources.scratch_directory {
            // Perhaps it was never made.
            let _ = std::fs::remove_dir_all(scratch);
        }
    }
}

fn list_commands(expander: &PromptExpander) -> SessionUpdate {
    let command = |name: &str, description: &str, hint: &str| AvailableCommand {
        name: name.to_owned(),
        description: description.to_owned(),
        input: (!hint.is_empty()).then(|| CommandInput { hint: hint.to_owned() }),
    };
    let own = slash_command::list_available(FrontEnd::Headless)
        // The editor has its own ways to begin and to choose a session.
        .filter(|one| !matches!(one.name, "clear" | "resume"))
        .map(|one| command(one.name, one.description, one.argument_hint));
    let custom = expander.list_commands();
    let custom = custom.iter().map(|one| command(&one.name, &one.description, &one.argument_hint));
    SessionUpdate::AvailableCommandsUpdate { available_commands: own.chain(custom).collect() }
}

/// Prompts that wait while one runs.
const WAITING_MAX: usize = 64;
/// How long commands of servers are waited for. Those that come later are told after the next run.
const SERVERS_START_MAX: Duration = Duration::from_secs(10 * 60);
