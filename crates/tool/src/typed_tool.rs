//! What a built-in tool is made of: an input type, a check, and what is done with it.
//!
//! Everything that would repeat from tool to tool is done here once: the schema, parsing,
//! validation before and again when run, and the words for a failure. A tool from elsewhere
//! implements [`Tool`] itself.

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

/// What came of an action: an outcome, or a failure in words for the model.
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

    /// Looks at an input that has the right shape: what is known of the call, or what is wrong.
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
        // Taken from the proof itself, so that no caller can forget it.
        let context = ToolCallContext {
            confinement: call.confinement(),
            held_words: call.held_words().to_vec(),
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

/// An outcome with a text for the model and an object for hooks and clients.
pub(crate) fn build_outcome(text: String, structured: &Value) -> ToolOutcome {
    let structured = Some(Json::from_checked(&structured.to_string()));
    ToolOutcome { structured, ..ToolOutcome::from_text(text) }
}

/// Runs file work where it may block. A cancelled call ends at once; what is still under way is
/// told to stop by the same token and its result is dropped, so only reading may use this.
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

/// Runs file work that changes something: once begun it is waited for, cancelled or not, so that
/// what is told is what happened.
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
