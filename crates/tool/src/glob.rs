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
    let found: Mutex<Vec<Newest>> = Mutex::default();
    let total = AtomicUsize::new(0);
    let is_all = matches!(input.pattern.as_str(), "**" | "**/*");
    walk.each(|| {
        let mut batch = Batch { all: &found, own: Newest::default(), seen: 0, total: &total };
        let mut clock = walk.clock();
        let (matcher, walk) = (&matcher, &walk);
        move |path: &Path| {
            if is_all || matcher.is_match(walk.below(path)) {
                batch.seen += 1;
                batch.own.take(clock.modified(path), path);
            }
            true
        }
    });
    let total = total.load(Ordering::Relaxed);
    let mut found = Newest::all(std::mem::take(&mut *lock(&found)));
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

type Dated = (SystemTime, PathBuf);

fn newest_first((a, one): &Dated, (b, other): &Dated) -> std::cmp::Ordering {
    b.cmp(a).then_with(|| one.cmp(other))
}

/// The newest of many files. Those that are too old to be shown are not even remembered.
#[derive(Default)]
struct Newest {
    kept: Vec<Dated>,
    /// Nothing older than this is wanted.
    least: Option<SystemTime>,
}

impl Newest {
    fn take(&mut self, modified: SystemTime, path: &Path) {
        if self.least.is_some_and(|least| modified < least) {
            return;
        }
        self.kept.push((modified, path.to_path_buf()));
        // Put in order now and then, when as many again have come.
        if self.kept.len() >= 2 * FILES_MAX {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > FILES_MAX {
            self.kept.select_nth_unstable_by(FILES_MAX - 1, newest_first);
            self.kept.truncate(FILES_MAX);
            self.least = self.kept.iter().map(|(modified, _)| *modified).min();
        }
    }

    /// The newest of all.
    fn all(several: Vec<Self>) -> Vec<Dated> {
        let kept = several.into_iter().flat_map(|one| one.kept).collect();
        let mut newest = Self { kept, least: None };
        newest.cut();
        newest.kept
    }
}

/// What one thread found, put to the rest when it is done.
struct Batch<'a> {
    all: &'a Mutex<Vec<Newest>>,
    own: Newest,
    seen: usize,
    total: &'a AtomicUsize,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.total.fetch_add(self.seen, Ordering::Relaxed);
        lock(self.all).push(std::mem::take(&mut self.own));
    }
}
