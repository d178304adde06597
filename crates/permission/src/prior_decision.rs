//! What was decided about a call before the rules are consulted.

/// What a hook, or whoever was asked, said before the rules were asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PriorDecision {
    /// Nothing.
    #[default]
    None,
    /// Run it without a question.
    Allow,
    /// Ask, whatever the rules say.
    Ask(String),
    /// Not a hook's: whoever was asked about the call said yes to it with this input. Nobody is
    /// asked twice; what is forbidden stays forbidden.
    Answered,
}
