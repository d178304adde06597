//! Proof that a call was allowed.
//!
//! [`PermissionGrant`] has a private field, no `Clone` and no `Deserialize`: it comes from `decide`
//! or from answering a [`PendingPermissionQuestion`] that was really asked, and from nowhere else. Tools take one,
//! so a replayed session cannot start a tool by accident.

use windlass_vocabulary::{Json, PermissionQuestion, ToolCall};

use crate::confinement::Confinement;

/// Proof that the value inside may be acted on.
#[derive(Debug, PartialEq, Eq)]
pub struct PermissionGrant<T> {
    inner: T,
    confinement: Confinement,
    held_words: Vec<usize>,
}

impl<T> PermissionGrant<T> {
    pub(crate) fn new(inner: T, confinement: Confinement) -> Self {
        Self { inner, confinement, held_words: Vec::new() }
    }

    pub(crate) fn with_held_words(self, held_words: Vec<usize>) -> Self {
        Self { held_words, ..self }
    }

    /// Where programs begin in a command line that nothing holds as a whole, which must each be held to
    /// reading: a rule lets another part of the line run.
    pub fn held_words(&self) -> &[usize] {
        &self.held_words
    }

    /// What it must be held to while it is acted on.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// What was granted.
    pub fn get(&self) -> &T {
        &self.inner
    }

    /// Gives the proof up.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

/// A question that was asked and waits for its answer.
#[derive(Debug, PartialEq, Eq)]
pub struct PendingPermissionQuestion {
    view: PermissionQuestion,
}

impl PendingPermissionQuestion {
    pub(crate) fn new(call: ToolCall, why: String, suggestions: Vec<String>) -> Self {
        Self { view: PermissionQuestion { call, why, suggestions, agent: None } }
    }

    /// The question as shown to the user.
    pub fn view(&self) -> &PermissionQuestion {
        &self.view
    }

    /// The answer was yes, to exactly this call.
    pub fn allow(self) -> PermissionGrant<ToolCall> {
        PermissionGrant::new(self.view.call, Confinement::Unconfined)
    }

    /// The answer was yes with another input. The caller must have it judged again.
    pub fn into_call_with_input(self, input: Json) -> ToolCall {
        ToolCall { input, ..self.view.call }
    }

    /// The answer was no.
    pub fn into_call(self) -> ToolCall {
        self.view.call
    }
}
