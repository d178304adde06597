//! `windlass stats`: how well the tokens and cache reads of a session's requests were predicted, and why the
//! cache gave less than expected. Errors are integers in hundredths of a percent.

use serde_json::{Value, json};
use windlass_journal::{BilledRequest, CostReport, cost_report};
use windlass_vocabulary::format_timestamp;

use crate::args::SingleSessionArgs;
use crate::words;
use windlass_assembly::report::cost::totals_to_json;
use windlass_assembly::session::journal_error;
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_assembly::session::snapshots::{open_change_log, open_session_snapshots};
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::{format_count, format_money};
use windlass_host::environment::EnvLookup;

pub(crate) fn run(
    args: &SingleSessionArgs,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let listed = find_session_here(args.session.as_deref(), lookup)?;
    let rows = cost_report::load_requests(&listed.path).map_err(|error| journal_error(&error))?;
    let stats = SessionStats::from_rows(&rows);
    let snapshots = open_session_snapshots(&open_change_log(&listed.path)?, lookup);
    let (bytes, contents) = match snapshots.map(|snapshots| snapshots.measure()) {
        Some(measured) => measured.map_err(CommandError::failure)?,
        None => (0, 0),
    };
    if args.json {
        let mut object = stats.to_json(&listed.summary.id);
        if let Value::Object(fields) = &mut object {
            let held = json!({"bytes": bytes, "contents": contents});
            fields.insert("snapshots".to_owned(), held);
        }
        return Ok(format!("{object}\n"));
    }
    let mut text = stats.render(&listed.summary.id);
    let held =
        words::describe_snapshots(&format_count(bytes.div_ceil(1_024)), &format_count(contents));
    text.push_str(&render_row(words::STATS_SNAPSHOTS, &held));
    Ok(text)
}

struct SessionStats<'a> {
    totals: CostReport,
    /// Median error in the first and in the last half, in hundredths of a percent.
    median_errors: [Option<u64>; 2],
    /// In tokens.
    predicted_cache_reads: u64,
    billed_cache_reads: u64,
    cache_misses: Vec<&'a BilledRequest>,
}

impl<'a> SessionStats<'a> {
    fn from_rows(rows: &'a [BilledRequest]) -> Self {
        let totals = CostReport::from_requests(rows, None);
        let errors: Vec<u64> = rows.iter().filter_map(estimate_error).collect();
        let (first, last) = errors.split_at(errors.len() / 2);
        let sum_tokens = |tokens: fn(&BilledRequest) -> u64| {
            rows.iter().map(tokens).fold(0, u64::saturating_add)
        };
        let cache_misses = rows.iter().filter(|request| request.row.cache_miss.is_some()).collect();
        Self {
            totals,
            median_errors: [median(first), median(last)],
            predicted_cache_reads: sum_tokens(|request| request.row.predicted_read.0),
            billed_cache_reads: sum_tokens(|request| request.row.billed.cache_read.0),
            cache_misses,
        }
    }

    fn render(&self, id: &str) -> String {
        let all = &self.totals.all;
        let [first, last] =
            self.median_errors.map(|half| half.map_or("-".to_owned(), format_percent));
        let predicted = format_count(self.predicted_cache_reads);
        let read = format_count(self.billed_cache_reads);
        let tokens = |count: u64| words::count_tokens(&format_count(count));
        let values = [
            format_count(all.requests),
            tokens(all.usage.input.0),
            tokens(all.usage.cache_write.0),
            words::describe_cache_reads(&read, &predicted),
            tokens(all.usage.output.0),
            format_money(all.cost),
            words::describe_median_errors(&first, &last),
            format_count(all.cache_misses),
        ];
        let mut text = words::title_session(&id);
        for (name, value) in words::STATS_ROWS.iter().zip(values) {
            text.push_str(&render_row(name, &value));
        }
        for request in self.cache_misses.iter().take(MISSES_SHOWN) {
            let row = &request.row;
            text.push_str(&words::describe_cache_miss(
                &format_timestamp(request.at),
                &row.model,
                &format_count(row.billed.cache_read.0),
                &format_count(row.predicted_read.0),
                &to_single_line(row.cache_miss.as_deref().unwrap_or_default()),
            ));
        }
        if self.cache_misses.len() > MISSES_SHOWN {
            text.push_str(words::STATS_MORE);
        }
        text
    }

    fn to_json(&self, id: &str) -> Value {
        let miss = |request: &&BilledRequest| {
            json!({
                "at": format_timestamp(request.at),
                "model": request.row.model.as_str(),
                "foreseen": request.row.predicted_read.0,
                "read": request.row.billed.cache_read.0,
                "why": request.row.cache_miss,
            })
        };
        let [first, last] = self.median_errors;
        json!({
            "session_id": id,
            "totals": totals_to_json(&self.totals.all),
            "input_error_basis_points": {"first_half": first, "last_half": last},
            "cache_read_foreseen": self.predicted_cache_reads,
            "cache_read_billed": self.billed_cache_reads,
            "cache_misses": self.cache_misses.iter().map(miss).collect::<Vec<_>>(),
        })
    }
}

fn render_row(name: &str, value: &str) -> String {
    format!("  {name:<16}{value}\n")
}

/// The error of the predicted input, in hundredths of a percent of the billed input.
fn estimate_error(request: &BilledRequest) -> Option<u64> {
    let billed = request.row.billed.input_total().0;
    let off = request.row.predicted.0.abs_diff(billed);
    off.saturating_mul(10_000).checked_div(billed)
}

fn median(errors: &[u64]) -> Option<u64> {
    let mut sorted = errors.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

fn format_percent(hundredths: u64) -> String {
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

const MISSES_SHOWN: usize = 20;
