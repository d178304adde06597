//! The parts of a built-in tool: an input type, a check, and an action.
//!
//! Implements what would be the same in every tool: the schema, parsing, validation before and when
//! it runs, and error messages. A tool from elsewhere implements [`Tool`] directly.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_permission::PermissionGrant;
use windlass_vocabulary::{Json, ToolCall, ToolInspection, ToolOutcome, ToolSpec};

use crate::input::{self, InputError};
use crate::tool::{Tool, ToolCallContext, ToolFuture};

/// The result of an action: an outcome, or an error message for the model.
pub(crate) type TypedToolResult = Result<ToolOutcome, String>;

pub(crate) type TypedToolFuture<'a> = Pin<Box<dyn Future<Output = TypedToolResult> + Send + 'a>>;

pub(crate) struct ToolDescription<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    pub(crate) result_bytes_max: usize,
}

pub(crate) trait TypedTool: Send + Sync + 'static {
    /// What it is given.
    type Input: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    fn describe(&self) -> ToolDescription<'_>;

    /// Inspects a valid input: what is known of the call, or what is wrong.
    fn check_input(&self, input: &Self::Input) -> Result<ToolInspection, InputError>;

    fn run(&self, input: Self::Input, call: ToolCallContext) -> TypedToolFuture<'_>;
}

pub(crate) fn into_tool(action: impl TypedTool) -> Arc<dyn Tool> {
    Arc::new(TypedToolAdapter::new(action))
}

pub(crate) struct TypedToolAdapter<A> {
    spec: ToolSpec,
    tool: A,
}

impl<A: TypedTool> TypedToolAdapter<A> {
    pub(crate) fn new(tool: A) -> Self {
        let ToolDescription { name, text, result_bytes_max } = tool.describe();
        let spec = input::build_spec::<A::Input>(name, text, result_bytes_max);
        Self { spec, tool }
    }

    pub(crate) fn parse_and_check(
        &self,
        input: &Json,
    ) -> Result<(A::Input, ToolInspection), String> {
        let name = self.spec.name.as_str();
        let input = input::parse_input(name, &self.spec.input_schema, input)?;
        let inspection = self.tool.check_input(&input).map_err(|wrong| wrong.to_message(name))?;
        Ok((input, inspection))
    }
}

impl<A: TypedTool> Tool for TypedToolAdapter<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, input: &Json) -> ToolInspection {
        match self.parse_and_check(input) {
            Ok((_, inspection)) => inspection,
            Err(problem) => ToolInspection::from_problem(problem),
        }
    }

    fn run<'a>(
        &'a self,
        call: PermissionGrant<ToolCall>,
        context: ToolCallContext,
    ) -> ToolFuture<'a> {
        // Taken from the proof, so that no caller can forget it.
        let context = ToolCallContext {
            confinement: call.confinement(),
            held_words: call.held_words().to_vec(),
            readable: call.readable().to_vec(),
            ..context
        };
        Box::pin(async move {
            let done = match self.parse_and_check(&call.get().input) {
                Ok((input, _)) => self.tool.run(input, context).await,
                Err(problem) => Err(problem),
            };
            done.unwrap_or_else(ToolOutcome::failure)
        })
    }
}

/// An outcome with text for the model and an object for hooks and clients.
pub(crate) fn build_outcome(text: String, structured: &Value) -> ToolOutcome {
    let structured = Some(Json::from_checked(&structured.to_string()));
    ToolOutcome { structured, ..ToolOutcome::from_text(text) }
}

/// Runs file work on a blocking thread. A cancelled call returns at once, while the work is stopped
/// by the same token and its result is dropped; so use this only for reading.
pub(crate) async fn run_blocking(
    call: ToolCallContext,
    work: impl FnOnce(ToolCallContext) -> TypedToolResult + Send + 'static,
) -> TypedToolResult {
    let cancel = call.cancel.clone();
    let worker = tokio::task::spawn_blocking(move || work(call));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err("Interrupted before it ended.".to_owned()),
        ended = worker => resolve_join(ended),
    }
}

/// Runs file work that changes something. It is awaited even if the call is cancelled, so that the
/// report matches what happened.
pub(crate) async fn run_to_completion(
    call: ToolCallContext,
    work: impl FnOnce(ToolCallContext) -> TypedToolResult + Send + 'static,
) -> TypedToolResult {
    if call.cancel.is_cancelled() {
        return Err("Interrupted before it began.".to_owned());
    }
    resolve_join(tokio::task::spawn_blocking(move || work(call)).await)
}

/// A panic is resumed in the caller, which turns it into an error result.
fn resolve_join(ended: Result<TypedToolResult, tokio::task::JoinError>) -> TypedToolResult {
    match ended {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err("The program is shutting down; the call was dropped.".to_owned()),
        },
    }
}
