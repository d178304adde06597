//! One tool of one server.

use std::sync::Arc;

use serde_json::{Map, Value};
use windlass_permission::PermissionGrant;
use windlass_tool::{Tool, ToolCallContext, ToolFuture};
use windlass_vocabulary::{
    Concurrency, EffectClass, Json, ToolCall, ToolInspection, ToolName, ToolOutcome, ToolSpec,
};

use super::outcome::{McpResultCaps, build_outcome};
use super::tool_schema;
use crate::connection::{McpCallOptions, McpCallReply, McpToolDescription};
use crate::failure::McpFailure;
use crate::server::McpServer;

/// One tool of one server.
pub(crate) struct RemoteTool {
    spec: ToolSpec,
    server: Arc<McpServer>,
    /// The name the server uses; `None` while the server's list is not known.
    remote_name: Option<String>,
    concurrency: Concurrency,
    class: EffectClass,
    caps: McpResultCaps,
}

impl RemoteTool {
    /// A tool from the server's list.
    pub(crate) fn from_description(
        name: &str,
        description: &McpToolDescription,
        server: Arc<McpServer>,
        caps: McpResultCaps,
    ) -> Self {
        let (concurrency, class) = match (description.is_reading, description.is_idempotent) {
            (true, _) => (Concurrency::Shared, EffectClass::Pure),
            (false, true) => (Concurrency::Exclusive, EffectClass::Idempotent),
            (false, false) => (Concurrency::Exclusive, EffectClass::Effect),
        };
        let spec = ToolSpec {
            name: ToolName::from(name),
            description: tool_schema::truncate_description(&description.description).into(),
            input_schema: Json::from_checked(&tool_schema::normalize_schema(&description.schema)),
            // Text is cut and spilled here; images have limits of their own.
            result_bytes_max: caps.text_bytes.saturating_mul(2).max(8 * 1024 * 1024),
        };
        Self { spec, server, remote_name: Some(description.name.clone()), concurrency, class, caps }
    }

    /// A tool the server may have; checked once it is connected.
    pub(crate) fn from_name(name: &str, server: Arc<McpServer>, caps: McpResultCaps) -> Self {
        let spec = ToolSpec {
            name: ToolName::from(name),
            description: format!("A tool of the server `{}`.", server.config().name).into(),
            input_schema: Json::from_checked(r#"{"properties":{},"type":"object"}"#),
            result_bytes_max: caps.text_bytes.saturating_mul(2),
        };
        Self {
            spec,
            server,
            remote_name: None,
            concurrency: Concurrency::Exclusive,
            class: EffectClass::Effect,
            caps,
        }
    }

    /// Its size in the model's prompt, in bytes.
    pub(crate) fn prompt_bytes(&self) -> usize {
        let ToolSpec { name, description, input_schema, .. } = &self.spec;
        name.as_str().len() + description.len() + input_schema.as_str().len()
    }

    async fn call_remote(
        &self,
        arguments: Map<String, Value>,
        context: &ToolCallContext,
    ) -> Result<McpCallReply, McpFailure> {
        let terms = McpCallOptions {
            limit: self.server.call_limit(),
            cancel: context.cancel.clone(),
            progress: context.progress.clone(),
            trace_context: context.trace_context.clone().filter(|trace| trace.goes_to_servers),
        };
        let connection = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(McpFailure::Cancelled),
            connection = self.server.connect() => connection?,
        };
        let real = match &self.remote_name {
            Some(real) => real.clone(),
            None => self.resolve_remote_name()?,
        };
        // The call was permitted, so the tool is accepted in its current form.
        self.server.accept_tool(&real);
        let called = connection.call_tool(&real, arguments, &terms).await;
        if matches!(called, Err(McpFailure::Cancelled | McpFailure::TimedOut { .. })) {
            self.server.probe_after_cancel(&connection);
        }
        called
    }

    /// A warning if the tool has changed since the session began.
    fn change_warning(&self) -> Option<Arc<String>> {
        let real = self.remote_name.as_ref().filter(|real| self.server.has_tool_changed(real))?;
        let server = &self.server.config().name;
        let words = format!(
            "The MCP server `{server}` has changed what its tool `{real}` says it does since this \
             session began, so what was allowed for it is asked about again."
        );
        Some(Arc::new(words))
    }

    /// The server's name of a tool that was called before the list was known.
    fn resolve_remote_name(&self) -> Result<String, McpFailure> {
        let server = &self.server.config().name;
        let tools = self.server.snapshot().tools;
        let names = tools.iter().map(|tool| tool.name.as_str());
        let ours = crate::tool_names::assign_tool_names(
            server,
            names,
            &mut std::collections::BTreeSet::new(),
        );
        let place = ours.iter().position(|name| name == self.spec.name.as_str());
        let found = place.and_then(|place| tools.get(place)).map(|tool| tool.name.clone());
        found.ok_or_else(|| {
            let message = format!("it has no tool of this name; there are: {}", ours.join(", "));
            McpFailure::Refused { code: -32602, message }
        })
    }
}

impl Tool for RemoteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, input: &Json) -> ToolInspection {
        match parse_arguments(input) {
            Ok(_) => ToolInspection {
                concurrency: self.concurrency,
                class: self.class,
                doubt: self.change_warning(),
                ..ToolInspection::EXCLUSIVE_EFFECT
            },
            Err(problem) => ToolInspection::from_problem(problem),
        }
    }

    fn run<'a>(
        &'a self,
        call: PermissionGrant<ToolCall>,
        context: ToolCallContext,
    ) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments = match parse_arguments(&call.get().input) {
                Ok(arguments) => arguments,
                Err(problem) => return ToolOutcome::failure(problem),
            };
            match self.call_remote(arguments, &context).await {
                Ok(reply) => {
                    let tool_context = Arc::clone(&context.tool_context);
                    let caps = self.caps;
                    let work = move || build_outcome(reply, &tool_context, caps);
                    let made = tokio::task::spawn_blocking(work).await;
                    made.unwrap_or_else(|_| ToolOutcome::failure("The result could not be shown."))
                }
                Err(failure) => ToolOutcome::failure(describe_failure(&self.server, &failure)),
            }
        })
    }
}

/// A failure as a message for the model.
pub(super) fn describe_failure(server: &McpServer, failure: &McpFailure) -> String {
    let name = &server.config().name;
    match failure {
        McpFailure::Gone { .. } => format!(
            "The MCP server `{name}` was lost: {failure}. What the call did before that is not known."
        ),
        McpFailure::NeedsLogin { .. } => format!(
            "The MCP server `{name}` needs a login. Tell the user to run `windlass mcp login {name}`."
        ),
        McpFailure::TimedOut { .. } | McpFailure::Cancelled => format!(
            "The MCP server `{name}`: {failure}. What the call did before that is not known."
        ),
        McpFailure::Refused { .. }
        | McpFailure::Unreachable { .. }
        | McpFailure::ProtocolViolation { .. } => format!("The MCP server `{name}`: {failure}."),
    }
}

fn parse_arguments(input: &Json) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(input.as_str()) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("The input is not an object.".to_owned()),
        Err(error) => Err(format!("The input is not JSON: {error}.")),
    }
}
