//! `windlass replay`: folds the journal through the engine again, and compares every recorded decision with
//! the one made now.

use serde_json::{Value, json};
use windlass_journal::{ExplainedStep, VerifyReport, explain_journal, verify};
use windlass_vocabulary::format_timestamp;

use super::{fallback_settings, resolve_journal_path};
use crate::args::ReplayArgs;
use crate::words;
use windlass_assembly::session::journal_error;
use windlass_host::command_error::CommandError;
use windlass_host::display::human_format::{format_count, format_counted};
use windlass_host::display::strip_control_characters;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;

/// The exit code says whether every decision was the same.
pub(crate) fn run(
    args: &ReplayArgs,
    lookup: &impl EnvLookup,
) -> Result<(String, Exit), CommandError> {
    let journal = resolve_journal_path(args.session.as_deref(), lookup)?;
    let settings = fallback_settings();
    let mut text = String::new();
    if args.step {
        let on_step = |step: ExplainedStep| match args.json {
            true => text.push_str(&format!("{}\n", step_to_json(&step))),
            false => text.push_str(&render_step(&step)),
        };
        explain_journal(&journal, &settings, on_step).map_err(|error| journal_error(&error))?;
    }
    let verified = verify(&journal, &settings).map_err(|error| journal_error(&error))?;
    text.push_str(&match args.json {
        true => format!("{}\n", verification_to_json(&verified)),
        false => render_verification(&verified),
    });
    let exit = if verified.difference.is_some() { Exit::FAILURE } else { Exit::SUCCESS };
    Ok((text, exit))
}

fn render_verification(verified: &VerifyReport) -> String {
    let VerifyReport { folded, same, missing, difference } = verified;
    let records = format_counted(folded.seq, "record");
    let same = format_counted(*same, "decision");
    let mut text = format!("{records}, {same} identical");
    if *missing > 0 {
        text.push_str(&words::describe_unrecorded_decisions(&format_count(*missing)));
    }
    if !folded.damages.is_empty() {
        text.push_str(&words::describe_damaged_lines(folded.damages.len()));
    }
    text.push_str(".\n");
    match difference {
        None => text.push_str(words::REPLAY_MATCHES),
        Some((seq, note)) => {
            let note: String = note.describe().chars().take(NOTE_CHARS_MAX).collect();
            let note = strip_control_characters(&note);
            text.push_str(&words::describe_replay_difference(seq, &note));
        }
    }
    text
}

fn verification_to_json(verified: &VerifyReport) -> Value {
    let difference = verified.difference.as_ref().map(|(seq, _)| seq);
    json!({
        "records": verified.folded.seq,
        "same": verified.same,
        "missing": verified.missing,
        "damaged": verified.folded.damages.len(),
        "difference": difference,
    })
}

fn render_step(step: &ExplainedStep) -> String {
    let (before, after) = step.phase;
    let phases = if before == after { after.to_owned() } else { format!("{before} → {after}") };
    let reason = step.transition.map(|transition| format!(" · {transition}"));
    let mut text = format!(
        "{:>6}  {}\n        {phases} · turn {}{}\n",
        step.seq,
        strip_control_characters(&step.event),
        step.turn,
        reason.unwrap_or_default()
    );
    for effect in &step.effects {
        text.push_str(&format!(
            "        ↳ {}\n",
            strip_control_characters(&effect.replace('\n', " "))
        ));
    }
    text
}

fn step_to_json(step: &ExplainedStep) -> Value {
    json!({
        "record": step.seq,
        "at": format_timestamp(step.at),
        "event": step.event,
        "before": step.phase.0,
        "after": step.phase.1,
        "turn": step.turn,
        "transition": step.transition.map(|transition| transition.name()),
        "effects": step.effects,
    })
}

const NOTE_CHARS_MAX: usize = 200;
