//! Searches file contents with ripgrep's engine, in this process.
//!
//! `file_searcher` searches one file, `query` holds the pattern and filters, this file walks and
//! reports.

mod file_searcher;
mod query;
mod results;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_vocabulary::{ToolInspection, ToolOutcome};

use crate::builtin::file_walk::FileWalk;
use crate::input::{self, InputError};
use crate::tool::ToolCallContext;
use crate::typed_tool::{
    ToolDescription, TypedTool, TypedToolFuture, TypedToolResult, build_outcome, run_blocking,
};
use file_searcher::FileSearcher;
use query::GrepQuery;
use results::{FileMatches, GrepResults};

#[derive(Debug)]
pub(crate) struct GrepTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct GrepInput {
    /// A regular expression, as ripgrep takes it.
    pattern: String,
    /// The file or directory to search: the working directory unless given.
    #[serde(default)]
    path: Option<String>,
    /// Only files whose name matches, for example `*.rs` or `*.{ts,tsx}`.
    #[serde(default)]
    glob: Option<String>,
    /// Only files of a type, for example rust, py, js.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// What to show: the files (default), the lines, or how many lines per file.
    #[serde(default)]
    output_mode: GrepOutputMode,
    /// Lines to show after each match.
    #[serde(default, rename = "-A", deserialize_with = "input::whole_number")]
    after: Option<u64>,
    /// Lines to show before each match.
    #[serde(default, rename = "-B", deserialize_with = "input::whole_number")]
    before: Option<u64>,
    /// Lines to show on both sides of each match.
    #[serde(default, rename = "-C", deserialize_with = "input::whole_number")]
    around: Option<u64>,
    /// The same as -C.
    #[serde(default, deserialize_with = "input::whole_number")]
    context: Option<u64>,
    /// Show line numbers; true unless given.
    #[serde(default, rename = "-n")]
    numbers: Option<bool>,
    /// Ignore case.
    #[serde(default, rename = "-i", deserialize_with = "input::flag")]
    ignore_case: bool,
    /// Show only what matches, not its line.
    #[serde(default, rename = "-o", deserialize_with = "input::flag")]
    only_matching: bool,
    /// Let a match go over several lines.
    #[serde(default, deserialize_with = "input::flag")]
    multiline: bool,
    /// Show at most so many lines or files: 250 unless given, 0 for all.
    #[serde(default, deserialize_with = "input::whole_number")]
    head_limit: Option<u64>,
    /// Leave out so many lines or files first.
    #[serde(default, deserialize_with = "input::whole_number")]
    offset: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GrepOutputMode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

const DESCRIPTION: &str = "Searches the content of files with a regular expression. Shows the \
matching files, newest first, or with output_mode `content` the matching lines, or with `count` \
how many. Files that git ignores and binary files are left out.";

const LINES_DEFAULT: u64 = 250;
const RESULT_BYTES_MAX: usize = 100_000;

impl TypedTool for GrepTool {
    type Input = GrepInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription { name: "Grep", text: DESCRIPTION, result_bytes_max: RESULT_BYTES_MAX }
    }

    fn check_input(&self, input: &GrepInput) -> Result<ToolInspection, InputError> {
        GrepQuery::new(input).map(|_| ToolInspection::SHARED_READ)
    }

    fn run(&self, input: GrepInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(run_blocking(call, move |call| perform(&input, &call)))
    }
}

fn perform(input: &GrepInput, call: &ToolCallContext) -> TypedToolResult {
    let query = GrepQuery::new(input).map_err(|wrong| wrong.to_message("Grep"))?;
    let walk = FileWalk::new(call, input.path.as_deref())?;
    let found = GrepResults::default();
    walk.visit_files(|| {
        let mut search = FileSearcher::new(input, &query, &walk, &found);
        let query = &query;
        let walk = &walk;
        move |path: &Path| {
            if query.includes_file(walk.relative_path(path), path) {
                search.search_file(path);
            }
            !search.is_full()
        }
    });
    let (files, problems) = found.into_files_and_remark();
    let remarks: Vec<String> = walk.render_remark().into_iter().chain(problems).collect();
    Ok(GrepReport::new(input, files).into_outcome(&remarks))
}

struct GrepReport {
    mode: &'static str,
    shown_lines: Vec<String>,
    total: usize,
    file_count: usize,
    match_count: u64,
    limit: Option<u64>,
    offset: u64,
}

impl GrepReport {
    fn new(input: &GrepInput, mut hits: Vec<FileMatches>) -> Self {
        let limit = Some(input.head_limit.unwrap_or(LINES_DEFAULT)).filter(|limit| *limit > 0);
        let offset = input.offset.unwrap_or(0);
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let file_count = hits.len();
        let match_count = hits.iter().map(|file| file.match_count).sum();
        let total = match input.output_mode {
            GrepOutputMode::Content => results::count_lines(&hits, input),
            GrepOutputMode::FilesWithMatches | GrepOutputMode::Count => file_count,
        };
        // Each matching file has at least one line, so more files than lines are never shown.
        let shown = limit.map_or(usize::MAX, |limit| size(limit.saturating_add(offset)));
        let is_newest_first = input.output_mode == GrepOutputMode::FilesWithMatches;
        results::sort_and_truncate(&mut hits, shown, is_newest_first);
        let (mode, all): (_, Vec<String>) = match input.output_mode {
            GrepOutputMode::FilesWithMatches => {
                let name = |file: &FileMatches| file.path.to_string_lossy().into_owned();
                ("files_with_matches", hits.iter().map(name).collect())
            }
            GrepOutputMode::Count => {
                let line =
                    |file: &FileMatches| format!("{}:{}", file.path.display(), file.match_count);
                ("count", hits.iter().map(line).collect())
            }
            GrepOutputMode::Content => ("content", results::join_lines(hits, input)),
        };
        let page = all.into_iter().skip(size(offset)).take(limit.map_or(usize::MAX, size));
        Self { mode, shown_lines: page.collect(), total, file_count, match_count, limit, offset }
    }

    fn into_outcome(self, remarks: &[String]) -> ToolOutcome {
        let is_files = self.mode == "files_with_matches";
        let content = self.shown_lines.join("\n");
        let end = self.offset + self.shown_lines.len() as u64;
        let is_cut = end < self.total as u64;
        let mut structured = json!({
            "mode": self.mode,
            "numFiles": self.file_count,
            "filenames": if is_files { json!(self.shown_lines) } else { json!([]) },
        });
        let mut add = |name: &str, value: Value| {
            if let Value::Object(fields) = &mut structured {
                fields.insert(name.to_owned(), value);
            }
        };
        if !is_files {
            add("content", json!(content));
        }
        if self.mode == "content" {
            add("numLines", json!(self.shown_lines.len()));
        }
        if self.mode == "count" {
            add("numMatches", json!(self.match_count));
        }
        if let Some(limit) = self.limit.filter(|_| is_cut) {
            add("appliedLimit", json!(limit));
        }
        if self.offset > 0 {
            add("appliedOffset", json!(self.offset));
        }
        let mut text = if self.total == 0 { "No matches found.".to_owned() } else { content };
        if is_cut {
            let total = self.total;
            text.push_str(&format!(
                "\n[{} of {total} shown; the next is offset {end}]",
                self.shown_lines.len()
            ));
        }
        for remark in remarks {
            text.push('\n');
            text.push_str(remark);
        }
        build_outcome(text, &structured)
    }
}
