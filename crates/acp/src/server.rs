//! The methods of the protocol. One loop receives everything and waits for nothing: sessions are opened
//! and run in tasks of their own, so that a client is answered in the middle of a run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use windlass_assembly::options::RunOptions;
use windlass_assembly::session;
use windlass_host::command_error::CommandError;
use windlass_host::environment::process_environment;
use windlass_host::exit::Exit;
use windlass_host::line_streams::StdinLine;
use windlass_host::signals::SignalListener;
use windlass_provider::base_url::resolve_base_url;
use windlass_provider::config::Config;
use windlass_provider::endpoint::read_keyring_key;
use windlass_provider::key_source::list_configured_sources;
use windlass_provider::keyring::Keyring;
use windlass_provider::keyring_key::uses_keyring;
use windlass_provider::model_choice;
use windlass_vocabulary::format_timestamp;

use crate::rpc::{ClientConnection, RpcError, RpcMessage, parse_message, spawn_line_reader};
use crate::schema::{
    AcpListedSession, ClientCapabilities, InitializeParams, ListParams, LoadParams, NewParams,
    PROTOCOL_VERSION, PromptParams, SessionParams, SetConfigOptionParams, SetModeParams,
};
use crate::session::{EditorCommand, OpenedSession, SessionHandle, SessionRequest, open_session};

struct AcpServer {
    options: RunOptions,
    client: ClientConnection,
    capabilities: Arc<ClientCapabilities>,
    sessions: BTreeMap<String, SessionHandle>,
    /// Sessions that are being closed; each receiver fails when its session is closed.
    closing: BTreeMap<String, watch::Receiver<()>>,
    opening: usize,
    events: mpsc::UnboundedSender<ServerEvent>,
}

enum ServerEvent {
    Opened { id: Value, outcome: Box<Result<OpenedSession, RpcError>> },
}

/// Serves an editor until it closes the input, or a signal comes.
pub async fn serve(options: RunOptions, mut signals: SignalListener) -> Result<Exit, CommandError> {
    let (client, written) = ClientConnection::open();
    let mut lines = spawn_line_reader();
    let (events, mut event_inbox) = mpsc::unbounded_channel();
    let mut server = AcpServer {
        options,
        client,
        capabilities: Arc::default(),
        sessions: BTreeMap::new(),
        closing: BTreeMap::new(),
        opening: 0,
        events,
    };
    let exit = loop {
        tokio::select! {
            biased;
            signal = signals.next() => break signal.exit(),
            Some(event) = event_inbox.recv() => server.on_event(event),
            line = lines.recv() => match line {
                None => break Exit::SUCCESS,
                Some(line) => server.on_line(line),
            },
        }
        if server.client.is_closed() {
            break Exit::SUCCESS;
        }
    };
    server.client.end_requests();
    let finish = async {
        // Sessions that are being opened are closed as soon as they are there.
        while server.opening > 0 {
            match event_inbox.recv().await {
                Some(event) => server.on_event(event),
                None => break,
            }
        }
        server.close_sessions().await;
        drop(server);
        drop(event_inbox);
        let _ = written.await;
    };
    tokio::select! {
        _ = tokio::time::timeout(CLOSE_MAX, finish) => {}
        // A second signal waits for nothing.
        _ = signals.next() => {}
    }
    Ok(exit)
}

impl AcpServer {
    fn on_event(&mut self, event: ServerEvent) {
        let ServerEvent::Opened { id, outcome } = event;
        self.opening -= 1;
        let outcome = match *outcome {
            Ok(OpenedSession { handle, result }) => {
                self.sessions.insert(handle.session_id.clone(), handle);
                Ok(result)
            }
            Err(error) => Err(error),
        };
        self.client.respond(&id, outcome);
    }

    fn on_line(&mut self, line: StdinLine) {
        let StdinLine::Line(line) = line else {
            let error = RpcError::parse_error("the line is too long");
            return self.client.respond(&Value::Null, Err(error));
        };
        match parse_message(&line) {
            Ok(RpcMessage::Request { id, method, params }) => {
                if let Some(outcome) = self.on_request(&id, &method, params) {
                    self.client.respond(&id, outcome);
                }
            }
            Ok(RpcMessage::Notification { method, params }) => {
                self.on_notification(&method, params);
            }
            // A response that is late or repeated belongs to no request.
            Ok(RpcMessage::Response { id, outcome }) => {
                let _ = self.client.take_response(&id, outcome);
            }
            Err((id, error)) => self.client.respond(&id, Err(error)),
        }
    }

