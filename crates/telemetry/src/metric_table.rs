//! Counters by attributes: the counts since the last report and since the start.

use std::collections::BTreeMap;

use crate::names::{METRICS, MetricName};
use crate::record::{AttributeValue, Attributes, MetricIncrement};

/// What a reported value is relative to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Temporality {
    /// The last report.
    #[default]
    Delta,
    /// The start of the process.
    Cumulative,
}

/// One value of a counter; `start` and `end` in nanoseconds since 1970.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricPoint {
    pub attributes: Attributes,
    pub start: u64,
    pub end: u64,
    pub value: f64,
}

#[derive(Debug)]
pub(crate) struct MetricTable {
    series: BTreeMap<(&'static str, String), MetricSeries>,
    started: u64,
    reported: u64,
    /// Increments dropped because of the limit on series.
    lost: u64,
}

#[derive(Debug)]
struct MetricSeries {
    attributes: Attributes,
    since_report: f64,
    total: f64,
}

impl MetricTable {
    #[must_use]
    pub(crate) fn new(now: u64) -> Self {
        Self { series: BTreeMap::new(), started: now, reported: now, lost: 0 }
    }

    pub(crate) fn add(&mut self, increment: MetricIncrement) {
        let key = (increment.metric.name, render_key(&increment.attributes));
        let is_full = self.series.len() >= SERIES_MAX && !self.series.contains_key(&key);
        if is_full {
            self.lost += 1;
            return;
        }
        let series = self.series.entry(key).or_insert_with(|| MetricSeries {
            attributes: increment.attributes,
            since_report: 0.0,
            total: 0.0,
        });
        series.since_report += increment.amount;
        series.total += increment.amount;
    }

    /// Increments dropped because there were too many series.
    #[must_use]
    pub(crate) fn lost_count(&self) -> u64 {
        self.lost
    }

    /// The counters that changed since the last report; starts a new report.
    pub(crate) fn take_points(
        &mut self,
        temporality: Temporality,
        now: u64,
    ) -> Vec<(&'static MetricName, Vec<MetricPoint>)> {
        let mut report = Vec::new();
        for metric in METRICS {
            let own = self.series.iter_mut().filter(|((name, _), _)| *name == metric.name);
            let changed = own.filter(|(_, series)| series.since_report > 0.0);
            let points: Vec<MetricPoint> = changed
                .map(|(_, series)| {
                    let since_report = std::mem::take(&mut series.since_report);
                    let (start, value) = match temporality {
                        Temporality::Delta => (self.reported, since_report),
                        Temporality::Cumulative => (self.started, series.total),
                    };
                    MetricPoint { attributes: series.attributes.clone(), start, end: now, value }
                })
                .collect();
            if !points.is_empty() {
                report.push((*metric, points));
            }
        }
        self.reported = now;
        report
    }

    /// Totals of one counter since the start, by attributes.
    pub(crate) fn totals(&self, metric: &MetricName) -> impl Iterator<Item = (&Attributes, f64)> {
        let name = metric.name;
        let own = self.series.iter().filter(move |((own, _), _)| *own == name);
        own.map(|(_, series)| (&series.attributes, series.total))
    }
}

/// A text that is different for different attributes.
fn render_key(attributes: &Attributes) -> String {
    let mut key = String::new();
    for (name, value) in &attributes.0 {
        let value = match value {
            AttributeValue::Text(text) => text.clone(),
            AttributeValue::Flag(flag) => flag.to_string(),
            AttributeValue::Int(number) => number.to_string(),
            AttributeValue::Double(number) => number.to_string(),
            AttributeValue::TextList(list) => list.join("\u{1f}"),
        };
        key.push_str(name);
        key.push('\u{1f}');
        key.push_str(&value);
        key.push('\u{1e}');
    }
    key
}

/// Limit on series; more would be an error in an attribute.
const SERIES_MAX: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{COMMITS, TOKENS};

    fn tokens(kind: &str, amount: f64) -> MetricIncrement {
        let attributes = Attributes::default().text("type", kind);
        MetricIncrement { metric: &TOKENS, amount, attributes }
    }

    #[test]
    fn a_delta_counts_from_the_last_report_and_a_sum_from_the_start() {
        let mut table = MetricTable::new(10);
        table.add(tokens("input", 5.0));
        table.add(tokens("input", 2.0));
        table.add(tokens("output", 1.0));
        let first = table.take_points(Temporality::Delta, 20);
        let values: Vec<f64> = first[0].1.iter().map(|point| point.value).collect();
        assert_eq!((first.len(), values), (1, vec![7.0, 1.0]));
        assert_eq!((first[0].1[0].start, first[0].1[0].end), (10, 20));
        table.add(tokens("input", 3.0));
        let second = table.take_points(Temporality::Delta, 30);
        assert_eq!((second[0].1.len(), second[0].1[0].value, second[0].1[0].start), (1, 3.0, 20));
        table.add(tokens("input", 1.0));
        let sum = table.take_points(Temporality::Cumulative, 40);
        assert_eq!((sum[0].1[0].value, sum[0].1[0].start), (11.0, 10));
        assert!(table.take_points(Temporality::Cumulative, 50).is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut table = MetricTable::new(0);
        for number in 0..SERIES_MAX + 5 {
            table.add(tokens(&number.to_string(), 1.0));
        }
        table.add(MetricIncrement {
            metric: &COMMITS,
            amount: 1.0,
            attributes: Attributes::default(),
        });
        assert_eq!(table.lost_count(), 6);
    }
}
