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

mod account;
mod asks;
mod control;
mod desk;
mod elicitation;
mod failure;
mod fit;
mod frame;
mod hooks;
mod initialize;
mod inside;
mod mirror;
mod narrator;
mod partial;
mod permission;
mod pipe;
mod prompt;
mod reader;
mod stage;
mod state;
mod structured;
mod tasks;
mod verdict;

use std::fs::{File, OpenOptions};

use serde_json::Value;
use windlass_driver::AgentDefinition;

use crate::schema::Schema;

use crate::args::RunArgs;
use crate::command::Order;
use crate::compose::{self, Plan};
use crate::exit::Exit;
use crate::front::view::View;
use crate::front::{beside, unless_signalled};
use crate::refusal::Refusal;
use crate::signals::Signals;
use crate::subcommand::rewind;
use desk::Desk;
use frame::{Incoming, Prompt};
use reader::Heard;

pub(crate) use frame::Stamped;
pub(crate) use stage::LEVEL;

/// Serves a client until it is done. A prompt of the command line is a client that says one thing; it
/// may want nothing but the end, as text or as one object.
pub(crate) async fn run(args: RunArgs, mut signals: Signals) -> Result<Exit, Refusal> {
    let format = args.output_format;
    let is_stream_in = args.is_stream_in();
    let schema = schema(&args)?;
    let agents = agents(&args)?;
    let diary = diary(&args)?;
    let (mut args, mut early, mut lines) = (args, None, None);
    if is_stream_in && args.headless.await_initialize {
        let mut all = reader::start();
        // Who said that there is a greeting to wait for sends it first, or ends.
        match unless_signalled(&mut signals, all.recv()).await {
            Ok(first) => early = first,
            Err(signal) => return Ok(signal.exit()),
        }
        if let Some(Heard::Line(Incoming::ControlRequest { request, .. })) = &early {
            let (with, without) = initialize::plugins(request);
            args.headless.plugin_dir.extend(with);
            args.headless.plugin_dir_no_mcp.extend(without);
        }
        lines = Some(all);
    }
    let again = args.clone();
    let lookup = |name: &str| std::env::var_os(name);
    let composed = beside(&mut signals, move || match is_stream_in {
        true => compose::conversation(&args, &lookup),
        false => compose::print(&args, &lookup),
    });
    let mut plan = match composed.await {
        Ok(Ok(plan)) => plan,
        Ok(Err(signal)) => return Ok(signal.exit()),
        Err(refusal) => return Err(desk::refused(refusal, format).await),
    };
    if let Some(known) = &mut plan.agents {
        known.definitions.retain(|known| !agents.iter().any(|agent| agent.name == known.name));
        known.definitions.extend(agents);
    }
    if !is_stream_in {
        stage::check_agent(&again, &plan)?;
    }
    let mut plan = resumable(plan);
    let warnings = plan.layers.warnings();
    let notes = std::mem::take(&mut plan.notes);
    let first = plan.order.take();
    // What the session is written into must not be open when it goes back.
    if let (Some(Order::Rewind(wanted)), Some(journal)) = (&first, &plan.journal) {
        let (text, object) = rewind::go(journal, &plan.session_id, wanted)?;
        let view = View { name: "rewind", text, object };
        return Ok(desk::seen(view, plan.session_id, format, signals).await);
    }
    let lines = match &first {
        None => lines.unwrap_or_else(reader::start),
        Some(order) => reader::once(Incoming::User(Box::new(prompt_of(order)))),
    };
    let mut desk = Desk::new(again, plan, first, lines, signals).with_schema(schema);
    desk = desk.with_diary(diary).with_early(early);
    desk.forewarn(&warnings, &notes);
    desk.serve().await
}

/// Hooks may put calls off where the session can be taken up again by another process.
fn resumable(mut plan: Plan) -> Plan {
    plan.builder.settings_mut().hooks.can_defer = plan.journal.is_some();
    plan
}

/// Where everything is told to, for those who look for a mistake.
fn diary(args: &RunArgs) -> Result<Option<File>, Refusal> {
    let Some(path) = &args.headless.debug_file else {
        return Ok(None);
    };
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map(Some).map_err(|error| {
        Refusal::usage(format!(
            "--debug-file {}: {error}; give a file that can be written",
            path.display()
        ))
    })
}

/// What answers must fit.
pub(crate) fn schema(args: &RunArgs) -> Result<Option<Schema>, Refusal> {
    let Some(text) = &args.headless.json_schema else {
        return Ok(None);
    };
    let wrong = |why: String| Refusal::usage(format!("--json-schema: {why}"));
    let value = serde_json::from_str(text).map_err(|error| wrong(format!("no JSON: {error}")))?;
    Schema::new(value).map(Some).map_err(wrong)
}

/// Agents of the command line.
fn agents(args: &RunArgs) -> Result<Vec<AgentDefinition>, Refusal> {
    let Some(text) = &args.headless.agents else {
        return Ok(Vec::new());
    };
    let wrong = |why: String| Refusal::usage(format!("--agents: {why}"));
    let value: Value =
        serde_json::from_str(text).map_err(|error| wrong(format!("no JSON: {error}")))?;
    initialize::agents(Some(&value)).map_err(wrong)
}

/// The one prompt of the command line, for those who want to see it again.
fn prompt_of(order: &Order) -> Prompt {
    let mut prompt = Prompt::default();
    if let Order::Say(submission) = order {
        prompt.message.content = Value::from(prompt::text(&submission.content).unwrap_or_default());
    }
    prompt
}

/// A fresh plan for the same command line, for a conversation that begins anew.
fn afresh(args: &RunArgs) -> Result<Plan, Refusal> {
    let mut args = args.clone();
    args.session.goes_on = false;
    args.session.resume = None;
    args.session.fork_session = false;
    args.session.session_id = None;
    args.session.journal = None;
    args.print = None;
    args.prompt = None;
    compose::conversation(&args, &|name: &str| std::env::var_os(name)).map(resumable)
}
