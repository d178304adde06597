//! Every sentence the loop says to the model, from `text/*.md`, one file each.

use alloc::format;
use alloc::string::{String, ToString};

macro_rules! sentence {
    ($name:literal) => {
        include_str!(concat!("../text/", $name, ".md")).trim_ascii_end()
    };
}

pub(crate) const RESUME: &str = sentence!("resume");
pub(crate) const INTERRUPTION: &str = sentence!("interruption");
pub(crate) const CRASHED: &str = sentence!("crashed");
pub(crate) const OUTCOME_UNKNOWN: &str = sentence!("outcome_unknown");
pub(crate) const OUTCOME_UNKNOWN_IDEMPOTENT: &str = sentence!("outcome_unknown_idempotent");
pub(crate) const OUTCOME_UNKNOWN_PURE: &str = sentence!("outcome_unknown_pure");
pub(crate) const INTERRUPTED_RESULT: &str = sentence!("interrupted_result");
pub(crate) const NOT_STARTED_RESULT: &str = sentence!("not_started_result");
pub(crate) const LABEL: &str = sentence!("label");

pub(crate) const TITLE: &str = sentence!("title");
pub(crate) const SUGGESTION: &str = sentence!("suggestion");
pub(crate) const MEMORY: &str = sentence!("memory");
pub(crate) const CONSOLIDATION: &str = sentence!("consolidation");
pub(crate) const QUESTION: &str = sentence!("question");

pub(crate) fn nudge(percent: u64) -> String {
    sentence!("nudge").replace("{percent}", &percent.to_string())
}

pub(crate) fn circle_hint(count: usize) -> String {
    sentence!("circle_hint").replace("{count}", &count.to_string())
}

pub(crate) fn circle_question(count: usize) -> String {
    sentence!("circle_question").replace("{count}", &count.to_string())
}

pub(crate) fn circle_stop(count: usize) -> String {
    sentence!("circle_stop").replace("{count}", &count.to_string())
}

pub(crate) fn user_context(context: &str) -> String {
    format!("{}\n\n{context}", sentence!("context_intro"))
}

pub(crate) fn compaction(focus: Option<&str>) -> String {
    let order = sentence!("compaction");
    match focus {
        None => order.to_string(),
        Some(focus) => format!("{order}\n{} {focus}", sentence!("compaction_focus")),
    }
}

pub(crate) fn summary(summary: &str) -> String {
    format!("{}\n\n{}", sentence!("summary_intro"), summary.trim())
}

pub(crate) fn cut(count: usize, requests: &[String]) -> String {
    let mut words = sentence!("cut_intro").replace("{count}", &count.to_string());
    if !requests.is_empty() {
        words.push_str("\nWhat was asked earlier:");
        for request in requests {
            words.push_str("\n- ");
            words.push_str(request);
        }
    }
    words
}

/// Stands for a result whose words the provider refused.
pub(crate) const RESULT_REMOVED: &str = "[the result was left out: the provider refused it]";

pub(crate) fn media_removed(name: &str) -> String {
    format!("[{name} was left out: the provider could not take it]")
}

/// A failure is content for the model, marked so that it cannot be taken for output.
pub(crate) fn tool_error(reason: &str) -> String {
    format!("<tool_use_error>{reason}</tool_use_error>")
}