    /// `None` if the answer comes later.
    fn on_request(
        &mut self,
        id: &Value,
        method: &str,
        params: Value,
    ) -> Option<Result<Value, RpcError>> {
        match method {
            "initialize" => Some(parse_params(params).map(|params| self.initialize(params))),
            "authenticate" => self.authenticate(id),
            "logout" => self.answer_blocking(id, log_out),
            "session/new" => self.open(id, parse_params(params).map(|params| (params, None))),
            "session/load" => self.open_known(id, params, true),
            "session/resume" => self.open_known(id, params, false),
            "session/list" => self.list_sessions(id, params),
            "session/delete" => self.delete_session(id, params),
            "session/close" => self.close_session(id, params),
            "session/prompt" => match parse_params::<PromptParams>(params) {
                Ok(PromptParams { session_id, prompt }) => self.send_to_session(
                    &session_id,
                    EditorCommand::Prompt { id: id.clone(), blocks: prompt },
                ),
                Err(error) => Some(Err(error)),
            },
            "session/set_mode" => match parse_params::<SetModeParams>(params) {
                Ok(SetModeParams { session_id, mode_id }) => self.send_to_session(
                    &session_id,
                    EditorCommand::SetMode { id: id.clone(), mode: mode_id },
                ),
                Err(error) => Some(Err(error)),
            },
            "session/set_config_option" => match parse_params::<SetConfigOptionParams>(params) {
                Ok(SetConfigOptionParams { session_id, config_id, value }) => {
                    let id = id.clone();
                    let command = EditorCommand::SetConfigOption { id, option: config_id, value };
                    self.send_to_session(&session_id, command)
                }
                Err(error) => Some(Err(error)),
            },
            unknown => Some(Err(RpcError::unknown_method(unknown))),
        }
    }

    /// Notifications that are unknown or make no sense are ignored, as the protocol asks.
    fn on_notification(&mut self, method: &str, params: Value) {
        match method {
            "session/cancel" => {
                if let Ok(SessionParams { session_id }) = parse_params(params) {
                    let _ = self.send_to_session(&session_id, EditorCommand::Cancel);
                }
            }
            "$/cancel_request" => {
                if let Some(id) = params.get("requestId") {
                    for handle in self.sessions.values() {
                        let _ = handle.send(EditorCommand::CancelRequest(id.clone()));
                    }
                }
            }
            _ => {}
        }
    }

