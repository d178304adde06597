//! Finds deferred tools, and offers them from the next turn on.
//!
//! The deferred tools are fixed when this tool is created, and the registry creates a new one when
//! they change. Tools of a source are looked up at each search.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{ContextUpdate, Json, ToolInspection, ToolOutcome, ToolSpec};

use crate::input::{self, InputError};
use crate::tool::ToolCallContext;
use crate::tool_source::RestrictedToolSource;
use crate::typed_tool::{ToolDescription, TypedTool, TypedToolFuture, TypedToolResult};

pub(crate) struct ToolSearchTool {
    specs: Vec<ToolSpec>,
    source: Option<RestrictedToolSource>,
    description: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ToolSearchInput {
    /// Words of what is needed, or `select:` and names with commas between.
    query: String,
    /// How many to offer at most: 5 unless given.
    #[serde(default, deserialize_with = "input::whole_number")]
    max_results: Option<u64>,
}

pub(crate) const TOOL_SEARCH_NAME: &str = "ToolSearch";
const RESULTS_DEFAULT: u64 = 5;
const RESULTS_MAX: u64 = 20;
/// Limit on the names in the description; other tools are found only by words.
const LISTED_NAMES_MAX: usize = 60;
const RESULT_BYTES_MAX: usize = 20_000;

impl ToolSearchTool {
    pub(crate) fn new(specs: Vec<ToolSpec>, source: Option<RestrictedToolSource>) -> Self {
        let names = join_names(&specs);
        let mut description =
            "Offers more tools, which can be called from the next turn on.".to_owned();
        if !specs.is_empty() {
            description = format!("{description} There are: {names}.");
        }
        if let Some(source) = &source {
            description = format!("{description} {}", source.describe());
        }
        Self { specs, source, description }
    }

    async fn list_specs(&self) -> Vec<ToolSpec> {
        let mut all = self.specs.clone();
        if let Some(source) = &self.source {
            source.wait_until_ready().await;
            all.extend(source.tools().map(|tool| tool.spec().clone()));
        }
        all
    }

    fn find_matching<'a>(input: &ToolSearchInput, specs: &'a [ToolSpec]) -> Vec<&'a ToolSpec> {
        let most = input.max_results.unwrap_or(RESULTS_DEFAULT).clamp(1, RESULTS_MAX);
        let most = usize::try_from(most).unwrap_or(1);
        if let Some(names) = input.query.trim().strip_prefix("select:") {
            let wanted = names.split(',').map(str::trim);
            let find = |name: &str| {
                specs.iter().find(|spec| spec.name.as_str().eq_ignore_ascii_case(name))
            };
            return wanted.filter_map(find).take(most).collect();
        }
        let words: Vec<String> =
            input.query.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let mut found: Vec<(usize, &ToolSpec)> = specs
            .iter()
            .map(|spec| (score_spec(spec, &words), spec))
            .filter(|(score, _)| *score > 0)
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().take(most).map(|(_, spec)| spec).collect()
    }
}

/// A word in the name counts more than one in the description.
fn score_spec(spec: &ToolSpec, words: &[String]) -> usize {
    let name = spec.name.as_str().to_lowercase();
    let description = spec.description.to_lowercase();
    let one = |word: &String| {
        3 * usize::from(name.contains(word.as_str()))
            + usize::from(description.contains(word.as_str()))
    };
    words.iter().map(one).sum()
}

impl TypedTool for ToolSearchTool {
    type Input = ToolSearchInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: TOOL_SEARCH_NAME,
            text: &self.description,
            result_bytes_max: RESULT_BYTES_MAX,
        }
    }

    fn check_input(&self, input: &ToolSearchInput) -> Result<ToolInspection, InputError> {
        match input.query.trim().is_empty() {
            true => Err(InputError::field("query", "empty")),
            false => Ok(ToolInspection::SHARED_READ),
        }
    }

    fn run(&self, input: ToolSearchInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move {
            let all = tokio::select! {
                biased;
                () = call.cancel.cancelled() => return Err("Interrupted before it ended.".to_owned()),
                all = self.list_specs() => all,
            };
            announce_tools(&input, &all, self.source.as_ref(), &call)
        })
    }
}

fn announce_tools(
    input: &ToolSearchInput,
    specs: &[ToolSpec],
    source: Option<&RestrictedToolSource>,
    call: &ToolCallContext,
) -> TypedToolResult {
    let found = ToolSearchTool::find_matching(input, specs);
    if found.is_empty() {
        return Err(format!("No tool matches. There are: {}.", join_names(specs)));
    }
    let names: Vec<&str> = found.iter().map(|spec| spec.name.as_str()).collect();
    // A tool that is already offered must not be offered twice: providers reject that.
    let tools: Vec<ToolSpec> = found
        .iter()
        .filter(|spec| call.tool_context.model.mark_tool_announced(&spec.name))
        .map(|spec| (*spec).clone())
        .collect();
    let structured = json!({"matches": names, "total": specs.len()});
    let mut lines: Vec<String> =
        found.iter().map(|spec| format!("{}: {}", spec.name, spec.description)).collect();
    lines.extend(source.map(|source| source.notes_for(&names)).unwrap_or_default());
    Ok(ToolOutcome {
        update: (!tools.is_empty()).then(|| ContextUpdate { tools, ..ContextUpdate::default() }),
        structured: Some(Json::from_checked(&structured.to_string())),
        ..ToolOutcome::from_text(format!(
            "From the next turn on you can call:\n{}",
            lines.join("\n")
        ))
    })
}

fn join_names(specs: &[ToolSpec]) -> String {
    let names: Vec<&str> =
        specs.iter().map(|spec| spec.name.as_str()).take(LISTED_NAMES_MAX).collect();
    let more = if specs.len() > LISTED_NAMES_MAX { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}
