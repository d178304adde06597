//! Shows the user a plan, and leaves plan mode when it is approved.
//!
//! The permission question is the approval: the call runs only if the user allowed it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Json, PermissionMode, ToolInspection, ToolOutcome};

use super::plan_mode::{RESULT_BYTES_MAX, build_exclusive_inspection, switch_mode};
use crate::input::InputError;
use crate::tool::ToolCallContext;
use crate::typed_tool::{ToolDescription, TypedTool, TypedToolFuture};

#[derive(Debug)]
pub(crate) struct ExitPlanModeTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ExitPlanModeInput {
    /// The plan, in Markdown: what will be done, where, and how it will be checked.
    plan: String,
}

const DESCRIPTION: &str = "Shows a person the plan for approval. Approved, plan mode ends and the work \
can begin.";

const PLAN_CHARS_MAX: usize = 50_000;

impl TypedTool for ExitPlanModeTool {
    type Input = ExitPlanModeInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: "ExitPlanMode",
            text: DESCRIPTION,
            result_bytes_max: RESULT_BYTES_MAX,
        }
    }

    fn check_input(&self, input: &ExitPlanModeInput) -> Result<ToolInspection, InputError> {
        if input.plan.trim().is_empty() {
            return Err(InputError::field("plan", "empty"));
        }
        if input.plan.chars().count() > PLAN_CHARS_MAX {
            return Err(InputError::field(
                "plan",
                format!("more than {PLAN_CHARS_MAX} characters"),
            ));
        }
        Ok(build_exclusive_inspection())
    }

    fn run(&self, input: ExitPlanModeInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move {
            let outcome = exit_plan_mode(call.call_limits.policy.mode);
            let structured = json!({"plan": input.plan});
            Ok(ToolOutcome {
                structured: Some(Json::from_checked(&structured.to_string())),
                ..outcome
            })
        })
    }
}

/// Only plan mode is left; another mode is the user's choice and is kept.
fn exit_plan_mode(mode: PermissionMode) -> ToolOutcome {
    match mode {
        PermissionMode::Plan => switch_mode(
            PermissionMode::Default,
            "The plan was approved and plan mode is over. Begin the work.",
        ),
        PermissionMode::BypassPermissions => {
            ToolOutcome::from_text("Plan mode was not on and nothing has to be approved. Go on.")
        }
        PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::DontAsk => {
            ToolOutcome::from_text("The plan was approved. Plan mode was not on; go on.")
        }
    }
}
