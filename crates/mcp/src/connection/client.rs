//! The client side of a connection: requests and notifications that a server may send.
#![expect(deprecated, reason = "servers of older revisions ask for roots and log this way")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CustomNotification, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, Root, RootsCapabilities, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::mpsc;

use super::health::ConnectionHealth;

/// Handles what a server requests or reports by itself.
pub trait McpHost: Send + Sync + 'static {
    /// The working directories of the session.
    fn roots(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether the user can be asked.
    fn can_elicit(&self) -> bool {
        false
    }

    /// Asks the user. The future is dropped when the server no longer waits.
    fn elicit(&self, question: ElicitationRequest) -> ElicitationFuture {
        drop(question);
        Box::pin(std::future::ready(ElicitationReply::Decline))
    }

    /// The user has finished an elicitation that took place at a URL. `id` is the server's name for
    /// it.
    fn elicitation_completed(&self, id: &str) {
        let _ = id;
    }

    /// One of the server's lists changed.
    fn list_changed(&self, list: McpListKind) {
        let _ = list;
    }
}

pub type ElicitationFuture = Pin<Box<dyn Future<Output = ElicitationReply> + Send>>;

/// A question of a server to the user (an elicitation).
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitationRequest {
    /// The server's name in the configuration.
    pub server: String,
    pub message: String,
    /// The form to fill in, as JSON Schema. `None` if the user has to visit `url` instead.
    pub schema: Option<Value>,
    /// The page the user has to visit.
    pub url: Option<String>,
    /// The server's id of a question with a `url`.
    pub id: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationReply {
    Accept(Option<Value>),
    Decline,
    Cancel,
}

/// A list a server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpListKind {
    Tools,
    Prompts,
    Resources,
}

/// Servers of the newest revision send this, but the library has no type for it.
const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
/// Capacity of a call's queue of progress messages.
const PROGRESS_MAX: usize = 4;

pub(crate) struct McpClient {
    pub(crate) server: String,
    pub(crate) host: Arc<dyn McpHost>,
    pub(crate) health: Arc<ConnectionHealth>,
    progress_watchers: Mutex<HashMap<ProgressToken, mpsc::Sender<String>>>,
}

impl McpClient {
    pub(crate) fn new(
        server: String,
        host: Arc<dyn McpHost>,
        health: Arc<ConnectionHealth>,
    ) -> Self {
        Self { server, host, health, progress_watchers: Mutex::default() }
    }

    /// Returns the progress messages of one call, until `unwatch`.
    pub(crate) fn watch_progress(&self, token: ProgressToken) -> mpsc::Receiver<String> {
        let (sender, receiver) = mpsc::channel(PROGRESS_MAX);
        self.progress_watchers.lock().unwrap_or_else(PoisonError::into_inner).insert(token, sender);
        receiver
    }

    pub(crate) fn unwatch_progress(&self, token: &ProgressToken) {
        self.progress_watchers.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }

    /// Asks the user.
    pub(crate) async fn elicit(&self, request: ElicitRequestParams) -> ElicitResult {
        let server = self.server.clone();
        let question = match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).ok();
                ElicitationRequest { server, message, schema, url: None, id: None }
            }
            ElicitRequestParams::UrlElicitationParams { message, url, elicitation_id, .. } => {
                ElicitationRequest {
                    server,
                    message,
                    schema: None,
                    url: Some(url),
                    id: Some(elicitation_id),
                }
            }
            _ => return ElicitResult::new(ElicitationAction::Decline),
        };
        if !self.host.can_elicit() {
            return ElicitResult::new(ElicitationAction::Decline);
        }
        match self.host.elicit(question).await {
            ElicitationReply::Accept(Some(content)) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            ElicitationReply::Accept(None) => ElicitResult::new(ElicitationAction::Accept),
            ElicitationReply::Decline => ElicitResult::new(ElicitationAction::Decline),
            ElicitationReply::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    pub(crate) fn current_roots(&self) -> ListRootsResult {
        let roots = self.host.roots();
        ListRootsResult::new(roots.iter().map(|path| Root::new(to_file_url(path))).collect())
    }
}

impl ClientHandler for McpClient {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.elicit(request).await)
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.current_roots())
    }

    async fn on_progress(
        &self,
        notification: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let watchers = self.progress_watchers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = watchers.get(&notification.progress_token) {
            let done = match notification.total {
                Some(total) => format!("{}/{total}", notification.progress),
                None => format!("{}", notification.progress),
            };
            let text =
                notification.message.map_or(done.clone(), |message| format!("{done} {message}"));
            // If the queue is full, the message is dropped: progress is only for display.
            let _ = sender.try_send(super::health::clean_excerpt(&text, 300));
        }
    }

    async fn on_logging_message(
        &self,
        notification: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.health.log_line(&notification.data.to_string());
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        _: NotificationContext<RoleClient>,
    ) {
        let id = notification.params.as_ref().and_then(|params| params.get("elicitationId"));
        if let (ELICITATION_COMPLETE, Some(Value::String(id))) = (&*notification.method, id) {
            self.host.elicitation_completed(id);
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.host.list_changed(McpListKind::Tools);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.host.list_changed(McpListKind::Prompts);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.host.list_changed(McpListKind::Resources);
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        if self.host.can_elicit() {
            let mut elicitation = ElicitationCapability::default();
            elicitation.form = Some(FormElicitationCapability::default());
            elicitation.url = Some(UrlElicitationCapability::default());
            capabilities.elicitation = Some(elicitation);
        }
        let ours = Implementation::new("windlass", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, ours)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// A path as a `file:` URL, with reserved characters percent-encoded.
fn to_file_url(path: &std::path::Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut url = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                url.push(char::from(*byte));
            }
            other => {
                let _ = write!(url, "%{other:02X}");
            }
        }
    }
    url
}
