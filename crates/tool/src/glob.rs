//! Finds files by name, newest first.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime};

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Inspection, Json, ToolOutcome};

use crate::action::{Action, Doing, Done};
use crate::input::Wrong;
use crate::surroundings::lock;
use crate::tool::{Job, blocking};
use crate::walk::Walk;

/// The tool.
#[derive(Debug)]
pub(crate) struct Glob;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// For example `**/*.rs` or `src/*.ts`, relative to path.
    pattern: String,
    /// The directory to search: the working directory unless given.
    #[serde(default)]
    path: Option<String>,
}

const DESCRIPTION: &str = "Finds files whose path matches a pattern, newest first, at most 100. \
`*` stays within one directory, `**` does not. Files that git ignores are left out.";

const FILES_MAX: usize = 100;
/// Matches remembered for sorting.
const MATCHES_MAX: usize = 100_000;
const RESULT_BYTES_MAX: usize = 100_000;

impl Action for Glob {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        ("Glob", DESCRIPTION, RESULT_BYTES_MAX)
    }

    fn check(&self, input: &Input) -> Result<Inspection, Wrong> {
        matcher(&input.pattern).map(|_| Inspection::SHARED_READ)
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(blocking(job, move |job| perform(&input, &job)))
    }
}

/// Patterns stay below the directory that was judged.
fn matcher(pattern: &str) -> Result<GlobMatcher, Wrong> {
    let wrong = |why: &str| Wrong::field("pattern", why);
    if pattern.starts_with('/') || pattern.starts_with('~') {
        return Err(wrong("it must be relative; give the directory in `path`"));
    }
    if pattern.split('/').any(|part| part == "..") {
        return Err(wrong("`..` is not allowed; give the directory in `path`"));
    }
    GlobBuilder::new(pattern.trim_start_matches("./"))
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| wrong(&error.to_string()))
}

fn perform(input: &Input, job: &Job) -> Done {
    let began = Instant::now();
    let matcher = matcher(&input.pattern).map_err(|wrong| wrong.told("Glob"))?;
    let walk = Walk::new(job, input.path.as_deref())?;
    let found: Mutex<Vec<(SystemTime, PathBuf)>> = Mutex::default();
    let count = AtomicUsize::new(0);
    walk.each(|| {
        let mut batch = Batch { all: &found, own: Vec::new() };
        let (matcher, walk, count) = (&matcher, &walk, &count);
        move |path: &Path| {
            if !matcher.is_match(walk.below(path)) {
                return true;
            }
            batch.own.push((walk.modified(path), path.to_path_buf()));
            count.fetch_add(1, Ordering::Relaxed) + 1 < MATCHES_MAX
        }
    });
    let mut found = std::mem::take(&mut *lock(&found));
    let total = found.len();
    let newest_first = |(a, one): &(SystemTime, PathBuf), (b, other): &(SystemTime, PathBuf)| {
        b.cmp(a).then_with(|| one.cmp(other))
    };
    if total > FILES_MAX {
        // Only those that are shown need an order.
        found.select_nth_unstable_by(FILES_MAX, newest_first);
        found.truncate(FILES_MAX);
    }
    found.sort_by(newest_first);
    let names: Vec<String> =
        found.into_iter().map(|(_, path)| path.to_string_lossy().into_owned()).collect();
    let mut text = names.join("\n");
    if total == 0 {
        text.push_str("No files match.");
        if !input.pattern.contains('/') {
            text.push_str(&format!(" To look in every directory, use `**/{}`.", input.pattern));
        }
    }
    if total > names.len() {
        text.push_str(&format!("\n[The newest {FILES_MAX} of {total} files]"));
    }
    if let Some(remark) = walk.remark() {
        text.push('\n');
        text.push_str(&remark);
    }
    let structured = json!({
        "durationMs": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "numFiles": names.len(),
        "truncated": total > names.len(),
        "totalMatches": total,
        "filenames": names,
    });
    let structured = Some(Json::from_checked(&structured.to_string()));
    Ok(ToolOutcome { structured, ..ToolOutcome::text(text) })
}

/// What one thread found, put to the rest when it is done.
struct Batch<'a> {
    all: &'a Mutex<Vec<(SystemTime, PathBuf)>>,
    own: Vec<(SystemTime, PathBuf)>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        lock(self.all).append(&mut self.own);
    }
}
