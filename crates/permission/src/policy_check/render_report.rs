//! Formats a report for reading.

use std::fmt::Write as _;

use super::{PermissionDecisionKind, PermissionReport};
use crate::sanitize::escape_invisible;

/// The report as a few lines of text: the decision and its reason, then each part with what it
/// would do, then rules that would allow it.
#[must_use]
pub fn render_report(report: &PermissionReport) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ =
        writeln!(text, "{}: {}", decision_word(report.decision), escape_invisible(&report.reason));
    let width = report.parts.iter().map(|part| first_line(&part.text).chars().count()).max();
    let width = width.unwrap_or(0).min(WIDTH_MAX);
    for part in &report.parts {
        let _ = write!(
            text,
            "  {:<5} {:<width$}",
            decision_word(part.decision),
            first_line(&part.text)
        );
        if let Some(rule) = &part.rule {
            let _ = write!(text, "  by {rule}");
        }
        if !part.effects.is_empty() {
            let _ = write!(text, "  ({})", part.effects.join(", "));
        }
        text.push('\n');
    }
    for (at, rule) in report.suggestions.iter().enumerate() {
        let start = if at == 0 { "To allow it, add:" } else { "             and:" };
        let _ = writeln!(text, "{start} {rule}");
    }
    text
}

const WIDTH_MAX: usize = 60;

fn decision_word(decision: PermissionDecisionKind) -> &'static str {
    match decision {
        PermissionDecisionKind::Allow => "allow",
        PermissionDecisionKind::Ask => "ask",
        PermissionDecisionKind::Deny => "deny",
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let is_cut = line.len() != text.len() || line.chars().count() > WIDTH_MAX;
    let short: String = line.chars().take(WIDTH_MAX - 1).collect();
    if is_cut { format!("{short}…") } else { line.to_owned() }
}
