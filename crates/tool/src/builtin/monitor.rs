//! Waits for a background task, and shows its output since the last time.

use std::sync::Arc;
use std::time::Duration;

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use windlass_vocabulary::{Json, ToolInspection, ToolOutcome};

use crate::background::{
    BackgroundRecord, BackgroundTaskEnd, read_output_since, visit_output_since,
};
use crate::input::{self, InputError};
use crate::running_time::RunningTimer;
use crate::tool::ToolCallContext;
use crate::typed_tool::{ToolDescription, TypedTool, TypedToolFuture, TypedToolResult};

#[derive(Debug)]
pub(crate) struct MonitorTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct MonitorInput {
    /// The background command or agent, by the name it was given.
    task_id: String,
    /// Milliseconds to wait: 30000 unless given, 600000 at most, 0 to look without waiting.
    #[serde(default, deserialize_with = "input::whole_number")]
    timeout: Option<u64>,
    /// Stop waiting when a line it writes matches this regular expression.
    #[serde(default)]
    until: Option<String>,
}

const DESCRIPTION: &str = "Waits until a background command or agent ends, or writes what you wait for, \
and shows what it wrote since you last looked.";

const WAIT_DEFAULT: u64 = 30_000;
const WAIT_MAX: u64 = 600_000;
/// Limit on the bytes kept of an unfinished line for matching.
const LINE_BYTES_MAX: usize = 64 * 1024;
const RESULT_BYTES_MAX: usize = 160_000;
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

impl TypedTool for MonitorTool {
    type Input = MonitorInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription { name: "Monitor", text: DESCRIPTION, result_bytes_max: RESULT_BYTES_MAX }
    }

    fn check_input(&self, input: &MonitorInput) -> Result<ToolInspection, InputError> {
        build_until_matcher(input).map(|_| ToolInspection::SHARED_READ)
    }

    fn run(&self, input: MonitorInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(perform(input, call))
    }
}

fn build_until_matcher(input: &MonitorInput) -> Result<Option<RegexMatcher>, InputError> {
    let Some(until) = &input.until else { return Ok(None) };
    let built = RegexMatcherBuilder::new().multi_line(true).build(until);
    built.map(Some).map_err(|error| InputError::field("until", error.to_string()))
}

async fn perform(input: MonitorInput, call: ToolCallContext) -> TypedToolResult {
    let task = call.tool_context.background.find(&input.task_id)?;
    let until = build_until_matcher(&input).map_err(|wrong| wrong.to_message("Monitor"))?;
    let wait = Duration::from_millis(input.timeout.unwrap_or(WAIT_DEFAULT).min(WAIT_MAX));
    let mut waiting = MonitorWait {
        read_from: task.shown_bytes(),
        partial_line: Vec::new(),
        until_matcher: until,
    };
    let seen = waiting.wait(&task, wait, &call).await?;
    build_outcome(&task, seen, &call)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MonitorOutcome {
    Ended,
    Matched,
    TimedOut,
    Cancelled,
}

struct MonitorWait {
    read_from: u64,
    partial_line: Vec<u8>,
    until_matcher: Option<RegexMatcher>,
}

impl MonitorWait {
    async fn wait(
        &mut self,
        task: &Arc<BackgroundRecord>,
        wait: Duration,
        call: &ToolCallContext,
    ) -> Result<MonitorOutcome, String> {
        let mut timer = RunningTimer::new(wait);
        let began = Instant::now();
        loop {
            // Subscribe before reading, so that no notification in between is missed.
            let update = task.update_signal.notified();
            let has_ended = task.outcome().is_some();
            if self.has_matching_line(task)? {
                return Ok(MonitorOutcome::Matched);
            }
            if has_ended {
                return Ok(MonitorOutcome::Ended);
            }
            tokio::select! {
                () = update => {}
                () = &mut timer => return Ok(MonitorOutcome::TimedOut),
                () = call.cancel.cancelled() => return Ok(MonitorOutcome::Cancelled),
                () = tokio::time::sleep(PROGRESS_EVERY) => {
                    let seconds = began.elapsed().as_secs();
                    call.progress.report(|| format!("waiting for `{}`, {seconds} s", task.id));
                }
            }
        }
    }

    fn has_matching_line(&mut self, task: &BackgroundRecord) -> Result<bool, String> {
        let Some(until) = &self.until_matcher else { return Ok(false) };
        let line = &mut self.partial_line;
        let mut is_found = false;
        self.read_from = visit_output_since(&task.output_path, self.read_from, |chunk| {
            line.extend_from_slice(chunk);
            is_found = until.is_match(line).unwrap_or(false);
            let whole = memchr::memrchr(b'\n', line).map_or(0, |at| at + 1);
            let over = (line.len() - whole).saturating_sub(LINE_BYTES_MAX);
            line.drain(..whole + over);
            !is_found
        })?;
        Ok(is_found)
    }
}

fn build_outcome(
    task: &BackgroundRecord,
    seen: MonitorOutcome,
    call: &ToolCallContext,
) -> TypedToolResult {
    let from = task.shown_bytes();
    let new = read_output_since(
        &task.output_path,
        from,
        call.tool_context.limits.output_inline_bytes_max,
    )?;
    task.set_shown_bytes(new.end);
    let end = task.outcome();
    task.mark_end_reported();
    // The elapsed time makes the result different each time, so that waiting again is not detected
    // as a loop.
    let runs = format!("for {:.1} s", task.started.elapsed().as_secs_f64());
    let status = match (&end, seen) {
        (Some(end), _) => format!("`{}` has ended: {}", task.id, end.summary),
        (None, MonitorOutcome::Matched) => {
            format!("`{}` runs {runs}; what you waited for is there.", task.id)
        }
        (None, MonitorOutcome::Cancelled) => {
            format!("Interrupted; `{}` runs on, {runs} so far.", task.id)
        }
        (None, MonitorOutcome::Ended | MonitorOutcome::TimedOut) => {
            format!("`{}` still runs, {runs} so far.", task.id)
        }
    };
    let shown = match new.bytes {
        0 => "[Nothing new was written]".to_owned(),
        _ => new.text,
    };
    let structured = json!({
        "taskId": task.id,
        "status": if end.is_some() { "ended" } else { "running" },
        "matched": seen == MonitorOutcome::Matched,
        "output": shown,
        "newBytes": new.bytes,
        "outputFile": task.output_path.to_string_lossy(),
    });
    Ok(ToolOutcome {
        is_error: seen == MonitorOutcome::Cancelled
            || end.is_some_and(|outcome| outcome.end != BackgroundTaskEnd::Completed),
        structured: Some(Json::from_checked(&structured.to_string())),
        ..ToolOutcome::from_text(format!("{status}\n{shown}"))
    })
}
