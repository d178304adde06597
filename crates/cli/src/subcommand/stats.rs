//! `windlass stats`: how well a session's requests were foreseen: tokens, cache, and why the cache
//! gave less than expected. Integers alone; an error is told in hundredths of a percent.

use serde_json::{Value, json};
use windlass_journal::clock::moment;
use windlass_journal::{Account, Booked};

use super::cost::figures;
use super::sessions::one;
use crate::args::OneArgs;
use crate::environment::Lookup;
use crate::front::words::count;
use crate::refusal::{Refusal, one_line};
use crate::session::{account, unusable};

/// What to print.
pub(crate) fn run(args: &OneArgs, lookup: &impl Lookup) -> Result<String, Refusal> {
    let listed = one(args.session.as_deref(), lookup)?;
    let rows = account::rows(&listed.path).map_err(|error| unusable(&error))?;
    let stats = Stats::of(&rows);
    Ok(match args.json {
        true => format!("{}\n", stats.object(&listed.card.id)),
        false => stats.in_words(&listed.card.id),
    })
}

/// The figures.
struct Stats<'a> {
    account: Account,
    /// Median error in the first and in the last half, in hundredths of a percent.
    halves: [Option<u64>; 2],
    /// Tokens the cache was expected to give, and gave.
    reads: (u64, u64),
    misses: Vec<&'a Booked>,
}

impl<'a> Stats<'a> {
    fn of(rows: &'a [Booked]) -> Self {
        let mut account = Account::default();
        account::add(&mut account, rows, None);
        let errors: Vec<u64> = rows.iter().filter_map(error).collect();
        let (first, last) = errors.split_at(errors.len() / 2);
        let reads = rows.iter().fold((0_u64, 0_u64), |(foreseen, given), booked| {
            let row = &booked.row;
            (
                foreseen.saturating_add(row.predicted_read.0),
                given.saturating_add(row.billed.cache_read.0),
            )
        });
        let misses = rows.iter().filter(|booked| booked.row.cache_miss.is_some()).collect();
        Self { account, halves: [median(first), median(last)], reads, misses }
    }

    fn in_words(&self, id: &str) -> String {
        let all = &self.account.all;
        let [first, last] = self.halves.map(|half| half.map_or("-".to_owned(), percent));
        let (foreseen, given) = self.reads;
        let rows = [
            ("requests", count(all.requests)),
            ("fresh input", format!("{} tokens", count(all.usage.input.0))),
            ("cache written", format!("{} tokens", count(all.usage.cache_write.0))),
            ("cache read", format!("{} tokens, {} foreseen", count(given), count(foreseen))),
            ("output", format!("{} tokens", count(all.usage.output.0))),
            ("cost", all.cost.to_string()),
            (
                "input foreseen",
                format!("median error {first} in the first half, {last} in the last"),
            ),
            ("cache misses", count(all.cache_misses)),
        ];
        let mut text = format!("Session {id}\n");
        for (name, value) in rows {
            text.push_str(&format!("  {name:<16}{value}\n"));
        }
        for booked in self.misses.iter().take(MISSES_SHOWN) {
            let row = &booked.row;
            text.push_str(&format!(
                "    {} {}: {} of {} tokens read: {}\n",
                moment(booked.at),
                row.model,
                count(row.billed.cache_read.0),
                count(row.predicted_read.0),
                one_line(row.cache_miss.as_deref().unwrap_or_default())
            ));
        }
        if self.misses.len() > MISSES_SHOWN {
            text.push_str("    more are in --json\n");
        }
        text
    }

    fn object(&self, id: &str) -> Value {
        let miss = |booked: &&Booked| {
            json!({
                "at": moment(booked.at),
                "model": booked.row.model.as_str(),
                "foreseen": booked.row.predicted_read.0,
                "read": booked.row.billed.cache_read.0,
                "why": booked.row.cache_miss,
            })
        };
        let [first, last] = self.halves;
        json!({
            "session_id": id,
            "totals": figures(&self.account.all),
            "input_error_basis_points": {"first_half": first, "last_half": last},
            "cache_read_foreseen": self.reads.0,
            "cache_read_billed": self.reads.1,
            "cache_misses": self.misses.iter().map(miss).collect::<Vec<_>>(),
        })
    }
}

/// How far off the input was, in hundredths of a percent of what was billed.
fn error(booked: &Booked) -> Option<u64> {
    let billed = booked.row.billed.input_total().0;
    let off = booked.row.predicted.0.abs_diff(billed);
    off.saturating_mul(10_000).checked_div(billed)
}

fn median(errors: &[u64]) -> Option<u64> {
    let mut sorted = errors.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

fn percent(hundredths: u64) -> String {
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

const MISSES_SHOWN: usize = 20;
