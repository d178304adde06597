//! The list of sessions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::server::query::QueryParameters;
use crate::viewer::{ListedSessionRow, ViewFailure, Viewer};

pub(super) fn answer_list(viewer: &Viewer, query: &QueryParameters) -> Result<Value, ViewFailure> {
    let listing = viewer.sessions.list()?;
    let filter = RowFilter::new(query);
    let mut matching: Vec<&ListedSessionRow> =
        listing.rows.iter().map(|(row, _)| row).filter(|row| filter.accepts(row)).collect();
    // Sessions that wait for the user come first.
    matching.sort_by_key(|row| row.state != "waiting");
    let from: usize = query.number("from")?.unwrap_or(0);
    let limit: usize = query.number("limit")?.unwrap_or(ROWS_DEFAULT);
    let rows: Vec<Value> =
        matching.iter().skip(from).take(limit.min(ROWS_MAX)).map(|row| row_to_json(row)).collect();
    let mut projects = BTreeSet::new();
    let mut models = BTreeSet::new();
    let mut tools = BTreeSet::new();
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    for (row, _) in &listing.rows {
        projects.extend(row.summary.project.clone());
        *states.entry(row.state).or_default() += 1;
        if let Some(facts) = &row.facts {
            models.extend(facts.models.iter().cloned());
            tools.extend(facts.tools.iter().cloned());
        }
    }
    Ok(json!({
        "total": matching.len(),
        "from": from,
        "sessions": rows,
        "version": listing.version,
        "facets": {"projects": projects, "models": models, "tools": tools, "states": states},
    }))
}

/// Filters of the list.
pub(super) struct RowFilter {
    words: Option<String>,
    states: Vec<String>,
    outcomes: Vec<String>,
    project: Option<String>,
    model: Option<String>,
    tool: Option<String>,
    file: Option<String>,
}

impl RowFilter {
    fn new(query: &QueryParameters) -> Self {
        let lower = |name| query.text(name).map(str::to_lowercase);
        Self {
            words: lower("q"),
            states: query.list("state"),
            outcomes: query.list("outcome"),
            project: lower("project"),
            model: lower("model"),
            tool: lower("tool"),
            file: lower("file"),
        }
    }

    /// Keeps the filters for sessions; the others of a search apply to places within them.
    pub(super) fn for_search(query: &QueryParameters) -> Self {
        Self { words: None, outcomes: Vec::new(), tool: None, file: None, ..Self::new(query) }
    }

    pub(super) fn accepts(&self, row: &ListedSessionRow) -> bool {
        let summary = &row.summary;
        let has = |wanted: &Option<String>, text: &str| {
            wanted.as_ref().is_none_or(|wanted| text.to_lowercase().contains(wanted))
        };
        let project = summary.project.as_deref().unwrap_or_default();
        let title = summary.title.as_deref().unwrap_or_default();
        let about = format!("{title}\n{}\n{project}\n{}", summary.prompt, summary.id);
        let is_equal = |wanted: &[String], text: &str| {
            wanted.is_empty() || wanted.iter().any(|wanted| wanted == text)
        };
        let known = row.facts.as_deref();
        has(&self.words, &about)
            && has(&self.project, project)
            && is_equal(&self.states, row.state)
            && is_equal(&self.outcomes, row.outcome.unwrap_or_default())
            && contains_any(&self.model, known.iter().flat_map(|facts| &facts.models))
            && contains_any(&self.tool, known.iter().flat_map(|facts| &facts.tools))
            && contains_any(&self.file, known.iter().flat_map(|facts| &facts.files))
    }
}

fn contains_any<'a>(wanted: &Option<String>, mut texts: impl Iterator<Item = &'a String>) -> bool {
    wanted
        .as_ref()
        .is_none_or(|wanted| texts.any(|text| text.to_lowercase().contains(wanted.as_str())))
}

pub(super) fn row_to_json(row: &ListedSessionRow) -> Value {
    let ListedSessionRow { summary, state, outcome, facts, agents } = row;
    let facts = facts.as_deref();
    let files = facts.map(|facts| facts.files.iter().take(FILES_SHOWN).collect::<Vec<_>>());
    json!({
        "id": summary.id,
        "title": summary.title,
        "prompt": summary.prompt,
        "project": summary.project,
        "branch": summary.branch,
        "parent": summary.parent,
        "state": state,
        "outcome": outcome,
        "created": summary.created,
        "updated": summary.updated,
        "messages": summary.messages,
        "cost_micro_usd": summary.cost.0,
        "bytes": summary.size,
        "model": facts.and_then(|facts| facts.models.first()),
        "models": facts.map(|facts| &facts.models),
        "input_tokens": facts.map(|facts| facts.usage.input_total().0),
        "cached_tokens": facts.map(|facts| facts.usage.cache_read.0),
        "output_tokens": facts.map(|facts| facts.usage.output.0),
        "tools": facts.map(|facts| &facts.tools),
        "files": files,
        "errors": facts.map(|facts| facts.errors),
        "agents": agents,
    })
}

const ROWS_DEFAULT: usize = 200;
const ROWS_MAX: usize = 500;
const FILES_SHOWN: usize = 50;
