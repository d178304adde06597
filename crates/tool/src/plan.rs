//! Into plan mode and out of it.
//!
//! Whether a plan is approved is not decided here: the call that leaves plan mode only runs once
//! somebody has said yes to it. Where nobody could ever say yes, plan mode is not entered, because
//! there would be no way back.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Concurrency, ContextUpdate, Inspection, Json, Mode, ToolOutcome};

use crate::action::{Action, Doing, Done};
use crate::input::Wrong;
use crate::tool::{Job, Terms};

/// Changes nothing from now on.
#[derive(Debug)]
pub(crate) struct EnterPlanMode;

/// Shows a plan and, approved, goes to work.
#[derive(Debug)]
pub(crate) struct ExitPlanMode;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Plan {
    /// The plan, in Markdown: what will be done, where, and how it will be checked.
    plan: String,
}

const ENTER: &str = "Begins plan mode: nothing can be changed until a person has approved a plan. \
For work that is large or can be done in more than one way. Look around, then call ExitPlanMode.";

const EXIT: &str = "Shows a person the plan for approval. Approved, plan mode ends and the work \
can begin.";

const RESULT_BYTES_MAX: usize = 2_000;
const PLAN_CHARS_MAX: usize = 50_000;

/// Nothing in the world changes, yet what runs beside it would run by another mode.
fn alone() -> Inspection {
    Inspection { concurrency: Concurrency::Exclusive, ..Inspection::SHARED_READ }
}

impl Action for EnterPlanMode {
    type Input = Nothing;

    fn words(&self) -> (&str, &str, usize) {
        ("EnterPlanMode", ENTER, RESULT_BYTES_MAX)
    }

    fn check(&self, _: &Nothing) -> Result<Inspection, Wrong> {
        Ok(alone())
    }

    fn act(&self, _: Nothing, job: Job) -> Doing<'_> {
        Box::pin(async move { enter(&job.terms) })
    }
}

fn enter(terms: &Terms) -> Done {
    if terms.policy.mode == Mode::Plan {
        return Ok(ToolOutcome::text("Plan mode is on already."));
    }
    if !terms.policy.can_ask {
        return Err("Nobody can approve a plan here, so plan mode would never end. Plan by \
                    yourself, then do the work."
            .to_owned());
    }
    let words = "Plan mode is on: nothing can be changed. Look around, then call ExitPlanMode \
                 with your plan.";
    Ok(turned(Mode::Plan, words))
}

impl Action for ExitPlanMode {
    type Input = Plan;

    fn words(&self) -> (&str, &str, usize) {
        ("ExitPlanMode", EXIT, RESULT_BYTES_MAX)
    }

    fn check(&self, input: &Plan) -> Result<Inspection, Wrong> {
        if input.plan.trim().is_empty() {
            return Err(Wrong::field("plan", "empty"));
        }
        if input.plan.chars().count() > PLAN_CHARS_MAX {
            return Err(Wrong::field("plan", format!("more than {PLAN_CHARS_MAX} characters")));
        }
        Ok(alone())
    }

    fn act(&self, input: Plan, job: Job) -> Doing<'_> {
        Box::pin(async move {
            let outcome = leave(job.terms.policy.mode);
            let structured = json!({"plan": input.plan});
            Ok(ToolOutcome {
                structured: Some(Json::from_checked(&structured.to_string())),
                ..outcome
            })
        })
    }
}

/// Only plan mode is left; another mode is the user's choice and stays.
fn leave(mode: Mode) -> ToolOutcome {
    match mode {
        Mode::Plan => {
            turned(Mode::Default, "The plan was approved and plan mode is over. Begin the work.")
        }
        Mode::BypassPermissions => {
            ToolOutcome::text("Plan mode was not on and nothing has to be approved. Go on.")
        }
        Mode::Default | Mode::AcceptEdits | Mode::DontAsk => {
            ToolOutcome::text("The plan was approved. Plan mode was not on; go on.")
        }
    }
}

fn turned(mode: Mode, words: &str) -> ToolOutcome {
    ToolOutcome {
        update: Some(ContextUpdate { mode: Some(mode), ..ContextUpdate::default() }),
        ..ToolOutcome::text(words)
    }
}
