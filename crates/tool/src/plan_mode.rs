//! Into plan mode and out of it.
//!
//! Whether a plan is approved is not decided here: the call that leaves plan mode only runs once
//! somebody has said yes to it. Where nobody could ever say yes, plan mode is not entered, because
//! there would be no way back.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{
    Concurrency, ContextUpdate, Json, PermissionMode, ToolInspection, ToolOutcome,
};

use crate::input::InputError;
use crate::tool::{CallLimits, ToolCallContext};
use crate::typed_tool::{TypedTool, TypedToolFuture, TypedToolResult};

/// Changes nothing from now on.
#[derive(Debug)]
pub(crate) struct EnterPlanModeTool;

/// Shows a plan and, approved, goes to work.
#[derive(Debug)]
pub(crate) struct ExitPlanModeTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EnterPlanModeInput {}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ExitPlanModeInput {
    /// The plan, in Markdown: what will be done, where, and how it will be checked.
    plan: String,
}

const ENTER_DESCRIPTION: &str = "Begins plan mode: nothing can be changed until a person has approved a plan. \
For work that is large or can be done in more than one way. Look around, then call ExitPlanMode.";

const EXIT_DESCRIPTION: &str = "Shows a person the plan for approval. Approved, plan mode ends and the work \
can begin.";

const RESULT_BYTES_MAX: usize = 2_000;
const PLAN_CHARS_MAX: usize = 50_000;

/// Nothing in the world changes, yet what runs beside it would run by another mode.
fn build_exclusive_inspection() -> ToolInspection {
    ToolInspection { concurrency: Concurrency::Exclusive, ..ToolInspection::SHARED_READ }
}

impl TypedTool for EnterPlanModeTool {
    type Input = EnterPlanModeInput;

    fn describe(&self) -> (&str, &str, usize) {
        ("EnterPlanMode", ENTER_DESCRIPTION, RESULT_BYTES_MAX)
    }

    fn check_input(&self, _: &EnterPlanModeInput) -> Result<ToolInspection, InputError> {
        Ok(build_exclusive_inspection())
    }

    fn run(&self, _: EnterPlanModeInput, job: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move { enter_plan_mode(&job.call_limits) })
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

impl TypedTool for ExitPlanModeTool {
    type Input = ExitPlanModeInput;

    fn describe(&self) -> (&str, &str, usize) {
        ("ExitPlanMode", EXIT_DESCRIPTION, RESULT_BYTES_MAX)
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

    fn run(&self, input: ExitPlanModeInput, job: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move {
            let outcome = exit_plan_mode(job.call_limits.policy.mode);
            let structured = json!({"plan": input.plan});
            Ok(ToolOutcome {
                structured: Some(Json::from_checked(&structured.to_string())),
                ..outcome
            })
        })
    }
}

/// Only plan mode is left; another mode is the user's choice and stays.
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

fn switch_mode(mode: PermissionMode, words: &str) -> ToolOutcome {
    ToolOutcome {
        update: Some(ContextUpdate { mode: Some(mode), ..ContextUpdate::default() }),
        ..ToolOutcome::from_text(words)
    }
}
