//! Opens a session: plans it in its own directory, starts it, and describes it to the client.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_assembly::mcp;
use windlass_assembly::options::RunOptions;
use windlass_assembly::session::cleanup::SessionCleanup;
use windlass_assembly::session_plan::{self, SessionPlan};
use windlass_driver::AgentDefinition;
use windlass_host::command_error::{CommandError, CommandRemedy};
use windlass_host::environment::process_environment;
use windlass_host::exit::Exit;

use super::client_files::ClientFiles;
use super::config_options::SessionChoices;
use super::editor_questions::EditorQuestions;
use super::update_builder::UpdateBuilder;
use super::{SessionHandle, SessionResources, SessionTask, replay};
use crate::rpc::{ClientConnection, RpcError};
use crate::schema::{ClientCapabilities, EditorMcpServer, NamedValue, NewParams};

/// What is opened: the parameters of the client on top of the options of the command line.
#[derive(Debug)]
pub(crate) struct SessionRequest {
    pub options: RunOptions,
    pub params: NewParams,
    /// The session to go on with; a new one otherwise.
    pub resume: Option<String>,
    /// Send everything that was said before answering.
    pub replays: bool,
}

/// Where a session works: without links, and as the client spells it.
struct SessionDirectory {
    real: PathBuf,
    spelled: PathBuf,
}

pub(crate) struct OpenedSession {
    pub handle: SessionHandle,
    /// The result of the method.
    pub result: Value,
}

pub(crate) async fn open_session(
    request: SessionRequest,
    client: ClientConnection,
    capabilities: Arc<ClientCapabilities>,
) -> Result<OpenedSession, RpcError> {
    let SessionRequest { mut options, params, resume, replays } = request;
    let directory = SessionDirectory { real: check_directory(&params.cwd)?, spelled: params.cwd };
    for directory in &params.additional_directories {
        options.permission.add_dir.push(check_directory(directory)?);
    }
    if !params.mcp_servers.is_empty() {
        options.mcp.mcp_config.push(build_mcp_config(&params.mcp_servers)?);
    }
    let is_resumed = resume.is_some();
    options.session.resume = resume.clone().map(Some);
    let plan_options = options.clone();
    let plan_directory = directory.real.clone();
    let spelled = directory.spelled.clone();
    let planned = tokio::task::spawn_blocking(move || {
        let environment = process_environment;
        let plan = session_plan::plan_editor_session(&plan_options, plan_directory, &environment)?;
        let journal = plan.journal.as_deref().filter(|_| replays);
        let history = journal.map(|journal| replay::read_history(journal, &spelled)).transpose()?;
        Ok((plan, history.unwrap_or_default()))
    });
    let planned = planned.await.map_err(|error| RpcError::internal(error.to_string()))?;
    let (plan, history) = planned.map_err(|error| explain_refusal(&error, is_resumed))?;
    // People type names and beginnings of ids. A client would go on with its own word for the session,
    // which no later message could find.
    if let Some(id) = resume.filter(|id| *id != plan.session_id) {
        return Err(RpcError::session_not_found(&id));
    }
    let started = start_session(plan, options, directory, client, capabilities)?;
    let StartedSession { task, handle, choices } = started;
    for update in &history {
        task.send_update(update);
    }
    let mut result = json!({ "modes": choices.to_modes(), "configOptions": choices.to_options() });
    if let (false, Value::Object(fields)) = (is_resumed, &mut result) {
        fields.insert("sessionId".to_owned(), Value::from(handle.session_id.clone()));
    }
    tokio::spawn(task.run());
    Ok(OpenedSession { handle, result })
}

struct StartedSession {
    task: SessionTask,
    handle: SessionHandle,
    choices: SessionChoices,
}