    fn initialize(&mut self, params: InitializeParams) -> Value {
        self.capabilities = Arc::new(params.client_capabilities);
        let mut auth_methods = vec![json!({
            "id": KEY_METHOD,
            "name": "API key",
            "description": KEY_ADVICE,
        })];
        if self.capabilities.runs_login_in_terminal() {
            auth_methods.push(json!({
                "type": "terminal",
                "id": "windlass-key-set",
                "name": "Enter an API key",
                "args": ["key", "set", default_provider()],
            }));
        }
        json!({
            "protocolVersion": PROTOCOL_VERSION,
            "agentInfo": {
                "name": "windlass", "title": "Windlass", "version": env!("CARGO_PKG_VERSION"),
            },
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": true, "sse": true },
                "sessionCapabilities": {
                    "list": {}, "delete": {}, "additionalDirectories": {}, "resume": {},
                    "close": {},
                },
                "auth": { "logout": {} },
            },
            "authMethods": auth_methods,
        })
    }

    /// Is there a key by now? It is given outside; here it can only be said how.
    fn authenticate(&self, id: &Value) -> Option<Result<Value, RpcError>> {
        self.answer_blocking(id, || match has_any_key()? {
            true => Ok(json!({})),
            false => Err(RpcError::auth_required(KEY_ADVICE)),
        })
    }

    fn open_known(
        &mut self,
        id: &Value,
        params: Value,
        replays: bool,
    ) -> Option<Result<Value, RpcError>> {
        let params = match parse_params::<LoadParams>(params) {
            Ok(params) => params,
            Err(error) => return Some(Err(error)),
        };
        let LoadParams { session_id, new } = params;
        if self.sessions.contains_key(&session_id) {
            let problem = format!("the session `{session_id}` is already open here");
            return Some(Err(RpcError::invalid_request(problem)));
        }
        self.open(id, Ok((new, Some((session_id, replays)))))
    }

    fn open(
        &mut self,
        id: &Value,
        params: Result<(NewParams, Option<(String, bool)>), RpcError>,
    ) -> Option<Result<Value, RpcError>> {
        let (params, known) = match params {
            Ok(params) => params,
            Err(error) => return Some(Err(error)),
        };
        if self.sessions.len() + self.opening >= SESSIONS_MAX {
            let problem = format!("{SESSIONS_MAX} sessions are open; close one first");
            return Some(Err(RpcError::internal(problem)));
        }
        let (resume, replays) = known.map_or((None, false), |(id, replays)| (Some(id), replays));
        let options = self.options.clone();
        let request = SessionRequest { options, params, resume, replays };
        let client = self.client.clone();
        let capabilities = Arc::clone(&self.capabilities);
        let events = self.events.clone();
        let id = id.clone();
        self.opening += 1;
        tokio::spawn(async move {
            let outcome = Box::new(open_session(request, client, capabilities).await);
            // The server waits for this, unless the process ends at once.
            let _ = events.send(ServerEvent::Opened { id, outcome });
        });
        None
    }

    fn send_to_session(
        &mut self,
        session_id: &str,
        command: EditorCommand,
    ) -> Option<Result<Value, RpcError>> {
        let is_sent = self.sessions.get(session_id).is_some_and(|handle| handle.send(command));
        if is_sent {
            return None;
        }
        self.sessions.remove(session_id);
        Some(Err(RpcError::session_not_found(session_id)))
    }

    fn close_session(&mut self, id: &Value, params: Value) -> Option<Result<Value, RpcError>> {
        let session_id = match parse_params::<SessionParams>(params) {
            Ok(SessionParams { session_id }) => session_id,
            Err(error) => return Some(Err(error)),
        };
        let (done, closed) = oneshot::channel();
        if let Some(answer) = self.send_to_session(&session_id, EditorCommand::Close { done }) {
            return Some(answer);
        }
        self.sessions.remove(&session_id);
        let (close_guard, closing) = watch::channel(());
        self.closing.retain(|_, other| other.has_changed().is_ok());
        self.closing.insert(session_id, closing);
        let client = self.client.clone();
        let id = id.clone();
        tokio::spawn(async move {
            let _ = closed.await;
            client.respond(&id, Ok(json!({})));
            drop(close_guard);
        });
        None
    }

    fn list_sessions(&self, id: &Value, params: Value) -> Option<Result<Value, RpcError>> {
        match parse_params::<ListParams>(params) {
            Ok(params) => self.answer_blocking(id, move || list_page(&params)),
            Err(error) => Some(Err(error)),
        }
    }

    fn delete_session(&mut self, id: &Value, params: Value) -> Option<Result<Value, RpcError>> {
        let session_id = match parse_params::<SessionParams>(params) {
            Ok(SessionParams { session_id }) => session_id,
            Err(error) => return Some(Err(error)),
        };
        if self.sessions.contains_key(&session_id) {
            let problem = format!("the session `{session_id}` is open; close it first");
            return Some(Err(RpcError::invalid_request(problem)));
        }
        let Some(mut closing) = self.closing.get(&session_id).cloned() else {
            return self.answer_blocking(id, move || delete_closed_session(&session_id));
        };
        // A client may send this before the answer to its `session/close` has come.
        let client = self.client.clone();
        let id = id.clone();
        tokio::spawn(async move {
            let _ = closing.changed().await;
            let work = move || client.respond(&id, delete_closed_session(&session_id));
            let _ = tokio::task::spawn_blocking(work).await;
        });
        None
    }

    /// Answers from a thread that may wait for the disk.
    fn answer_blocking(
        &self,
        id: &Value,
        work: impl FnOnce() -> Result<Value, RpcError> + Send + 'static,
    ) -> Option<Result<Value, RpcError>> {
        let client = self.client.clone();
        let id = id.clone();
        tokio::task::spawn_blocking(move || client.respond(&id, work()));
        None
    }

    async fn close_sessions(&mut self) {
        let mut closing = JoinSet::new();
        for handle in std::mem::take(&mut self.sessions).into_values() {
            let (done, closed) = oneshot::channel();
            if handle.send(EditorCommand::Close { done }) {
                closing.spawn(closed);
            }
        }
        while closing.join_next().await.is_some() {}
    }
}

