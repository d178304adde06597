//! Serves our tools to other MCP clients.
//!
//! A [`ToolServerBackend`] lists the tools and runs calls; this module speaks the protocol over two
//! streams, in every revision the official library supports. The backend decides what may run. The
//! number of calls, their duration and the size of results are limited here, and a call is
//! cancelled when the client cancels it.

mod stream_transport;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use windlass_tool::{ProgressSender, ToolCallContext, ToolSessionContext};
use windlass_vocabulary::{Json, ToolOutcome, ToolResultPart, ToolSpec};

use crate::connection::clean_excerpt;
use crate::failure::McpFailure;
use crate::spill::spill_to_file;

/// Limits running and waiting calls together.
const CALLS_MAX: usize = 32;
/// Limit of one call.
const CALL_MAX: Duration = Duration::from_secs(1_800);
/// Text sent of one result; the rest is written to a file.
const TEXT_BYTES_MAX: usize = 100_000;
/// Capacity of a call's queue of progress messages.
const PROGRESS_MAX: usize = 4;

#[derive(Clone, Debug)]
pub struct ServedTool {
    /// The description sent to the client.
    pub spec: ToolSpec,
    pub is_read_only: bool,
}

pub type ServedCallFuture = Pin<Box<dyn Future<Output = ToolOutcome> + Send>>;

pub trait ToolServerBackend: Send + Sync + 'static {
    /// The tools, in a stable order.
    fn tools(&self) -> Vec<ServedTool>;

    /// Runs a call, or returns why not. Returns soon after cancellation.
    fn call(&self, name: &str, input: Json, context: ToolCallContext) -> ServedCallFuture;

    /// Has the directory for long results.
    fn tool_context(&self) -> Arc<ToolSessionContext>;
}

/// Serves until the client closes the stream or sends too much invalid input. Then all remaining
/// calls are cancelled.
///
/// # Errors
///
/// The client does not follow the handshake.
pub async fn serve(
    bench: Arc<dyn ToolServerBackend>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), McpFailure> {
    let over = CancellationToken::new();
    let _end = over.clone().drop_guard();
    let calls = Arc::new(Semaphore::new(CALLS_MAX));
    let counter =
        ToolServer { tools: bench.tools(), backend: bench, call_slots: calls, shutdown: over };
    let streams = stream_transport::ServerStreamTransport::new(input, output);
    let running = match serve_server(counter, streams).await {
        Ok(running) => running,
        // A client that disconnects before the handshake is not an error.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            return Err(McpFailure::ProtocolViolation {
                reason: clean_excerpt(&error.to_string(), 400),
            });
        }
    };
    let _ = running.waiting().await;
    Ok(())
}

struct ToolServer {
    tools: Vec<ServedTool>,
    backend: Arc<dyn ToolServerBackend>,
    call_slots: Arc<Semaphore>,
    shutdown: CancellationToken,
}

impl ToolServer {
    async fn run_call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ToolOutcome, ErrorData> {
        let busy = || format!("{CALLS_MAX} calls are under way; wait for one of them");
        let _turn =
            self.call_slots.try_acquire().map_err(|_| ErrorData::internal_error(busy(), None))?;
        let cancel = self.shutdown.child_token();
        let _end = cancel.clone().drop_guard();
        let (progress_sender, mut progress_receiver) = mpsc::channel(PROGRESS_MAX);
        let input = Json::from_checked(&Value::Object(arguments).to_string());
        let mut call_context = ToolCallContext::new(self.backend.tool_context());
        call_context.cancel = cancel.clone();
        call_context.progress = ProgressSender::from_sender(progress_sender);
        let mut work = self.backend.call(name, input, call_context);
        let limit = tokio::time::sleep(CALL_MAX);
        tokio::pin!(limit);
        loop {
            tokio::select! {
                biased;
                outcome = &mut work => return Ok(outcome),
                () = context.ct.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
                () = &mut limit, if !cancel.is_cancelled() => cancel.cancel(),
                Some(words) = progress_receiver.recv() => send_progress(context, words).await,
            }
        }
    }
}

/// Sends progress, if the client asked for it.
async fn send_progress(context: &RequestContext<RoleServer>, words: String) {
    static STEPS: AtomicU64 = AtomicU64::new(1);
    let Some(token) = context.meta.get_progress_token() else { return };
    // The protocol requires an increasing number; the total is unknown.
    let step = STEPS.fetch_add(1, Ordering::Relaxed);
    #[expect(clippy::cast_precision_loss, reason = "nobody counts that far")]
    let notification = ProgressNotificationParam::new(token, step as f64).with_message(words);
    let _ = context.peer.notify_progress(notification).await;
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let ours = Implementation::new("windlass", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(ours)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(to_mcp_tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let is_known = |offered: &ServedTool| offered.spec.name.as_str() == request.name;
        if !self.tools.iter().any(is_known) {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.spec.name.as_str()).collect();
            let words =
                format!("there is no tool `{}`; there are: {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(words, None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let outcome = self.run_call(&request.name, arguments, &context).await?;
        let tool_context = self.backend.tool_context();
        let made =
            tokio::task::spawn_blocking(move || to_call_result(outcome, &tool_context)).await;
        let broken = |_| ErrorData::internal_error("the result could not be sent", None);
        made.map(CallToolResponse::from).map_err(broken)
    }
}

fn to_mcp_tool(offered: &ServedTool) -> Tool {
    let schema = serde_json::from_str(offered.spec.input_schema.as_str()).unwrap_or_default();
    let tool = Tool::new(
        offered.spec.name.as_str().to_owned(),
        offered.spec.description.to_string(),
        Arc::<Map<String, Value>>::new(schema),
    );
    tool.with_annotations(ToolAnnotations::new().read_only(offered.is_read_only))
}

fn to_call_result(outcome: ToolOutcome, tool_context: &ToolSessionContext) -> CallToolResult {
    let mut content = Vec::new();
    let mut left = TEXT_BYTES_MAX;
    for part in outcome.content {
        match part {
            ToolResultPart::Text(text) if text.len() > left => {
                content.push(ContentBlock::text(spill_to_file(&text, tool_context)));
                left = 0;
            }
            ToolResultPart::Text(text) => {
                left -= text.len();
                content.push(ContentBlock::text(text));
            }
            ToolResultPart::Media(media) if media.media_type.starts_with("image/") => {
                content.push(ContentBlock::image(&*media.data, &*media.media_type));
            }
            ToolResultPart::Media(media) => content.push(ContentBlock::text(format!(
                "[{}: {} bytes of {} in base64 cannot be shown here]",
                media.name,
                media.data.len(),
                media.media_type
            ))),
        }
    }
    match outcome.is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    }
}

const INSTRUCTIONS: &str = "Tools for one project on this machine. Calls are judged by the rules of \
the user who started this server; nobody can be asked, so a call that would need a yes is refused with \
the rule that would allow it.";
