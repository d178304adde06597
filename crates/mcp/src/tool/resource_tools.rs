//! Two tools for resources: list them, and read one.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_permission::PermissionGrant;
use windlass_tool::{Tool, ToolCallContext, ToolFuture};
use windlass_vocabulary::{
    EffectClass, Json, ToolCall, ToolInspection, ToolName, ToolOutcome, ToolSpec,
};

use super::outcome::{McpResultCaps, build_outcome};
use super::remote_tool::describe_failure;
use crate::connection::McpCallReply;
use crate::server::{McpServer, McpServerStatus};
use crate::servers::McpServerSet;

const LIST_LIMIT: Duration = Duration::from_secs(30);
/// Limits the resources listed of one server.
const LISTED_MAX: usize = 200;

pub(crate) struct ListMcpResources {
    spec: ToolSpec,
    set: Weak<McpServerSet>,
    caps: McpResultCaps,
}

pub(crate) struct ReadMcpResource {
    spec: ToolSpec,
    set: Weak<McpServerSet>,
    caps: McpResultCaps,
}

impl ListMcpResources {
    pub(crate) fn new(set: Weak<McpServerSet>, caps: McpResultCaps) -> Self {
        let schema = json!({"type": "object", "properties": {"server": {
            "type": "string", "description": "Only what this server has."}}});
        let words = "Lists the resources of the MCP servers that are connected.";
        Self { spec: build_spec("ListMcpResourcesTool", words, &schema, caps), set, caps }
    }

    async fn list_resources(&self, wanted: Option<String>) -> Result<McpCallReply, String> {
        let set = self.set.upgrade().ok_or("The session is over.")?;
        let mut listed = Vec::new();
        for server in set.servers() {
            let name = &server.config().name;
            let is_wanted = wanted.as_ref().is_none_or(|wanted| wanted == name);
            // Do not start a server only to list its resources, unless it is requested by name.
            if !is_wanted
                || wanted.is_none() && server.snapshot().status != McpServerStatus::Connected
            {
                continue;
            }
            let resources = match server.connect().await {
                Ok(connection) => connection.list_resources(LIST_LIMIT).await,
                Err(failure) => Err(failure),
            };
            match resources {
                Ok(resources) => listed.extend(resources.iter().take(LISTED_MAX).map(|one| {
                    let mut one = serde_json::to_value(one).unwrap_or_default();
                    if let Some(fields) = one.as_object_mut() {
                        fields.insert("server".to_owned(), json!(name));
                    }
                    one
                })),
                Err(failure) if wanted.is_some() => {
                    return Err(describe_failure(&server, &failure));
                }
                Err(_) => {}
            }
        }
        if let Some(wanted) = wanted.filter(|wanted| set.find_server(wanted).is_none()) {
            return Err(format!("There is no MCP server `{wanted}`. {}", set.describe_names()));
        }
        Ok(McpCallReply { structured: Some(Value::Array(listed)), ..McpCallReply::default() })
    }
}

impl ReadMcpResource {
    pub(crate) fn new(set: Weak<McpServerSet>, caps: McpResultCaps) -> Self {
        let schema = json!({"type": "object", "required": ["server", "uri"], "properties": {
            "server": {"type": "string", "description": "The server that has it."},
            "uri": {"type": "string", "description": "Where it is, as it was listed."}}});
        let words = "Reads one resource of an MCP server.";
        Self { spec: build_spec("ReadMcpResourceTool", words, &schema, caps), set, caps }
    }

    async fn read_resource(&self, server: &str, uri: &str) -> Result<McpCallReply, String> {
        let set = self.set.upgrade().ok_or("The session is over.")?;
        let missing = || format!("There is no MCP server `{server}`. {}", set.describe_names());
        let server: Arc<McpServer> = set.find_server(server).ok_or_else(missing)?;
        let parts = match server.connect().await {
            Ok(connection) => connection.read_resource(uri, server.call_limit()).await,
            Err(failure) => Err(failure),
        };
        let parts = parts.map_err(|failure| describe_failure(&server, &failure))?;
        Ok(McpCallReply { parts, ..McpCallReply::default() })
    }
}

impl Tool for ListMcpResources {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, _: &Json) -> ToolInspection {
        ToolInspection::SHARED_READ
    }

    fn run<'a>(
        &'a self,
        call: PermissionGrant<ToolCall>,
        context: ToolCallContext,
    ) -> ToolFuture<'a> {
        Box::pin(async move {
            let server = text_field(&call.get().input, "server");
            run_to_outcome(self.list_resources(server), self.caps, &context).await
        })
    }
}

impl Tool for ReadMcpResource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, input: &Json) -> ToolInspection {
        match (text_field(input, "server"), text_field(input, "uri")) {
            // Another program decides what reading does, so it is not treated as harmless.
            (Some(_), Some(_)) => {
                ToolInspection { class: EffectClass::Idempotent, ..ToolInspection::SHARED_READ }
            }
            _ => ToolInspection::from_problem(
                "ReadMcpResourceTool needs `server` and `uri`, both text.",
            ),
        }
    }

    fn run<'a>(
        &'a self,
        call: PermissionGrant<ToolCall>,
        context: ToolCallContext,
    ) -> ToolFuture<'a> {
        Box::pin(async move {
            let input = &call.get().input;
            let server = text_field(input, "server").unwrap_or_default();
            let uri = text_field(input, "uri").unwrap_or_default();
            run_to_outcome(self.read_resource(&server, &uri), self.caps, &context).await
        })
    }
}

async fn run_to_outcome(
    work: impl Future<Output = Result<McpCallReply, String>>,
    caps: McpResultCaps,
    context: &ToolCallContext,
) -> ToolOutcome {
    let reply = tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err("Interrupted before it ended.".to_owned()),
        reply = work => reply,
    };
    match reply {
        Ok(reply) => {
            let tool_context = Arc::clone(&context.tool_context);
            let made =
                tokio::task::spawn_blocking(move || build_outcome(reply, &tool_context, caps))
                    .await;
            made.unwrap_or_else(|_| ToolOutcome::failure("The result could not be shown."))
        }
        Err(problem) => ToolOutcome::failure(problem),
    }
}

fn text_field(input: &Json, name: &str) -> Option<String> {
    let input: Value = serde_json::from_str(input.as_str()).ok()?;
    input.get(name)?.as_str().map(str::to_owned)
}

fn build_spec(name: &str, words: &str, schema: &Value, caps: McpResultCaps) -> ToolSpec {
    ToolSpec {
        name: ToolName::from(name),
        description: words.into(),
        input_schema: Json::from_checked(&schema.to_string()),
        result_bytes_max: caps.text_bytes.saturating_mul(2),
    }
}