fn parse_params<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params).map_err(|error| RpcError::invalid_params(error.to_string()))
}

/// The provider whose key is asked for when nothing says which.
fn default_provider() -> String {
    let environment = process_environment;
    Config::load(&environment)
        .map_or_else(|_| "anthropic".to_owned(), |config| model_choice::default_provider(&config))
}

/// Asks the key ring if nothing else has a key, so it may block.
fn has_any_key() -> Result<bool, RpcError> {
    let lookup = process_environment;
    let config = Config::load(&lookup).map_err(|error| RpcError::internal(error.message()))?;
    Ok(config.providers.iter().any(|(name, provider)| {
        let has_key = !list_configured_sources(provider, &config, &lookup).is_empty();
        has_key
            || resolve_base_url(name, &config, &lookup)
                .is_ok_and(|url| read_keyring_key(name, &url, &config, &lookup).is_some())
    }))
}

/// Takes the keys out of the key ring that `windlass key set` put there. What the environment or a file
/// gives cannot be taken away from here.
fn log_out() -> Result<Value, RpcError> {
    let lookup = process_environment;
    let config = Config::load(&lookup).map_err(|error| RpcError::internal(error.message()))?;
    // Without a key ring there is nothing to remove from it.
    if let Ok(keyring) = Keyring::detect(&lookup) {
        let stored = config.providers.iter().filter(|(_, provider)| uses_keyring(provider));
        for (name, _) in stored {
            keyring.remove(name).map_err(|error| RpcError::internal(error.to_string()))?;
        }
    }
    let left = config.providers.values().find_map(|provider| {
        list_configured_sources(provider, &config, &lookup).into_iter().next()
    });
    match left {
        None => Ok(json!({})),
        Some(source) => Err(RpcError::internal(format!(
            "the key ring has no key any more, but {source} still gives one; remove it where the \
             editor starts"
        ))),
    }
}

fn delete_closed_session(session_id: &str) -> Result<Value, RpcError> {
    let environment = process_environment;
    match session::delete_session(session_id, &environment) {
        Ok(()) => Ok(json!({})),
        Err(error) if error.exit == Exit::USAGE => Err(RpcError::session_not_found(session_id)),
        // It is there, and another process may have it open.
        Err(error) => Err(RpcError::internal(error.message())),
    }
}

/// A page of the sessions of one directory, or of all; the cursor is where the next one begins.
fn list_page(params: &ListParams) -> Result<Value, RpcError> {
    let start = match &params.cursor {
        None => 0,
        Some(cursor) => cursor.parse::<usize>().map_err(|_| {
            RpcError::invalid_params(format!("`{cursor}` is not a cursor of this list"))
        })?,
    };
    let environment = process_environment;
    let fail = |error: CommandError| RpcError::internal(error.message());
    let catalogue = session::open_catalogue(&environment).map_err(fail)?;
    let listed = catalogue
        .list(params.cwd.as_deref())
        .map_err(|error| fail(session::journal_error(&error)))?;
    let said: Vec<_> = listed.into_iter().filter(|one| !one.summary.prompt.is_empty()).collect();
    let rows = said.iter().skip(start).take(PAGE_SESSIONS_MAX).map(|one| AcpListedSession {
        session_id: one.summary.id.clone(),
        cwd: one.summary.project.clone().unwrap_or_default(),
        title: Some(one.summary.title.clone().unwrap_or_else(|| one.summary.prompt.clone())),
        updated_at: format_timestamp(one.summary.updated),
    });
    let rows: Vec<AcpListedSession> =
        rows.filter(|row| Path::new(&row.cwd).is_absolute()).collect();
    let end = start.saturating_add(PAGE_SESSIONS_MAX);
    let mut page = json!({ "sessions": rows });
    if let (true, Value::Object(fields)) = (end < said.len(), &mut page) {
        fields.insert("nextCursor".to_owned(), Value::from(end.to_string()));
    }
    Ok(page)
}

const KEY_METHOD: &str = "windlass-key";
const KEY_ADVICE: &str = "Run `windlass key set` in a terminal, or set the provider's variable \
                          (for example ANTHROPIC_API_KEY) where the editor starts, then try again.";
const SESSIONS_MAX: usize = 64;
const PAGE_SESSIONS_MAX: usize = 50;
/// How long sessions may take to close after the editor has disconnected.
const CLOSE_MAX: Duration = Duration::from_secs(10);
