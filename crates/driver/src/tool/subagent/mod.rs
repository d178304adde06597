//! Nested sessions: the tool `Agent` starts one, waits for its answer and gives it to the parent's
//! model as a result.
//!
//! A nested session has its own context, tools, model and limits; its money comes out of the
//! parent's purse, its permissions are the parent's at that moment, and its questions go to whoever
//! answers the parent's. Stopping the parent stops the tree. Reading order: [`definition`] (what an
//! agent is), `input` (what the model may ask for), `nest` (what a nested session is made of),
//! `place` (where it works), `run` (one of them, from start to result), `outcome` (that result),
//! `question` (who is asked).

pub(crate) mod definition;
mod input;
mod nest;
mod outcome;
pub(crate) mod place;
mod question;
mod run;

pub use definition::{AgentDefinition, Isolation, Subagents};
pub(crate) use nest::{Nest, Parent, Tree, choose};
pub(crate) use question::NestedQuestions;

use std::sync::Arc;

use windlass_permission::Granted;
use windlass_tool::{Job, Running, Tool};
use windlass_vocabulary::{
    Concurrency, EffectClass, Inspection, Json, ToolCall, ToolOutcome, ToolSpec,
};

use self::input::Input;

/// The tool by which a model starts a nested session.
#[derive(Debug)]
pub(crate) struct AgentTool {
    spec: ToolSpec,
    nest: Arc<Nest>,
}

impl AgentTool {
    pub(crate) fn new(nest: Arc<Nest>) -> Self {
        Self { spec: input::spec(&nest.subagents.definitions), nest }
    }

    fn checked(&self, input: &Json) -> Result<(Input, AgentDefinition), String> {
        let input = Input::parse(&self.spec, input)?;
        let definition = self.nest.subagents.definition(input.subagent_type.as_deref())?;
        Ok((input, definition))
    }
}

impl Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, input: &Json) -> Inspection {
        match self.checked(input) {
            Ok(_) => Inspection {
                problem: None,
                concurrency: Concurrency::Shared,
                class: EffectClass::Effect,
                spends: true,
                seen: Vec::new(),
                doubt: None,
            },
            Err(problem) => Inspection::refused(problem),
        }
    }

    fn run<'a>(&'a self, call: Granted<ToolCall>, job: Job) -> Running<'a> {
        Box::pin(async move {
            match self.checked(&call.get().input) {
                Ok((input, definition)) => {
                    run::run(&self.nest, input, definition, &call.get().id, job).await
                }
                Err(problem) => ToolOutcome::failure(problem),
            }
        })
    }
}
