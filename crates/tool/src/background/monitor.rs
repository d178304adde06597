//! Waits for a background command or agent and shows what it wrote since the last look.

use std::sync::Arc;
use std::time::Duration;

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use windlass_vocabulary::{Inspection, Json, ToolOutcome};

use super::{Task, look};
use crate::action::{Action, Doing, Done};
use crate::input::{self, Wrong};
use crate::tool::Job;

/// The tool.
#[derive(Debug)]
pub(crate) struct Monitor;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
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
/// Of a line that does not end, so much is kept to match on.
const LINE_BYTES_MAX: usize = 64 * 1024;
const RESULT_BYTES_MAX: usize = 160_000;
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

impl Action for Monitor {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        ("Monitor", DESCRIPTION, RESULT_BYTES_MAX)
    }

    fn check(&self, input: &Input) -> Result<Inspection, Wrong> {
        pattern(input).map(|_| Inspection::SHARED_READ)
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(perform(input, job))
    }
}

fn pattern(input: &Input) -> Result<Option<RegexMatcher>, Wrong> {
    let Some(until) = &input.until else { return Ok(None) };
    let built = RegexMatcherBuilder::new().multi_line(true).build(until);
    built.map(Some).map_err(|error| Wrong::field("until", error.to_string()))
}

async fn perform(input: Input, job: Job) -> Done {
    let task = job.surroundings.background().find(&input.task_id)?;
    let until = pattern(&input).map_err(|wrong| wrong.told("Monitor"))?;
    let wait = Duration::from_millis(input.timeout.unwrap_or(WAIT_DEFAULT).min(WAIT_MAX));
    let mut waiting = Waiting { from: task.shown_to(), line: Vec::new(), until };
    let seen = waiting.wait(&task, wait, &job).await?;
    report(&task, seen, &job)
}

/// Why waiting is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    End,
    Match,
    Nothing,
    Cancel,
}

struct Waiting {
    from: u64,
    line: Vec<u8>,
    until: Option<RegexMatcher>,
}

impl Waiting {
    async fn wait(&mut self, task: &Arc<Task>, wait: Duration, job: &Job) -> Result<Seen, String> {
        let deadline = Instant::now() + wait;
        let began = Instant::now();
        loop {
            // Asked for before looking, so that nothing rung in between is missed.
            let bell = task.bell.notified();
            let has_ended = task.end().is_some();
            if self.matches(task)? {
                return Ok(Seen::Match);
            }
            if has_ended {
                return Ok(Seen::End);
            }
            tokio::select! {
                () = bell => {}
                () = tokio::time::sleep_until(deadline) => return Ok(Seen::Nothing),
                () = job.cancel.cancelled() => return Ok(Seen::Cancel),
                () = tokio::time::sleep(PROGRESS_EVERY) => {
                    let seconds = began.elapsed().as_secs();
                    job.progress.say(|| format!("waiting for `{}`, {seconds} s", task.id));
                }
            }
        }
    }

    /// Does a line that was written since the last look match?
    fn matches(&mut self, task: &Task) -> Result<bool, String> {
        let Some(until) = &self.until else { return Ok(false) };
        let line = &mut self.line;
        let mut is_found = false;
        self.from = look::each(&task.output, self.from, |chunk| {
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

fn report(task: &Task, seen: Seen, job: &Job) -> Done {
    let from = task.shown_to();
    let new = look::since(&task.output, from, job.surroundings.limits.output_inline_max)?;
    task.show_to(new.end);
    let end = task.end();
    task.tell();
    // Time passes even where nothing else does: waiting again is not going in circles.
    let runs = format!("for {:.1} s", task.started.elapsed().as_secs_f64());
    let status = match (&end, seen) {
        (Some(end), _) => format!("`{}` has ended: {}", task.id, end.words),
        (None, Seen::Match) => format!("`{}` runs {runs}; what you waited for is there.", task.id),
        (None, Seen::Cancel) => format!("Interrupted; `{}` runs on, {runs} so far.", task.id),
        (None, _) => format!("`{}` still runs, {runs} so far.", task.id),
    };
    let shown = match new.bytes {
        0 => "[Nothing new was written]".to_owned(),
        _ => new.text,
    };
    let structured = json!({
        "taskId": task.id,
        "status": if end.is_some() { "ended" } else { "running" },
        "matched": seen == Seen::Match,
        "output": shown,
        "newBytes": new.bytes,
        "outputFile": task.output.to_string_lossy(),
    });
    Ok(ToolOutcome {
        is_error: seen == Seen::Cancel || end.is_some_and(|end| end.is_failure),
        structured: Some(Json::from_checked(&structured.to_string())),
        ..ToolOutcome::text(format!("{status}\n{shown}"))
    })
}
