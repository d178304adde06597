//! Finds files by name, newest first.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Inspection, Json, ToolOutcome};

use crate::action::{Action, Doing, Done};
use crate::input::Wrong;
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
    let mut walk = Walk::new(job);
    let start = walk.start(input.path.as_deref())?;
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    walk.each(&start, |_, path| {
        let below = path.strip_prefix(&start).unwrap_or(path);
        if matcher.is_match(below) {
            found.push((modified(path), path.to_path_buf()));
        }
        found.len() < MATCHES_MAX
    });
    let total = found.len();
    found.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.cmp(other)));
    found.truncate(FILES_MAX);
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

/// A file that is gone by now counts as the oldest.
pub(crate) fn modified(path: &Path) -> SystemTime {
    std::fs::symlink_metadata(path)
        .and_then(|metadata| metadata.modified())
        .unwrap_or(SystemTime::UNIX_EPOCH)
}
