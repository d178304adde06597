//! `windlass cost`: what sessions cost: in cents for people, in whole millionths of a dollar as JSON.
//! Nothing is estimated: these are the rows that were booked when the requests were paid for.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_journal::{CostReport, CostTotals, cost_report};

use crate::directories::working_directory;
use crate::session::session_lookup::find_session_here;
use crate::session::{self, journal_error};
use windlass_host::command_error::CommandError;
use windlass_host::display::human_format::{format_count, format_money};
use windlass_host::display::text_table::{ColumnAlignment, render_table};
use windlass_host::environment::EnvLookup;

#[derive(Clone, Debug, Default)]
pub struct CostOptions {
    pub session: Option<String>,
    pub all: bool,
    pub by: CostGrouping,
    pub json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CostGrouping {
    #[default]
    Model,
    /// In UTC.
    Day,
    Project,
}

pub fn run(options: &CostOptions, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let mut unread = Vec::new();
    let account = match &options.session {
        Some(wanted) => {
            let listed = find_session_here(Some(wanted), lookup)?;
            load_session_account(&listed.path, listed.summary.project.as_deref())?
        }
        None => {
            let catalogue = session::open_catalogue(lookup)?;
            let cwd = working_directory()?;
            let project = (!options.all).then_some(cwd.as_path());
            let all = cost_report::load_all_costs(&catalogue, project)
                .map_err(|error| journal_error(&error))?;
            unread = all.1;
            all.0
        }
    };
    if options.json {
        let unread: Vec<String> = unread.iter().map(|path| path.display().to_string()).collect();
        let account = account_to_json(&account);
        return Ok(format!("{}\n", json!({"account": account, "unread": unread})));
    }
    let mut text = render_account_table(&account, options.by);
    for path in unread {
        text.push_str(&format!("Not counted, not readable: {}\n", path.display()));
    }
    Ok(text)
}

pub fn load_session_account(
    journal: &std::path::Path,
    project: Option<&str>,
) -> Result<CostReport, CommandError> {
    let rows = cost_report::load_requests(journal).map_err(|error| journal_error(&error))?;
    Ok(CostReport::from_requests(&rows, project))
}

/// The cost of one session as text, with a bar for each request, and as JSON.
pub(crate) fn render_session_cost(
    journal: &std::path::Path,
) -> Result<(String, Value), CommandError> {
    let account = load_session_account(journal, None)?;
    Ok((
        format!(
            "{}{}",
            render_account_table(&account, CostGrouping::Model),
            render_request_costs(journal)?
        ),
        account_to_json(&account),
    ))
}

/// The same for a screen, as wide as it may be and as narrow as it can be.
pub fn render_session_cost_for_screen(
    journal: &std::path::Path,
) -> Result<[String; 2], CommandError> {
    let account = load_session_account(journal, None)?;
    if account.all.requests == 0 {
        let table = render_account_table(&account, CostGrouping::Model);
        return Ok([table.clone(), table]);
    }
    let all = ("all".to_owned(), account.all);
    let narrow = account.models.iter().map(|(name, totals)| (name.clone(), *totals)).chain([all]);
    let narrow: String = narrow
        .map(|(name, totals)| {
            let [name, requests, input, _, read, output, cost] = build_account_row(&name, &totals);
            let noun = if totals.requests == 1 { "request" } else { "requests" };
            format!(
                "{name}\n  {requests} {noun}  {cost}\n  {input} in, {read} cached, {output} out\n"
            )
        })
        .collect();
    let request_costs = render_request_costs(journal)?;
    Ok([render_account_table(&account, CostGrouping::Model), narrow]
        .map(|table| format!("{table}{request_costs}")))
}

fn render_request_costs(journal: &std::path::Path) -> Result<String, CommandError> {
    let rows = cost_report::load_requests(journal).map_err(|error| journal_error(&error))?;
    let costs: Vec<u64> = rows.iter().map(|request| request.row.cost.0).collect();
    Ok(match costs.len() {
        0 | 1 => String::new(),
        _ => format!("\neach request  {}\n", render_sparkline(&costs)),
    })
}

/// Numbers as bars of eight heights, the newest last.
fn render_sparkline(numbers: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = numbers.iter().skip(numbers.len().saturating_sub(SPARKLINE_BARS_MAX));
    let most = shown.clone().copied().max().unwrap_or(0).max(1);
    let bar = |number: &u64| {
        let height = usize::try_from(number.saturating_mul(7) / most).unwrap_or(0);
        BARS.get(height).copied().unwrap_or('█')
    };
    shown.map(bar).collect()
}

const NO_REQUESTS: &str = "No requests yet.\n";
const SPARKLINE_BARS_MAX: usize = 24;

pub(crate) fn render_account_table(account: &CostReport, by: CostGrouping) -> String {
    if account.all.requests == 0 && account.all.kept.0 == 0 {
        return NO_REQUESTS.to_owned();
    }
    let (name, parts) = match by {
        CostGrouping::Model => ("model", &account.models),
        CostGrouping::Day => ("day", &account.days),
        CostGrouping::Project => ("directory", &account.projects),
    };
    let head = [name, "requests", "input", "cache write", "cache read", "output", "cost"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(parts.iter().map(|(name, totals)| build_account_row(name, totals)));
    rows.push(build_account_row("all", &account.all));
    let mut sides = [ColumnAlignment::Right; 7];
    sides[0] = ColumnAlignment::Left;
    let mut text = render_table(sides, &rows);
    if account.all.kept.0 > 0 {
        text.push_str(&format!(
            "Also reserved, for requests whose process died before their cost was known: {}\n",
            format_money(account.all.kept)
        ));
    }
    text
}

pub(crate) fn account_to_json(account: &CostReport) -> Value {
    let parts = |parts: &BTreeMap<String, CostTotals>| -> Value {
        parts.iter().map(|(name, totals)| (name.clone(), totals_to_json(totals))).collect()
    };
    json!({
        "all": totals_to_json(&account.all),
        "days": parts(&account.days),
        "models": parts(&account.models),
        "projects": parts(&account.projects),
    })
}

pub fn totals_to_json(totals: &CostTotals) -> Value {
    json!({
        "requests": totals.requests,
        "input_tokens": totals.usage.input.0,
        "output_tokens": totals.usage.output.0,
        "cache_creation_input_tokens": totals.usage.cache_write.0,
        "cache_read_input_tokens": totals.usage.cache_read.0,
        "cache_misses": totals.cache_misses,
        "cost_micro_usd": totals.cost.0,
        "set_aside_micro_usd": totals.kept.0,
    })
}

fn build_account_row(name: &str, totals: &CostTotals) -> [String; 7] {
    let usage = totals.usage;
    [
        windlass_host::command_error::to_single_line(name),
        format_count(totals.requests),
        format_count(usage.input.0),
        format_count(usage.cache_write.0),
        format_count(usage.cache_read.0),
        format_count(usage.output.0),
        format_money(totals.cost),
    ]
}
