//! Tools of one's own in a few lines: an input type, a function, and whether it only looks.
//!
//! The schema is derived from the input type, and an input that does not fit it is refused with the
//! field and the reason before the function is called, as with the built-in tools. Whoever needs
//! more (pictures, structured results, changes of the session) implements [`Tool`].

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use windlass_vocabulary::{Inspection, ToolOutcome};

use crate::action::{self, Action, Doing};
use crate::input::Wrong;
use crate::tool::{Job, Tool};

/// A tool that only looks at things: it needs no permission and runs beside others.
///
/// ```
/// use windlass_tool::own;
/// # use schemars::JsonSchema;
/// # use serde::Deserialize;
/// #[derive(Deserialize, JsonSchema)]
/// struct Text {
///     /// What to count.
///     text: String,
/// }
///
/// let tool = own::reading("CountWords", "Counts the words of a text.", |input: Text, _| async move {
///     Ok(format!("{} words", input.text.split_whitespace().count()))
/// });
/// assert_eq!(tool.spec().name.as_str(), "CountWords");
/// ```
pub fn reading<I, D>(
    name: impl Into<String>,
    description: impl Into<String>,
    act: impl Fn(I, Job) -> D + Send + Sync + 'static,
) -> Arc<dyn Tool>
where
    I: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    D: Future<Output = Result<String, String>> + Send + 'static,
{
    tool(name.into(), description.into(), Inspection::SHARED_READ, act)
}

/// A tool that changes something: it runs alone, and only where a rule or somebody allows it.
pub fn acting<I, D>(
    name: impl Into<String>,
    description: impl Into<String>,
    act: impl Fn(I, Job) -> D + Send + Sync + 'static,
) -> Arc<dyn Tool>
where
    I: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    D: Future<Output = Result<String, String>> + Send + 'static,
{
    tool(name.into(), description.into(), Inspection::EXCLUSIVE_EFFECT, act)
}

fn tool<I, D>(
    name: String,
    description: String,
    inspection: Inspection,
    act: impl Fn(I, Job) -> D + Send + Sync + 'static,
) -> Arc<dyn Tool>
where
    I: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    D: Future<Output = Result<String, String>> + Send + 'static,
{
    action::tool(Own { name, description, inspection, act, input: PhantomData })
}

struct Own<I, F> {
    name: String,
    description: String,
    inspection: Inspection,
    act: F,
    input: PhantomData<fn(I)>,
}

impl<I, D, F> Action for Own<I, F>
where
    I: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    D: Future<Output = Result<String, String>> + Send + 'static,
    F: Fn(I, Job) -> D + Send + Sync + 'static,
{
    type Input = I;

    fn words(&self) -> (&str, &str, usize) {
        (&self.name, &self.description, RESULT_BYTES_MAX)
    }

    fn check(&self, _input: &I) -> Result<Inspection, Wrong> {
        Ok(self.inspection.clone())
    }

    fn act(&self, input: I, job: Job) -> Doing<'_> {
        let done = (self.act)(input, job);
        Box::pin(async move { done.await.map(ToolOutcome::text) })
    }
}

/// The longest result; more is spilled to a file that the model can read.
const RESULT_BYTES_MAX: usize = 30_000;
