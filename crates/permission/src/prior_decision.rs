//! Decisions made before the rules are checked.

/// What a hook or the user decided before the rules are checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PriorDecision {
    /// Nothing.
    #[default]
    None,
    /// Run it without a question.
    Allow,
    /// Ask, even if the rules allow it.
    Ask(String),
    /// The user, not a hook, approved the call with this input. It is not asked again; denials
    /// still apply.
    Answered,
}
