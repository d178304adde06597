//! Why a call needs a permission prompt.

use crate::rule::Rule;

#[derive(Debug)]
pub(crate) struct AskReason {
    pub(crate) why: String,
    pub(crate) rule: Option<String>,
    /// A rule could answer it permanently.
    pub(crate) is_default: bool,
    /// It is an edit that another mode would allow.
    pub(crate) is_edit: bool,
}

impl AskReason {
    pub(crate) fn from_default(why: String, is_edit: bool) -> Self {
        Self { why, rule: None, is_default: true, is_edit }
    }

    pub(crate) fn without_rule(why: String) -> Self {
        Self { why, rule: None, is_default: false, is_edit: false }
    }

    pub(crate) fn from_rule(rule: &Rule, why: String) -> Self {
        Self { rule: Some(rule.to_string()), ..Self::without_rule(why) }
    }
}
