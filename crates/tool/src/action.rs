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
use windlass_permission::Granted;
use windlass_vocabulary::{Inspection, Json, ToolCall, ToolOutcome, ToolSpec};

use crate::input::{self, Wrong};
use crate::tool::{Job, Running, Tool};

/// What came of an action: an outcome, or a failure in words for the model.
pub(crate) type Done = Result<ToolOutcome, String>;

/// An action under way.
pub(crate) type Doing<'a> = Pin<Box<dyn Future<Output = Done> + Send + 'a>>;

/// What one built-in tool does.
pub(crate) trait Action: Send + Sync + 'static {
    /// What it is given.
    type Input: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// Its name, its description and the longest result it gives, in bytes.
    fn words(&self) -> (&str, &str, usize);

    /// Looks at an input that has the right shape: what is known of the call, or what is wrong.
    fn check(&self, input: &Self::Input) -> Result<Inspection, Wrong>;

    /// Does it.
    fn act(&self, input: Self::Input, job: Job) -> Doing<'_>;
}

/// The tool that does this.
pub(crate) fn tool(action: impl Action) -> Arc<dyn Tool> {
    Arc::new(Acting::new(action))
}

struct Acting<A> {
    spec: ToolSpec,
    action: A,
}

impl<A: Action> Acting<A> {
    fn new(action: A) -> Self {
        let (name, description, result_bytes_max) = action.words();
        let spec = input::spec::<A::Input>(name, description, result_bytes_max);
        Self { spec, action }
    }

    fn checked(&self, input: &Json) -> Result<(A::Input, Inspection), String> {
        let name = self.spec.name.as_str();
        let input = input::parse(name, &self.spec.input_schema, input)?;
        let inspection = self.action.check(&input).map_err(|wrong| wrong.told(name))?;
        Ok((input, inspection))
    }
}

impl<A: Action> Tool for Acting<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, input: &Json) -> Inspection {
        match self.checked(input) {
            Ok((_, inspection)) => inspection,
            Err(problem) => Inspection::refused(problem),
        }
    }

    fn run<'a>(&'a self, call: Granted<ToolCall>, job: Job) -> Running<'a> {
        Box::pin(async move {
            let done = match self.checked(&call.get().input) {
                Ok((input, _)) => self.action.act(input, job).await,
                Err(problem) => Err(problem),
            };
            done.unwrap_or_else(ToolOutcome::failure)
        })
    }
}
