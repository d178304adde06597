//! Enters plan mode.
//!
//! Fails if no user can approve a plan, because plan mode could never be left.

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_vocabulary::{PermissionMode, ToolInspection, ToolOutcome};

use super::plan_mode::{RESULT_BYTES_MAX, build_exclusive_inspection, switch_mode};
use crate::input::InputError;
use crate::tool::{CallLimits, ToolCallContext};
use crate::typed_tool::{ToolDescription, TypedTool, TypedToolFuture, TypedToolResult};

#[derive(Debug)]
pub(crate) struct EnterPlanModeTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EnterPlanModeInput {}

const DESCRIPTION: &str = "Begins plan mode: nothing can be changed until a person has approved a plan. \
For work that is large or can be done in more than one way. Look around, then call ExitPlanMode.";

impl TypedTool for EnterPlanModeTool {
    type Input = EnterPlanModeInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: "EnterPlanMode",
            text: DESCRIPTION,
            result_bytes_max: RESULT_BYTES_MAX,
        }
    }

    fn check_input(&self, _: &EnterPlanModeInput) -> Result<ToolInspection, InputError> {
        Ok(build_exclusive_inspection())
    }

    fn run(&self, _: EnterPlanModeInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move { enter_plan_mode(&call.call_limits) })
    }
}

fn enter_plan_mode(terms: &CallLimits) -> TypedToolResult {
    if terms.policy.mode == PermissionMode::Plan {
        return Ok(ToolOutcome::from_text("Plan mode is on already."));
    }
    if !terms.policy.can_ask {
        return Err("Nobody can approve a plan here, so plan mode would never end. Plan by \
                    yourself, then do the work."
            .to_owned());
    }
    let words = "Plan mode is on: nothing can be changed. Look around, then call ExitPlanMode \
                 with your plan.";
    Ok(switch_mode(PermissionMode::Plan, words))
}
