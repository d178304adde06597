//! The headless protocol of agent SDKs: one JSON object per line, in both directions.
//!
//! The event loop is one task that receives everything (lines, notices, requests, signals, timers)
//! and never waits for any one of them, so it answers a client in the middle of a run and before
//! the first prompt. `docs/wire/stream_json.md` describes its guarantees: exactly one result for
//! each prompt, keep-alive frames, and an end soon after the end of input and work. `-p` without
//! `stream-json` is the same event loop with a printer instead of frames.
//!
//! Reading order: `frame` (the lines), `event_loop` (the loop), `session_phase` and `live_session`
//! (the session), `notice_to_frame` (converts notices), `prompt_turn` (the end of a prompt),
//! `control` (requests of the client), `client_requests` (requests to the client).

mod choosable_models;
mod client_hooks;
mod client_mcp_servers;
mod client_requests;
mod control;
mod early_blocks;
mod elicitation;
mod event_loop;
mod failure_name;
mod final_answer;
mod flag_values;
mod frame;
mod frame_writer;
mod fresh_plan;
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
mod session_phase;
mod session_state;
mod structured_output;
mod task_tracker;
mod transcript_mirror;
mod usage_totals;

use serde_json::Value;

use crate::event_loop::{EventLoop, EventLoopOptions};
use crate::frame::{IncomingFrame, PromptFrame};
use crate::fresh_plan::enable_deferred_calls;
use crate::input_reader::InputLine;
use windlass_assembly::options::RunOptions;
use windlass_assembly::report::rewind;
use windlass_assembly::report::session_report::SessionReport;
use windlass_assembly::session_plan;
use windlass_assembly::slash_command::SlashCommand;
use windlass_host::command_error::CommandError;
use windlass_host::environment::process_environment;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;
use windlass_host::signals::{await_unless_signalled, run_blocking_unless_signalled};

/// Serves a client until it is done. A prompt of the command line is a client with one prompt; it may
/// want only the result, as text or as one object.
pub async fn run(mut args: RunOptions, mut signals: SignalListener) -> Result<Exit, CommandError> {
    let format = args.output_format;
    let is_stream_in = args.reads_stream_json();
    let schema = flag_values::parse_json_schema_flag(&args)?;
    let agents = flag_values::parse_agents_flag(&args)?;
    let debug_file = flag_values::open_debug_file(&args)?;
    let mut early_line = None;
    let mut stdin_lines = None;
    if is_stream_in && args.headless.stream.await_initialize {
        let mut lines = input_reader::spawn_stdin_reader();
        // A client that sets this flag sends `initialize` first, or ends its input.
        match await_unless_signalled(&mut signals, lines.recv()).await {
            Ok(first) => early_line = first,
            Err(signal) => return Ok(signal.exit()),
        }
        if let Some(InputLine::Frame(IncomingFrame::ControlRequest { request, .. })) = &early_line {
            let plugins = initialize::parse_plugin_paths(request);
            args.headless.plugin_dir.extend(plugins.with_mcp_servers);
            args.headless.plugin_dir_no_mcp.extend(plugins.without_mcp_servers);
        }
        stdin_lines = Some(lines);
    }
    let plan_args = args.clone();
    let planned = run_blocking_unless_signalled(&mut signals, move || {
        let lookup = process_environment;
        match is_stream_in {
            true => session_plan::plan_streaming_session(&plan_args, &lookup),
            false => session_plan::plan_print_run(&plan_args, &lookup),
        }
    });
    let mut plan = match planned.await {
        Ok(Ok(plan)) => plan,
        Ok(Err(signal)) => return Ok(signal.exit()),
        Err(refusal) => return Err(event_loop::report_start_failure(refusal, format).await),
    };
    if let Some(subagents) = &mut plan.subagents {
        let definitions = &mut subagents.definitions;
        definitions.retain(|known| !agents.iter().any(|agent| agent.name == known.name));
        definitions.extend(agents);
    }
    if !is_stream_in {
        live_session::check_agent_exists(&args, &plan)?;
    }
    let mut plan = enable_deferred_calls(plan);
    let warnings = plan.settings_layers.warnings();
    let notes = std::mem::take(&mut plan.notes);
    let first_prompt = plan.first_command.take();
    // The journal must not be open when it is rewound.
    if let (Some(SlashCommand::Rewind(options)), Some(journal)) = (&first_prompt, &plan.journal) {
        let lookup = process_environment;
        let (text, json) = rewind::rewind_journal(journal, &plan.session_id, options, &lookup)?;
        let report = SessionReport { name: "rewind", text, json };
        return Ok(event_loop::print_session_report(report, plan.session_id, format, signals).await);
    }
    let lines = match &first_prompt {
        None => stdin_lines.unwrap_or_else(input_reader::spawn_stdin_reader),
        // An interrupted run continues before the client's first prompt.
        Some(command) if is_stream_in => {
            let prompt = Box::new(build_replayed_prompt(command));
            early_line.get_or_insert(InputLine::Frame(IncomingFrame::User(prompt)));
            stdin_lines.unwrap_or_else(input_reader::spawn_stdin_reader)
        }
        Some(command) => {
            let prompt = Box::new(build_replayed_prompt(command));
            input_reader::send_single_frame(IncomingFrame::User(prompt))
        }
    };
    let mut event_loop = EventLoop::new(EventLoopOptions {
        args,
        plan,
        first_prompt,
        lines,
        early_line,
        signals,
        schema,
        debug_file,
    });
    event_loop.report_warnings(&warnings, &notes);
    event_loop.run().await
}

/// The one prompt of the command line, for `--replay-user-messages`.
fn build_replayed_prompt(command: &SlashCommand) -> PromptFrame {
    let mut prompt = PromptFrame::default();
    if let SlashCommand::SubmitPrompt(submission) = command {
        let text = prompt_content::as_single_text(&submission.content).unwrap_or_default();
        prompt.message.content = Value::from(text);
    }
    prompt
}
