//! One tool of one server.

use std::sync::Arc;

use serde_json::{Map, Value};
use windlass_permission::Granted;
use windlass_tool::{Job, Running, Tool};
use windlass_vocabulary::{
    Concurrency, EffectClass, Inspection, Json, ToolCall, ToolName, ToolOutcome, ToolSpec,
};

use super::outcome::{Caps, outcome};
use super::schema;
use crate::connection::{CallReply, CallTerms, ToolFacts};
use crate::failure::Failure;
use crate::server::Server;

/// One tool of one server.
pub(crate) struct RemoteTool {
    spec: ToolSpec,
    server: Arc<Server>,
    /// The server's name for it; `None` while the server has not said what it has.
    real: Option<String>,
    concurrency: Concurrency,
    class: EffectClass,
    caps: Caps,
}

impl RemoteTool {
    /// One that the server has told of.
    pub(crate) fn known(name: &str, facts: &ToolFacts, server: Arc<Server>, caps: Caps) -> Self {
        let (concurrency, class) = match (facts.is_reading, facts.is_idempotent) {
            (true, _) => (Concurrency::Shared, EffectClass::Pure),
            (false, true) => (Concurrency::Exclusive, EffectClass::Idempotent),
            (false, false) => (Concurrency::Exclusive, EffectClass::Effect),
        };
        let spec = ToolSpec {
            name: ToolName::from(name),
            description: schema::described(&facts.description).into(),
            input_schema: Json::from_checked(&schema::normal(&facts.schema)),
            // Cut and spilled here; pictures have a limit of their own.
            result_bytes_max: caps.text_bytes.saturating_mul(2).max(8 * 1024 * 1024),
        };
        Self { spec, server, real: Some(facts.name.clone()), concurrency, class, caps }
    }

    /// One that the server may have; that is seen when it is there.
    pub(crate) fn expected(name: &str, server: Arc<Server>, caps: Caps) -> Self {
        let spec = ToolSpec {
            name: ToolName::from(name),
            description: format!("A tool of the server `{}`.", server.order().name).into(),
            input_schema: Json::from_checked(r#"{"properties":{},"type":"object"}"#),
            result_bytes_max: caps.text_bytes.saturating_mul(2),
        };
        let (concurrency, class) = (Concurrency::Exclusive, EffectClass::Effect);
        Self { spec, server, real: None, concurrency, class, caps }
    }

    /// How much of a model's window it takes, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let ToolSpec { name, description, input_schema, .. } = &self.spec;
        name.as_str().len() + description.len() + input_schema.as_str().len()
    }

    async fn call(&self, arguments: Map<String, Value>, job: &Job) -> Result<CallReply, Failure> {
        let terms = CallTerms {
            limit: self.server.call_limit(),
            cancel: job.cancel.clone(),
            progress: job.progress.clone(),
        };
        let connection = tokio::select! {
            biased;
            () = job.cancel.cancelled() => return Err(Failure::Cancelled),
            connection = self.server.connection() => connection?,
        };
        let real = match &self.real {
            Some(real) => real.clone(),
            None => self.named_now()?,
        };
        // It may run, so it was allowed as it is.
        self.server.accept(&real);
        let called = connection.call(&real, arguments, &terms).await;
        if matches!(called, Err(Failure::Cancelled | Failure::TimedOut { .. })) {
            self.server.suspect(&connection);
        }
        called
    }

    /// It is not what it was when the session began.
    fn doubt(&self) -> Option<Arc<String>> {
        let real = self.real.as_ref().filter(|real| self.server.has_changed(real))?;
        let server = &self.server.order().name;
        let words = format!(
            "The MCP server `{server}` has changed what its tool `{real}` says it does since this \
             session began, so what was allowed for it is asked about again."
        );
        Some(Arc::new(words))
    }

    /// The server's name for a tool that was called before it was there.
    fn named_now(&self) -> Result<String, Failure> {
        let server = &self.server.order().name;
        let tools = self.server.snapshot().tools;
        let names = tools.iter().map(|tool| tool.name.as_str());
        let ours = crate::name::names(server, names, &mut std::collections::BTreeSet::new());
        let place = ours.iter().position(|name| name == self.spec.name.as_str());
        let found = place.and_then(|place| tools.get(place)).map(|tool| tool.name.clone());
        found.ok_or_else(|| {
            let message = format!("it has no tool of this name; there are: {}", ours.join(", "));
            Failure::Refused { code: -32602, message }
        })
    }
}

impl Tool for RemoteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, input: &Json) -> Inspection {
        match arguments(input) {
            Ok(_) => Inspection {
                concurrency: self.concurrency,
                class: self.class,
                doubt: self.doubt(),
                ..Inspection::EXCLUSIVE_EFFECT
            },
            Err(problem) => Inspection::refused(problem),
        }
    }

    fn run<'a>(&'a self, call: Granted<ToolCall>, job: Job) -> Running<'a> {
        Box::pin(async move {
            let arguments = match arguments(&call.get().input) {
                Ok(arguments) => arguments,
                Err(problem) => return ToolOutcome::failure(problem),
            };
            match self.call(arguments, &job).await {
                Ok(reply) => {
                    let (surroundings, caps) = (Arc::clone(&job.surroundings), self.caps);
                    let work = move || outcome(reply, &surroundings, caps);
                    let made = tokio::task::spawn_blocking(work).await;
                    made.unwrap_or_else(|_| ToolOutcome::failure("The result could not be shown."))
                }
                Err(failure) => ToolOutcome::failure(told(&self.server, &failure)),
            }
        })
    }
}

/// A failure in words for the model.
pub(super) fn told(server: &Server, failure: &Failure) -> String {
    let name = &server.order().name;
    match failure {
        Failure::Gone { .. } => format!(
            "The MCP server `{name}` was lost: {failure}. What the call did before that is not known."
        ),
        Failure::NeedsLogin { .. } => format!(
            "The MCP server `{name}` needs a login. Tell the user to run `windlass mcp login {name}`."
        ),
        Failure::TimedOut { .. } | Failure::Cancelled => format!(
            "The MCP server `{name}`: {failure}. What the call did before that is not known."
        ),
        _ => format!("The MCP server `{name}`: {failure}."),
    }
}

fn arguments(input: &Json) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(input.as_str()) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("The input is not an object.".to_owned()),
        Err(error) => Err(format!("The input is not JSON: {error}.")),
    }
}
