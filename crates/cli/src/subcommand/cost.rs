//! `windlass cost`: what sessions cost, in whole millionths of a dollar. Nothing is estimated: these
//! are the rows that were booked when the requests were paid for.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_journal::{Account, Totals};

use super::sessions::{here, one};
use crate::args::{CostArgs, Division};
use crate::environment::Lookup;
use crate::front::table::{Side, table};
use crate::front::words::count;
use crate::refusal::Refusal;
use crate::session::{self, account, unusable};

/// What to print.
pub(crate) fn run(args: &CostArgs, lookup: &impl Lookup) -> Result<String, Refusal> {
    let mut unread = Vec::new();
    let account = match &args.session {
        Some(wanted) => {
            let listed = one(Some(wanted), lookup)?;
            of_one(&listed.path, listed.card.project.as_deref())?
        }
        None => {
            let (catalogue, cwd) = (session::catalogue(lookup)?, here()?);
            let project = (!args.all).then_some(cwd.as_path());
            let all = account::of_all(&catalogue, project).map_err(|error| unusable(&error))?;
            unread = all.1;
            all.0
        }
    };
    if args.json {
        let unread: Vec<String> = unread.iter().map(|path| path.display().to_string()).collect();
        let account = object(&account);
        return Ok(format!("{}\n", json!({"account": account, "unread": unread})));
    }
    let mut text = drawn(&account, args.by);
    for path in unread {
        text.push_str(&format!("Not counted, because it cannot be read: {}\n", path.display()));
    }
    Ok(text)
}

/// The account of one session.
pub(crate) fn of_one(journal: &std::path::Path, project: Option<&str>) -> Result<Account, Refusal> {
    let rows = account::rows(journal).map_err(|error| unusable(&error))?;
    let mut account = Account::default();
    account::add(&mut account, &rows, project);
    Ok(account)
}

/// The account of one session for people, each request as a bar, and for programs.
pub(crate) fn of_session(journal: &std::path::Path) -> Result<(String, Value), Refusal> {
    let account = of_one(journal, None)?;
    Ok((format!("{}{}", drawn(&account, Division::Model), sparks(journal)?), object(&account)))
}

/// The same for a screen, as wide as it may be and as narrow as it can be.
pub(crate) fn for_screen(journal: &std::path::Path) -> Result<[String; 2], Refusal> {
    let account = of_one(journal, None)?;
    let all = ("all".to_owned(), account.all);
    let narrow = account.models.iter().map(|(name, totals)| (name.clone(), *totals)).chain([all]);
    let narrow: String = narrow
        .map(|(name, totals)| {
            let [name, requests, input, _, read, output, cost] = row(&name, &totals);
            format!(
                "{name}\n  {requests} requests  {cost}\n  {input} in, {read} cached, {output} out\n"
            )
        })
        .collect();
    let sparks = sparks(journal)?;
    Ok([drawn(&account, Division::Model), narrow].map(|table| format!("{table}{sparks}")))
}

/// What each request cost, if there were several.
fn sparks(journal: &std::path::Path) -> Result<String, Refusal> {
    let rows = account::rows(journal).map_err(|error| unusable(&error))?;
    let costs: Vec<u64> = rows.iter().map(|booked| booked.row.cost.0).collect();
    Ok(match costs.len() {
        0 | 1 => String::new(),
        _ => format!("\neach request  {}\n", sparkline(&costs)),
    })
}

/// Numbers as bars of eight heights, the newest last.
fn sparkline(numbers: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = numbers.iter().skip(numbers.len().saturating_sub(SPARKS_MAX));
    let most = shown.clone().copied().max().unwrap_or(0).max(1);
    let bar = |number: &u64| {
        let height = usize::try_from(number.saturating_mul(7) / most).unwrap_or(0);
        BARS.get(height).copied().unwrap_or('█')
    };
    shown.map(bar).collect()
}

const SPARKS_MAX: usize = 24;

/// The account as a table.
pub(crate) fn drawn(account: &Account, by: Division) -> String {
    let (name, parts) = match by {
        Division::Model => ("model", &account.models),
        Division::Day => ("day", &account.days),
        Division::Project => ("directory", &account.projects),
    };
    let head = [name, "requests", "input", "cache write", "cache read", "output", "cost"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(parts.iter().map(|(name, totals)| row(name, totals)));
    rows.push(row("all", &account.all));
    let mut sides = [Side::Right; 7];
    sides[0] = Side::Left;
    let mut text = table(sides, &rows);
    if account.all.kept.0 > 0 {
        text.push_str(&format!(
            "Set aside besides, for requests whose process died before their bill was known: {}\n",
            account.all.kept
        ));
    }
    text
}

/// The account for a program.
pub(crate) fn object(account: &Account) -> Value {
    let parts = |parts: &BTreeMap<String, Totals>| -> Value {
        parts.iter().map(|(name, totals)| (name.clone(), figures(totals))).collect()
    };
    json!({
        "all": figures(&account.all),
        "days": parts(&account.days),
        "models": parts(&account.models),
        "projects": parts(&account.projects),
    })
}

/// Sums for a program.
pub(crate) fn figures(totals: &Totals) -> Value {
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

fn row(name: &str, totals: &Totals) -> [String; 7] {
    let usage = totals.usage;
    [
        crate::refusal::one_line(name),
        count(totals.requests),
        count(usage.input.0),
        count(usage.cache_write.0),
        count(usage.cache_read.0),
        count(usage.output.0),
        totals.cost.to_string(),
    ]
}
