//! What was used and what it cost: a row per request, integers only.
//!
//! Also keeps the gauge of the token estimate, because it is the provider's own figures that it
//! rests on.

use crate::cache::{Forecast, explain};
use crate::gauge::Gauge;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use windlass_vocabulary::{
    AttemptId, MicroUsd, ModelName, Prices, RequestSource, Ticket, Tokens, Usage,
};

/// The account of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    rows: Vec<Row>,
    open: BTreeMap<Account, Open>,
    spent: MicroUsd,
    reserved: MicroUsd,
    run_usage: Usage,
    gauge: Option<Gauge>,
    left: BTreeSet<Ticket>,
}

/// One request, paid for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The model asked.
    pub model: ModelName,
    /// What for.
    pub source: RequestSource,
    /// Input we thought it would be.
    pub predicted: Tokens,
    /// What the provider says.
    pub billed: Usage,
    /// What it cost.
    pub cost: MicroUsd,
    /// Input we thought the cache would give.
    pub predicted_read: Tokens,
    /// Why the cache gave less, in one sentence.
    pub cache_miss: Option<String>,
}

/// What a reservation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account {
    /// A request of the loop.
    Attempt(AttemptId),
    /// A summary or a label.
    Errand(Ticket),
    /// A nested session.
    Nested(Ticket),
}

/// A request that is out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// The model asked.
    pub model: ModelName,
    /// Its prices.
    pub prices: Prices,
    /// What for.
    pub source: RequestSource,
    /// Input we think it is.
    pub predicted: Tokens,
    /// The raw estimate behind `predicted`.
    pub raw: u64,
    /// What is set aside.
    pub reserved: MicroUsd,
    /// What the cache should give.
    pub forecast: Forecast,
}

impl Ledger {
    /// What is spent and what is set aside.
    #[must_use]
    pub fn committed(&self) -> MicroUsd {
        self.spent + self.reserved
    }

    /// What is spent.
    #[must_use]
    pub fn spent(&self) -> MicroUsd {
        self.spent
    }

    /// What is set aside.
    #[must_use]
    pub fn reserved(&self) -> MicroUsd {
        self.reserved
    }

    /// What stays set aside for requests whose bill nobody will ever know.
    #[must_use]
    pub fn kept(&self) -> MicroUsd {
        self.open.values().fold(self.reserved, |left, open| left.less(open.reserved))
    }

    /// Every request paid for.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Usage of the run under way.
    #[must_use]
    pub fn run_usage(&self) -> Usage {
        self.run_usage
    }

    pub(crate) fn begin_run(&mut self) {
        self.run_usage = Usage::default();
    }

    pub(crate) fn reserve(&mut self, account: Account, open: Open) {
        self.reserved = self.reserved + open.reserved;
        self.open.insert(account, open);
    }

    /// Is this request still out?
    #[must_use]
    pub fn is_open(&self, account: Account) -> bool {
        self.open.contains_key(&account)
    }

    /// The request was refused before it cost anything.
    pub(crate) fn release(&mut self, account: Account) {
        if let Some(open) = self.open.remove(&account) {
            self.reserved = self.reserved.less(open.reserved);
        }
    }

    /// The requests that are out will not find in the cache what was foreseen.
    pub(crate) fn clear_forecast(&mut self, why: &str) {
        for open in self.open.values_mut().filter(|open| open.source == RequestSource::Main) {
            open.forecast.named_break = Some(String::from(why));
            open.forecast.is_cleared = true;
        }
    }

    /// The bill is known. Figures that are missing, or so small that they cannot be true, are
    /// replaced by our own estimate: a budget must not stretch because a server cannot count.
    pub(crate) fn settle(&mut self, account: Account, usage: Usage) -> Option<MicroUsd> {
        let open = self.open.remove(&account)?;
        self.reserved = self.reserved.less(open.reserved);
        let mut billed = usage;
        if is_absurd(billed.input_total(), open.predicted) {
            billed.input = billed.input + open.predicted.less(billed.input_total());
        } else if open.source == RequestSource::Main && open.raw > 0 {
            let billed = billed.input_total().0;
            self.gauge = Some(match self.gauge {
                None => Gauge::new(open.raw, billed),
                Some(gauge) if open.forecast.is_cleared => gauge.moved(open.raw, billed),
                Some(gauge) => gauge.next(open.raw, billed),
            });
        }
        let cost = open.prices.cost(&billed);
        self.spent = self.spent + cost;
        self.run_usage += billed;
        let Open { model, source, predicted, forecast, .. } = open;
        let cache_miss = explain(&forecast, &billed);
        let predicted_read = forecast.read;
        self.rows.push(Row { model, source, predicted, billed, cost, predicted_read, cache_miss });
        Some(cost)
    }

    /// The process that asked is gone, so nobody will know the bill. What was seen of it is booked,
    /// and the rest stays set aside for good: a limit must not stretch because we died.
    pub(crate) fn abandon(&mut self, account: Account, usage: Usage) -> Option<MicroUsd> {
        let reserved = self.open.get(&account)?.reserved;
        let cost = self.settle(account, usage)?;
        self.reserved = self.reserved + reserved.less(cost);
        Some(cost)
    }

    /// A nested session runs on in the background, and keeps what is set aside for it.
    pub(crate) fn leave(&mut self, ticket: Ticket) {
        self.left.insert(ticket);
    }

    /// The nested sessions in the background.
    pub(crate) fn left(&self) -> impl Iterator<Item = Ticket> {
        self.left.iter().copied()
    }

    /// Something was asked of a model outside our own requests.
    pub(crate) fn book(&mut self, spent: MicroUsd) {
        self.spent = self.spent + spent;
    }

    /// A nested session came back with its own bill.
    pub(crate) fn settle_nested(&mut self, ticket: Ticket, spent: MicroUsd) {
        self.left.remove(&ticket);
        self.release(Account::Nested(ticket));
        self.spent = self.spent + spent;
    }

    /// Our estimate of an input: the provider's last count, and what came since at the rate at which
    /// it counted what was new before.
    #[must_use]
    pub fn estimate(&self, raw: u64) -> Tokens {
        self.gauge.map_or(Tokens(raw), |gauge| gauge.estimate(raw))
    }
}

/// Is a figure so far below our estimate that it cannot be true? Estimates are rough, so only a
/// factor of four counts.
pub(crate) fn is_absurd(billed: Tokens, estimate: Tokens) -> bool {
    billed.0.saturating_mul(4) < estimate.0
}
