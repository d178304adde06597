//! Renders the counters in Prometheus text format.

use std::fmt::Write;

use crate::metric_table::MetricTable;
use crate::names::METRICS;
use crate::record::{AttributeValue, Attributes};

/// Renders totals since the start of the process, with `common` attributes added. Dots in names
/// become underscores, as OpenTelemetry's conventions require.
pub(crate) fn render_prometheus(table: &MetricTable, common: &Attributes) -> String {
    let mut text = String::new();
    for metric in METRICS {
        let unit = match metric.unit {
            "" => String::new(),
            "s" => "_seconds".to_owned(),
            unit => format!("_{}", to_name(unit)),
        };
        // The unit is not appended to a name that already ends with it.
        let base = to_name(metric.name);
        let base = base.strip_suffix("_total").unwrap_or(&base);
        let base = if base.ends_with(&unit) { base.to_owned() } else { format!("{base}{unit}") };
        let mut is_first = true;
        for (attributes, total) in table.totals(metric) {
            if is_first {
                let _ = writeln!(text, "# HELP {base}_total {}", metric.description);
                let _ = writeln!(text, "# TYPE {base}_total counter");
                is_first = false;
            }
            let labels = render_labels(&common.clone().join(attributes.clone()));
            let _ = writeln!(text, "{base}_total{labels} {total}");
        }
    }
    text
}

fn render_labels(attributes: &Attributes) -> String {
    let render = |value: &AttributeValue| match value {
        AttributeValue::Text(text) => text.clone(),
        AttributeValue::Flag(flag) => flag.to_string(),
        AttributeValue::Int(number) => number.to_string(),
        AttributeValue::Double(number) => number.to_string(),
        AttributeValue::TextList(list) => list.join(","),
    };
    let escape =
        |text: String| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels = attributes.0.iter();
    let labels: Vec<String> = labels
        .map(|(name, value)| format!("{}=\"{}\"", to_name(name), escape(render(value))))
        .collect();
    if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
}

fn to_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{ACTIVE_TIME, COST, TOKENS};
    use crate::record::MetricIncrement;

    #[test]
    fn counters_are_text_that_a_server_can_read() {
        let mut table = MetricTable::new(0);
        let hostile = Attributes::default().text("model", "a\"b\\c\nd").text("type", "input");
        for (metric, amount, attributes) in [
            (&COST, 0.25, Attributes::default()),
            (&TOKENS, 3.0, hostile),
            (&ACTIVE_TIME, 1.5, Attributes::default().text("type", "cli")),
        ] {
            table.add(MetricIncrement { metric, amount, attributes });
        }
        let expected = "\
# HELP claude_code_cost_usage_USD_total Cost of requests
# TYPE claude_code_cost_usage_USD_total counter
claude_code_cost_usage_USD_total{user_id=\"u\"} 0.25
# HELP claude_code_token_usage_tokens_total Tokens used
# TYPE claude_code_token_usage_tokens_total counter
claude_code_token_usage_tokens_total{user_id=\"u\",model=\"a\\\"b\\\\c\\nd\",type=\"input\"} 3
# HELP claude_code_active_time_seconds_total Time at work
# TYPE claude_code_active_time_seconds_total counter
claude_code_active_time_seconds_total{user_id=\"u\",type=\"cli\"} 1.5
";
        let common = Attributes::default().text("user.id", "u");
        assert_eq!(render_prometheus(&table, &common), expected);
    }
}
