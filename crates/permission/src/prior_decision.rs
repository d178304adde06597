//! What was decided about a call before the rules are consulted.

/// What a hook or the user decided before the rules were consulted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PriorDecision {
    /// Nothing.
    #[default]
    None,
    /// Run it without a question.
    Allow,
    /// Ask, whatever the rules say.
    Ask(String),
    /// The user, not a hook, said yes to the call with this input. There is no second question;
    /// what is forbidden stays forbidden.
    Answered,
}