fn start_session(
    plan: SessionPlan,
    options: RunOptions,
    directory: SessionDirectory,
    client: ClientConnection,
    capabilities: Arc<ClientCapabilities>,
) -> Result<StartedSession, RpcError> {
    let mut notes = plan.settings_layers.warnings();
    notes.extend(plan.notes.iter().filter(|_| options.verbose).cloned());
    let SessionPlan { mut builder, subagents, endpoints, mcp_servers, .. } = plan;
    let mut agents: Vec<AgentDefinition> = Vec::new();
    if let Some(subagents) = subagents {
        agents.clone_from(&subagents.definitions);
        builder = builder.subagents(subagents);
    }
    builder.enable_side_questions();
    let settings = builder.settings();
    let environment = process_environment;
    let choices = SessionChoices::new(
        &settings,
        &endpoints.primary.provider,
        &endpoints.config,
        &plan.settings_layers,
        options.headless.allow_dangerously_skip_permissions,
        &environment,
    );
    let (session, notices) = builder
        .start()
        .map_err(|error| RpcError::internal(format!("{error}; correct it and try again")))?;
    let _cleanup = plan.cleanup.map(SessionCleanup::spawn);
    let questions = EditorQuestions {
        client,
        capabilities,
        session_id: plan.session_id.clone(),
        cwd: directory.real,
        client_cwd: directory.spelled.clone(),
        settings: options.settings,
        open_urls: Arc::default(),
    };
    if let Some(files) = ClientFiles::new(questions.clone()) {
        plan.expander.tools.tool_context.files.set_editor(Arc::new(files));
    }
    mcp_servers.set_prompter(Arc::new(questions.clone()));
    mcp::warn_of_slow_servers(&mcp_servers, &session);
    let window = settings.model.window.0;
    let resources = SessionResources {
        settings,
        agents,
        expander: plan.expander,
        layers: plan.settings_layers,
        reloader: plan.settings_reloader,
        endpoints,
        mcp_servers,
        journal: plan.journal,
        scratch_directory: plan.scratch_directory,
    };
    let updates = UpdateBuilder::new(&questions.capabilities, directory.spelled, window);
    let started =
        SessionTask::new(session, notices, resources, questions, updates, choices.clone());
    let (task, handle) = started;
    for note in notes {
        task.warn(note);
    }
    Ok(StartedSession { task, handle, choices })
}

/// Clients say where they are; where the process was started means nothing.
fn check_directory(path: &Path) -> Result<PathBuf, RpcError> {
    if !path.is_absolute() {
        let problem = format!("`{}` is not an absolute path", path.display());
        return Err(RpcError::invalid_params(problem));
    }
    match path.canonicalize() {
        Ok(path) if path.is_dir() => Ok(path),
        Ok(path) => {
            Err(RpcError::invalid_params(format!("`{}` is not a directory", path.display())))
        }
        Err(error) => Err(RpcError::invalid_params(format!("`{}`: {error}", path.display()))),
    }
}

fn explain_refusal(error: &CommandError, is_resumed: bool) -> RpcError {
    match error.remedy {
        Some(CommandRemedy::EnterKey) => RpcError::auth_required(error.message()),
        // Nothing but the id is the client's: what was typed was checked when the agent started.
        None if is_resumed && error.exit == Exit::USAGE => RpcError::not_found(error.message()),
        Some(CommandRemedy::ContinueFromTranscript) | None => RpcError::internal(error.message()),
    }
}

/// The servers of the client as a `--mcp-config`.
fn build_mcp_config(servers: &[EditorMcpServer]) -> Result<String, RpcError> {
    let mut entries = Map::new();
    for server in servers {
        let named = |values: &[NamedValue]| -> Map<String, Value> {
            let value = |one: &NamedValue| Value::from(quote_variables(&one.value));
            values.iter().map(|one| (one.name.clone(), value(one))).collect()
        };
        let entry = match (server.kind.as_deref(), &server.command, &server.url) {
            (None | Some("stdio"), Some(command), _) => {
                let args: Vec<String> =
                    server.args.iter().map(|one| quote_variables(one)).collect();
                json!({
                    "command": quote_variables(command), "args": args, "env": named(&server.env),
                })
            }
            (Some(kind @ ("http" | "sse")), _, Some(url)) => {
                let headers = named(&server.headers);
                json!({ "type": kind, "url": quote_variables(url), "headers": headers })
            }
            _ => {
                return Err(RpcError::invalid_params(format!(
                    "the MCP server `{}` has neither a `command` nor the `type` http or sse with a \
                     `url`",
                    server.name
                )));
            }
        };
        entries.insert(server.name.clone(), entry);
    }
    Ok(json!({ "mcpServers": entries }).to_string())
}

/// What an editor sends stands for itself; in a configuration file `${NAME}` is a variable. One without
/// a name has its default.
fn quote_variables(text: &str) -> String {
    text.replace("${", "${:-${}")
}
