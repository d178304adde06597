//! Finds tools that are not offered from the start, and offers them from the next turn on.
//!
//! The tools it can find were fixed when it was made, except those of a source, which are looked up
//! when they are searched for; the registry makes a new one whenever the others change.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{ContextUpdate, Inspection, Json, ToolOutcome, ToolSpec};

use crate::action::{Action, Doing, Done};
use crate::input::{self, Wrong};
use crate::source::Outlet;
use crate::tool::Job;

/// The tool.
pub(crate) struct ToolSearch {
    specs: Vec<ToolSpec>,
    source: Option<Outlet>,
    description: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Words of what is needed, or `select:` and names with commas between.
    query: String,
    /// How many to offer at most: 5 unless given.
    #[serde(default, deserialize_with = "input::whole_number")]
    max_results: Option<u64>,
}

/// The name others know it by.
pub(crate) const NAME: &str = "ToolSearch";
const RESULTS_DEFAULT: u64 = 5;
const RESULTS_MAX: u64 = 20;
/// Names listed in the description; more are only found by words.
const NAMED_MAX: usize = 60;
const RESULT_BYTES_MAX: usize = 20_000;

impl ToolSearch {
    /// One that finds these.
    pub(crate) fn new(specs: Vec<ToolSpec>, source: Option<Outlet>) -> Self {
        let names = listed(&specs);
        let mut description =
            "Offers more tools, which can be called from the next turn on.".to_owned();
        if !specs.is_empty() {
            description = format!("{description} There are: {names}.");
        }
        if let Some(source) = &source {
            description = format!("{description} {}", source.words());
        }
        Self { specs, source, description }
    }

    /// All that can be found now.
    async fn all(&self) -> Vec<ToolSpec> {
        let mut all = self.specs.clone();
        if let Some(source) = &self.source {
            source.settled().await;
            all.extend(source.tools().map(|tool| tool.spec().clone()));
        }
        all
    }

    fn found<'a>(input: &Input, specs: &'a [ToolSpec]) -> Vec<&'a ToolSpec> {
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
            .map(|spec| (score(spec, &words), spec))
            .filter(|(score, _)| *score > 0)
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().take(most).map(|(_, spec)| spec).collect()
    }
}

/// A word in the name counts for more than one in the description.
fn score(spec: &ToolSpec, words: &[String]) -> usize {
    let name = spec.name.as_str().to_lowercase();
    let description = spec.description.to_lowercase();
    let one = |word: &String| {
        3 * usize::from(name.contains(word.as_str()))
            + usize::from(description.contains(word.as_str()))
    };
    words.iter().map(one).sum()
}

impl Action for ToolSearch {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        (NAME, &self.description, RESULT_BYTES_MAX)
    }

    fn check(&self, input: &Input) -> Result<Inspection, Wrong> {
        match input.query.trim().is_empty() {
            true => Err(Wrong::field("query", "empty")),
            false => Ok(Inspection::SHARED_READ),
        }
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(async move {
            let all = tokio::select! {
                biased;
                () = job.cancel.cancelled() => return Err("Interrupted before it ended.".to_owned()),
                all = self.all() => all,
            };
            offer(&input, &all, &job)
        })
    }
}

fn offer(input: &Input, specs: &[ToolSpec], job: &Job) -> Done {
    let found = ToolSearch::found(input, specs);
    if found.is_empty() {
        return Err(format!("No tool matches. There are: {}.", listed(specs)));
    }
    let names: Vec<&str> = found.iter().map(|spec| spec.name.as_str()).collect();
    // What is offered already must not be offered twice: a provider refuses that.
    let tools: Vec<ToolSpec> = found
        .iter()
        .filter(|spec| job.surroundings.note_offered(&spec.name))
        .map(|spec| (*spec).clone())
        .collect();
    let structured = json!({"matches": names, "total": specs.len()});
    let lines: Vec<String> =
        found.iter().map(|spec| format!("{}: {}", spec.name, spec.description)).collect();
    Ok(ToolOutcome {
        update: (!tools.is_empty()).then(|| ContextUpdate { tools, ..ContextUpdate::default() }),
        structured: Some(Json::from_checked(&structured.to_string())),
        ..ToolOutcome::text(format!("From the next turn on you can call:\n{}", lines.join("\n")))
    })
}

/// Their names, the first of them.
fn listed(specs: &[ToolSpec]) -> String {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).take(NAMED_MAX).collect();
    let more = if specs.len() > NAMED_MAX { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}
