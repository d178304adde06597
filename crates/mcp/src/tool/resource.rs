//! Two tools for what servers let one read: a list of it, and one piece.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_permission::Granted;
use windlass_tool::{Job, Running, Tool};
use windlass_vocabulary::{
    EffectClass, Inspection, Json, ToolCall, ToolName, ToolOutcome, ToolSpec,
};

use super::outcome::{Caps, outcome};
use super::remote::told;
use crate::connection::CallReply;
use crate::server::{Server, Status};
use crate::servers::Set;

const LIST_LIMIT: Duration = Duration::from_secs(30);
/// Pieces listed of one server.
const LISTED_MAX: usize = 200;

/// Lists what can be read.
pub(crate) struct ListResources {
    spec: ToolSpec,
    set: Weak<Set>,
    caps: Caps,
}

/// Reads one piece.
pub(crate) struct ReadResource {
    spec: ToolSpec,
    set: Weak<Set>,
    caps: Caps,
}

impl ListResources {
    pub(crate) fn new(set: Weak<Set>, caps: Caps) -> Self {
        let schema = json!({"type": "object", "properties": {"server": {
            "type": "string", "description": "Only what this server has."}}});
        let words = "Lists the resources of the MCP servers that are connected.";
        Self { spec: spec("ListMcpResourcesTool", words, &schema, caps), set, caps }
    }

    async fn list(&self, wanted: Option<String>) -> Result<CallReply, String> {
        let set = self.set.upgrade().ok_or("The session is over.")?;
        let mut listed = Vec::new();
        for server in set.servers() {
            let name = &server.order().name;
            let is_wanted = wanted.as_ref().is_none_or(|wanted| wanted == name);
            // Nobody is started only to be asked what it has, unless it is asked for by name.
            if !is_wanted || wanted.is_none() && server.snapshot().status != Status::Connected {
                continue;
            }
            let resources = match server.connection().await {
                Ok(connection) => connection.resources(LIST_LIMIT).await,
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
                Err(failure) if wanted.is_some() => return Err(told(&server, &failure)),
                Err(_) => {}
            }
        }
        if let Some(wanted) = wanted.filter(|wanted| set.server(wanted).is_none()) {
            return Err(format!("There is no MCP server `{wanted}`. {}", set.named()));
        }
        Ok(CallReply { structured: Some(Value::Array(listed)), ..CallReply::default() })
    }
}

impl ReadResource {
    pub(crate) fn new(set: Weak<Set>, caps: Caps) -> Self {
        let schema = json!({"type": "object", "required": ["server", "uri"], "properties": {
            "server": {"type": "string", "description": "The server that has it."},
            "uri": {"type": "string", "description": "Where it is, as it was listed."}}});
        let words = "Reads one resource of an MCP server.";
        Self { spec: spec("ReadMcpResourceTool", words, &schema, caps), set, caps }
    }

    async fn read(&self, server: &str, uri: &str) -> Result<CallReply, String> {
        let set = self.set.upgrade().ok_or("The session is over.")?;
        let missing = || format!("There is no MCP server `{server}`. {}", set.named());
        let server: Arc<Server> = set.server(server).ok_or_else(missing)?;
        let parts = match server.connection().await {
            Ok(connection) => connection.read(uri, server.call_limit()).await,
            Err(failure) => Err(failure),
        };
        let parts = parts.map_err(|failure| told(&server, &failure))?;
        Ok(CallReply { parts, ..CallReply::default() })
    }
}

impl Tool for ListResources {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, _: &Json) -> Inspection {
        Inspection::SHARED_READ
    }

    fn run<'a>(&'a self, call: Granted<ToolCall>, job: Job) -> Running<'a> {
        Box::pin(async move {
            let server = field(&call.get().input, "server");
            finished(self.list(server), self.caps, &job).await
        })
    }
}

impl Tool for ReadResource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, input: &Json) -> Inspection {
        match (field(input, "server"), field(input, "uri")) {
            // Somebody else's program decides what reading does.
            (Some(_), Some(_)) => {
                Inspection { class: EffectClass::Idempotent, ..Inspection::SHARED_READ }
            }
            _ => Inspection::refused("ReadMcpResourceTool needs `server` and `uri`, both text."),
        }
    }

    fn run<'a>(&'a self, call: Granted<ToolCall>, job: Job) -> Running<'a> {
        Box::pin(async move {
            let input = &call.get().input;
            let server = field(input, "server").unwrap_or_default();
            let uri = field(input, "uri").unwrap_or_default();
            finished(self.read(&server, &uri), self.caps, &job).await
        })
    }
}

async fn finished(
    work: impl Future<Output = Result<CallReply, String>>,
    caps: Caps,
    job: &Job,
) -> ToolOutcome {
    let reply = tokio::select! {
        biased;
        () = job.cancel.cancelled() => Err("Interrupted before it ended.".to_owned()),
        reply = work => reply,
    };
    match reply {
        Ok(reply) => {
            let surroundings = Arc::clone(&job.surroundings);
            let made =
                tokio::task::spawn_blocking(move || outcome(reply, &surroundings, caps)).await;
            made.unwrap_or_else(|_| ToolOutcome::failure("The result could not be shown."))
        }
        Err(problem) => ToolOutcome::failure(problem),
    }
}

fn field(input: &Json, name: &str) -> Option<String> {
    let input: Value = serde_json::from_str(input.as_str()).ok()?;
    input.get(name)?.as_str().map(str::to_owned)
}

fn spec(name: &str, words: &str, schema: &Value, caps: Caps) -> ToolSpec {
    ToolSpec {
        name: ToolName::from(name),
        description: words.into(),
        input_schema: Json::from_checked(&schema.to_string()),
        result_bytes_max: caps.text_bytes.saturating_mul(2),
    }
}
