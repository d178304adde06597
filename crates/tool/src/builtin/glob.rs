//! Finds files by name, newest first.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime};

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::ToolInspection;

use super::file_walk::FileWalk;
use crate::input::InputError;
use crate::lock::lock;
use crate::tool::ToolCallContext;
use crate::typed_tool::{
    ToolDescription, TypedTool, TypedToolFuture, TypedToolResult, build_outcome, run_blocking,
};

#[derive(Debug)]
pub(crate) struct GlobTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct GlobInput {
    /// For example `**/*.rs` or `src/*.ts`, relative to path.
    pattern: String,
    /// The directory to search: the working directory unless given.
    #[serde(default)]
    path: Option<String>,
}

const DESCRIPTION: &str = "Finds files whose path matches a pattern, newest first, at most 100. \
`*` stays within one directory, `**` does not. Files that git ignores are left out.";

const FILES_MAX: usize = 100;
const RESULT_BYTES_MAX: usize = 100_000;

impl TypedTool for GlobTool {
    type Input = GlobInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription { name: "Glob", text: DESCRIPTION, result_bytes_max: RESULT_BYTES_MAX }
    }

    fn check_input(&self, input: &GlobInput) -> Result<ToolInspection, InputError> {
        build_matcher(&input.pattern).map(|_| ToolInspection::SHARED_READ)
    }

    fn run(&self, input: GlobInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(run_blocking(call, move |call| perform(&input, &call)))
    }
}

/// The pattern must not lead out of the directory whose permission was checked.
fn build_matcher(pattern: &str) -> Result<GlobMatcher, InputError> {
    let wrong = |why: &str| InputError::field("pattern", why);
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

fn perform(input: &GlobInput, call: &ToolCallContext) -> TypedToolResult {
    let began = Instant::now();
    let matcher = build_matcher(&input.pattern).map_err(|wrong| wrong.to_message("Glob"))?;
    let walk = FileWalk::new(call, input.path.as_deref())?;
    let found: Mutex<Vec<NewestFiles>> = Mutex::default();
    let total = AtomicUsize::new(0);
    let is_all = matches!(input.pattern.as_str(), "**" | "**/*");
    walk.visit_files(|| {
        let mut batch = GlobThreadBatch {
            all: &found,
            newest: NewestFiles::default(),
            matched_count: 0,
            total_count: &total,
        };
        let mut clock = walk.modified_time_reader();
        let matcher = &matcher;
        let walk = &walk;
        move |path: &Path| {
            if is_all || matcher.is_match(walk.relative_path(path)) {
                batch.matched_count += 1;
                batch.newest.push(clock.modified_time(path), path);
            }
            true
        }
    });
    let total = total.load(Ordering::Relaxed);
    let mut found = NewestFiles::merge(std::mem::take(&mut *lock(&found)));
    found.sort_by(compare_newest_first);
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
    if let Some(remark) = walk.render_remark() {
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
    Ok(build_outcome(text, &structured))
}

type DatedPath = (SystemTime, PathBuf);

fn compare_newest_first((a, one): &DatedPath, (b, other): &DatedPath) -> std::cmp::Ordering {
    b.cmp(a).then_with(|| one.cmp(other))
}

/// The newest files of a walk. Files too old to be shown are not stored.
#[derive(Default)]
struct NewestFiles {
    files: Vec<DatedPath>,
    oldest_wanted: Option<SystemTime>,
}

impl NewestFiles {
    fn push(&mut self, modified: SystemTime, path: &Path) {
        if self.oldest_wanted.is_some_and(|least| modified < least) {
            return;
        }
        self.files.push((modified, path.to_path_buf()));
        // Sorts only when the list has doubled, to save time.
        if self.files.len() >= 2 * FILES_MAX {
            self.truncate_to_newest();
        }
    }

    fn truncate_to_newest(&mut self) {
        if self.files.len() > FILES_MAX {
            self.files.select_nth_unstable_by(FILES_MAX - 1, compare_newest_first);
            self.files.truncate(FILES_MAX);
            self.oldest_wanted = self.files.iter().map(|(modified, _)| *modified).min();
        }
    }

    fn merge(several: Vec<Self>) -> Vec<DatedPath> {
        let kept = several.into_iter().flat_map(|one| one.files).collect();
        let mut newest = Self { files: kept, oldest_wanted: None };
        newest.truncate_to_newest();
        newest.files
    }
}

/// The files found by one thread, merged when it ends.
struct GlobThreadBatch<'a> {
    all: &'a Mutex<Vec<NewestFiles>>,
    newest: NewestFiles,
    matched_count: usize,
    total_count: &'a AtomicUsize,
}

impl Drop for GlobThreadBatch<'_> {
    fn drop(&mut self) {
        self.total_count.fetch_add(self.matched_count, Ordering::Relaxed);
        lock(self.all).push(std::mem::take(&mut self.newest));
    }
}
