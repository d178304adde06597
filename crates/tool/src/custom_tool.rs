//! Custom tools in a few lines: an input type, a function, and whether it only reads.
//!
//! The schema is derived from the input type. An input that does not fit is rejected with the field
//! and the reason before the function is called, like with the built-in tools. For more (images,
//! structured results, changes of the session) implement [`Tool`].

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use windlass_vocabulary::{ToolInspection, ToolOutcome};

use crate::input::InputError;
use crate::tool::{Tool, ToolCallContext};
use crate::typed_tool::{self, ToolDescription, TypedTool, TypedToolFuture};

/// A tool that only reads: it needs no permission and runs beside others.
///
/// ```
/// use windlass_tool::custom_tool;
/// # use schemars::JsonSchema;
/// # use serde::Deserialize;
/// #[derive(Deserialize, JsonSchema)]
/// struct Text {
///     /// What to count.
///     text: String,
/// }
///
/// let tool = custom_tool::build_read_only_tool("CountWords", "Counts words.", |input: Text, _| async move {
///     Ok(format!("{} words", input.text.split_whitespace().count()))
/// });
/// assert_eq!(tool.spec().name.as_str(), "CountWords");
/// ```
pub fn build_read_only_tool<I, D>(
    name: impl Into<String>,
    description: impl Into<String>,
    act: impl Fn(I, ToolCallContext) -> D + Send + Sync + 'static,
) -> Arc<dyn Tool>
where
    I: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    D: Future<Output = Result<String, String>> + Send + 'static,
{
    build_custom_tool(name.into(), description.into(), ToolInspection::SHARED_READ, act)
}

/// A tool that changes something: it runs alone, and needs a rule or the user's permission.
pub fn build_effectful_tool<I, D>(
    name: impl Into<String>,
    description: impl Into<String>,
    act: impl Fn(I, ToolCallContext) -> D + Send + Sync + 'static,
) -> Arc<dyn Tool>
where
    I: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    D: Future<Output = Result<String, String>> + Send + 'static,
{
    build_custom_tool(name.into(), description.into(), ToolInspection::EXCLUSIVE_EFFECT, act)
}

fn build_custom_tool<I, D>(
    name: String,
    description: String,
    inspection: ToolInspection,
    act: impl Fn(I, ToolCallContext) -> D + Send + Sync + 'static,
) -> Arc<dyn Tool>
where
    I: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    D: Future<Output = Result<String, String>> + Send + 'static,
{
    typed_tool::into_tool(CustomTool {
        name,
        description,
        inspection,
        run: act,
        input: PhantomData,
    })
}

struct CustomTool<I, F> {
    name: String,
    description: String,
    inspection: ToolInspection,
    run: F,
    input: PhantomData<fn(I)>,
}

impl<I, D, F> TypedTool for CustomTool<I, F>
where
    I: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    D: Future<Output = Result<String, String>> + Send + 'static,
    F: Fn(I, ToolCallContext) -> D + Send + Sync + 'static,
{
    type Input = I;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: &self.name,
            text: &self.description,
            result_bytes_max: RESULT_BYTES_MAX,
        }
    }

    fn check_input(&self, _input: &I) -> Result<ToolInspection, InputError> {
        Ok(self.inspection.clone())
    }

    fn run(&self, input: I, call: ToolCallContext) -> TypedToolFuture<'_> {
        let done = (self.run)(input, call);
        Box::pin(async move { done.await.map(ToolOutcome::from_text) })
    }
}

/// Limit on the result; a longer one is written to a file that the model can read.
const RESULT_BYTES_MAX: usize = 30_000;
