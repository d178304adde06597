//! Nested sessions: the `Agent` tool starts one, waits for its answer, and returns it to the
//! parent's model as the result.
//!
//! A nested session has its own context, tools, model and limits; its money comes out of the parent's
//! budget, its permissions are the parent's at that moment, and its questions go to the parent's
//! client. Stopping the parent stops the tree. Reading order: `agent_definition`, `agent_input` (what
//! the model may ask for), `nested_session_factory` (what a nested session is made of),
//! `agent_workspace` (where it works), `nested_session` (one of them, from start to result),
//! `agent_outcome` (that result).

pub(crate) mod agent_definition;
mod agent_input;
mod agent_outcome;
pub(crate) mod agent_workspace;
mod nested_session;
mod nested_session_factory;

pub use agent_definition::{AgentDefinition, AgentIsolation, SubagentConfig};
pub(crate) use nested_session_factory::{NestedSessionFactory, ParentSession, SessionTree};

use std::sync::Arc;

use windlass_permission::PermissionGrant;
use windlass_tool::{Tool, ToolCallContext, ToolFuture};
use windlass_vocabulary::{Concurrency, Json, ToolCall, ToolInspection, ToolOutcome, ToolSpec};

use self::agent_input::AgentInput;

/// The tool by which a model starts a nested session.
#[derive(Debug)]
pub(crate) struct AgentTool {
    spec: ToolSpec,
    sessions: Arc<NestedSessionFactory>,
}

impl AgentTool {
    pub(crate) fn new(sessions: Arc<NestedSessionFactory>) -> Self {
        Self { spec: agent_input::build_spec(&sessions.subagents.definitions), sessions }
    }

    fn parse_input(&self, input: &Json) -> Result<(AgentInput, AgentDefinition), String> {
        let input = AgentInput::parse(&self.spec, input)?;
        let definition = self.sessions.subagents.find_definition(input.subagent_type.as_deref())?;
        Ok((input, definition))
    }
}

impl Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn inspect(&self, input: &Json) -> ToolInspection {
        match self.parse_input(input) {
            Ok(_) => ToolInspection {
                concurrency: Concurrency::Shared,
                spends: true,
                ..ToolInspection::EXCLUSIVE_EFFECT
            },
            Err(problem) => ToolInspection::from_problem(problem),
        }
    }

    fn run<'a>(
        &'a self,
        call: PermissionGrant<ToolCall>,
        call_context: ToolCallContext,
    ) -> ToolFuture<'a> {
        Box::pin(async move {
            match self.parse_input(&call.get().input) {
                Ok((input, definition)) => {
                    nested_session::run_agent(
                        &self.sessions,
                        input,
                        definition,
                        &call.get().id,
                        call_context,
                    )
                    .await
                }
                Err(problem) => ToolOutcome::failure(problem),
            }
        })
    }
}
