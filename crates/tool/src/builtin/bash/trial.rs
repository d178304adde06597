//! Runs a command on a trial that the user reviews.

use windlass_permission::Confinement;
use windlass_vocabulary::{ToolOutcome, ToolResultPart};

use crate::process::{CommandTrial, ProcessConfinement, TrialVerdict, TriedCommand};
use crate::tool_session_context::ToolSessionContext;

pub(super) async fn begin(
    context: &ToolSessionContext,
    confinement: &ProcessConfinement,
) -> Result<Box<dyn CommandTrial>, String> {
    let processes = &context.processes;
    let not_possible = |why: &str| {
        format!(
            "The user wants to try this command first, which is not possible here: {why}. It was not run."
        )
    };
    let trials =
        processes.trials.as_ref().ok_or_else(|| not_possible("nothing is kept of this session"))?;
    let cell = processes.cell.as_ref().filter(|_| confinement.kind != Confinement::Unconfined);
    let held_by = processes.launcher.as_ref().or(cell).cloned();
    let scratch = match &confinement.private_directory {
        Some(directory) => directory.path().to_owned(),
        None => processes.spill_directory.clone(),
    };
    trials.begin(held_by, scratch).await.map_err(|why| not_possible(&why))
}

pub(super) struct SettledTrial {
    pub(super) outcome: ToolOutcome,
    /// Are the changes of the command applied now?
    pub(super) is_applied: bool,
}

pub(super) async fn settle(
    trial: Box<dyn CommandTrial>,
    call_id: &str,
    command: &str,
    exit_code: Option<i32>,
    outcome: ToolOutcome,
) -> Result<SettledTrial, String> {
    let tried = TriedCommand {
        call_id: call_id.to_owned(),
        command: command.to_owned(),
        exit_code,
        output: read_text(&outcome),
    };
    let verdict = trial.settle(tried).await.map_err(|why| {
        format!("The command was tried and what it changed could not be applied: {why}. Nothing was changed.\n{}", read_text(&outcome))
    })?;
    let (note, is_applied) = match verdict {
        TrialVerdict::NothingChanged => ("[Tried first: it changed no files]".to_owned(), true),
        TrialVerdict::Applied(words) => (format!("[Tried first, then applied: {words}]"), true),
        TrialVerdict::Refused(words) => {
            let why = if words.is_empty() { String::new() } else { format!(": {words}") };
            (
                format!(
                    "[Tried only: the user did not accept what it changed, so nothing was changed{why}]"
                ),
                false,
            )
        }
    };
    let text = format!("{note}\n{}", read_text(&outcome));
    let outcome = ToolOutcome {
        is_error: outcome.is_error || !is_applied,
        content: vec![ToolResultPart::Text(text)],
        ..outcome
    };
    Ok(SettledTrial { outcome, is_applied })
}

fn read_text(outcome: &ToolOutcome) -> String {
    let parts = outcome.content.iter().filter_map(|part| match part {
        ToolResultPart::Text(text) => Some(text.as_str()),
        ToolResultPart::Media(_) => None,
    });
    parts.collect()
}
