//! The headless protocol that agent SDKs speak: one JSON object a line, both ways.
//!
//! The desk is one task that hears everything (lines, notices, questions, signals, clocks) and never
//! waits for any one of them, so it answers a client in the middle of a run and before the first
//! prompt. What it promises stands in `docs/wire/stream_json.md`: exactly one result for each prompt,
//! a sign of life while it is alive, and an end soon after the end of input and work.
//!
//! Reading order: `frame` (the lines), `desk` (the loop), `stage` (the session), `narrator` (what is
//! told of it), `verdict` (how a prompt ends), `control` (what a client may ask), `asks` (what a
//! client is asked).

mod client_hooks;
mod client_mcp_servers;
mod client_requests;
mod control;
mod elicitation;
mod event_loop;
mod failure_name;
mod final_answer;
mod frame;
mod frame_writer;
mod initialize;
mod input_reader;
pub mod json_schema;
mod line_limit;
mod live_session;
mod notice_to_frame;
pub mod output_writer;
mod partial_message;
mod permission_protocol;
mod print;
mod progress_log;
mod prompt_content;
mod prompt_turn;
mod session_state;
mod structured_output;
mod task_tracker;
mod transcript_mirror;
mod usage_totals;

use std::fs::{File, OpenOptions};

use serde_json::Value;
use windlass_driver::AgentDefinition;

use crate::json_schema::CheckedSchema;

use event_loop::EventLoop;
use frame::{IncomingFrame, PromptFrame};
use input_reader::InputLine;
use windlass_assembly::options::RunOptions;
use windlass_assembly::report::rewind;
use windlass_assembly::report::session_report::SessionReport;
use windlass_assembly::session_plan;
use windlass_assembly::session_plan::SessionPlan;
use windlass_assembly::slash_command::SlashCommand;
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;
use windlass_host::signals::{await_unless_signalled, run_blocking_unless_signalled};

pub use frame::ConversationFrame;

/// Serves a client until it is done. A prompt of the command line is a client that says one thing; it
/// may want nothing but the end, as text or as one object.
pub async fn run(args: RunOptions, mut signals: SignalListener) -> Result<Exit, CommandError> {
    let format = args.output_format;
    let is_stream_in = args.reads_stream_json();
    let schema = parse_json_schema_flag(&args)?;
    let agents = parse_agents_flag(&args)?;
    let diary = open_debug_file(&args)?;
    let (mut args, mut early, mut lines) = (args, None, None);
    if is_stream_in && args.headless.stream.await_initialize {
        let mut all = input_reader::spawn_stdin_reader();
        // Who said that there is a greeting to wait for sends it first, or ends.
        match await_unless_signalled(&mut signals, all.recv()).await {
            Ok(first) => early = first,
            Err(signal) => return Ok(signal.exit()),
        }
        if let Some(InputLine::Frame(IncomingFrame::ControlRequest { request, .. })) = &early {
            let (with, without) = initialize::parse_plugin_paths(request);
            args.headless.plugin_dir.extend(with);
            args.headless.plugin_dir_no_mcp.extend(without);
        }
        lines = Some(all);
    }
    let again = args.clone();
    let lookup = |name: &str| std::env::var_os(name);
    let composed = run_blocking_unless_signalled(&mut signals, move || match is_stream_in {
        true => session_plan::plan_streaming_session(&args, &lookup),
        false => session_plan::plan_print_run(&args, &lookup),
    });
    let mut plan = match composed.await {
        Ok(Ok(plan)) => plan,
        Ok(Err(signal)) => return Ok(signal.exit()),
        Err(refusal) => return Err(event_loop::report_start_failure(refusal, format).await),
    };
    if let Some(known) = &mut plan.subagents {
        known.definitions.retain(|known| !agents.iter().any(|agent| agent.name == known.name));
        known.definitions.extend(agents);
    }
    if !is_stream_in {
        live_session::check_agent_exists(&again, &plan)?;
    }
    let mut plan = enable_deferred_calls(plan);
    let warnings = plan.settings_layers.warnings();
    let notes = std::mem::take(&mut plan.notes);
    let first = plan.first_command.take();
    // What the session is written into must not be open when it goes back.
    if let (Some(SlashCommand::Rewind(wanted)), Some(journal)) = (&first, &plan.journal) {
        let (text, object) = rewind::rewind_journal(journal, &plan.session_id, wanted)?;
        let view = SessionReport { name: "rewind", text, json: object };
        return Ok(event_loop::print_session_report(view, plan.session_id, format, signals).await);
    }
    let lines = match &first {
        None => lines.unwrap_or_else(input_reader::spawn_stdin_reader),
        Some(order) => input_reader::send_single_frame(IncomingFrame::User(Box::new(
            build_replayed_prompt(order),
        ))),
    };
    let mut desk = EventLoop::new(again, plan, first, lines, signals).with_schema(schema);
    desk = desk.with_debug_log(diary).with_early_line(early);
    desk.report_warnings(&warnings, &notes);
    desk.run().await
}

/// Hooks may put calls off where the session can be taken up again by another process.
fn enable_deferred_calls(mut plan: SessionPlan) -> SessionPlan {
    plan.builder.set_deferrable_calls(plan.journal.is_some());
    plan
}

/// Where everything is told to, for those who look for a mistake.
fn open_debug_file(args: &RunOptions) -> Result<Option<File>, CommandError> {
    let Some(path) = &args.headless.debug_file else {
        return Ok(None);
    };
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map(Some).map_err(|error| {
        CommandError::usage(format!(
            "--debug-file {}: {error}; give a file that can be written",
            path.display()
        ))
    })
}

/// What answers must fit.
pub fn parse_json_schema_flag(args: &RunOptions) -> Result<Option<CheckedSchema>, CommandError> {
    let Some(text) = &args.headless.stream.json_schema else {
        return Ok(None);
    };
    let wrong = |why: String| CommandError::usage(format!("--json-schema: {why}"));
    let value = serde_json::from_str(text).map_err(|error| wrong(format!("no JSON: {error}")))?;
    CheckedSchema::new(value).map(Some).map_err(wrong)
}

/// Agents of the command line.
fn parse_agents_flag(args: &RunOptions) -> Result<Vec<AgentDefinition>, CommandError> {
    let Some(text) = &args.headless.agents else {
        return Ok(Vec::new());
    };
    let wrong = |why: String| CommandError::usage(format!("--agents: {why}"));
    let value: Value =
        serde_json::from_str(text).map_err(|error| wrong(format!("no JSON: {error}")))?;
    initialize::parse_agents(Some(&value)).map_err(wrong)
}

/// The one prompt of the command line, for those who want to see it again.
fn build_replayed_prompt(order: &SlashCommand) -> PromptFrame {
    let mut prompt = PromptFrame::default();
    if let SlashCommand::SubmitPrompt(submission) = order {
        prompt.message.content =
            Value::from(prompt_content::as_single_text(&submission.content).unwrap_or_default());
    }
    prompt
}

/// A fresh plan for the same command line, for a conversation that begins anew.
fn build_fresh_plan(args: &RunOptions) -> Result<SessionPlan, CommandError> {
    let mut args = args.clone();
    args.session.goes_on = false;
    args.session.resume = None;
    args.session.fork_session = false;
    args.session.session_id = None;
    args.session.journal = None;
    args.print = None;
    args.prompt = None;
    session_plan::plan_streaming_session(&args, &|name: &str| std::env::var_os(name))
        .map(enable_deferred_calls)
}
