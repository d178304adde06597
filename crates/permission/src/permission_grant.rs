//! The proof that a call was allowed.
//!
//! [`PermissionGrant`] has a private field, no `Clone` and no `Deserialize`: it only comes from
//! `decide`, or from answering a [`PendingPermissionQuestion`] that was really asked. Tools require
//! one, so a replayed session cannot start a tool by accident.

use std::path::PathBuf;

use windlass_vocabulary::{PermissionQuestion, ToolCall};

use crate::confinement::Confinement;

/// The proof that the value inside may be used.
#[derive(Debug, PartialEq, Eq)]
pub struct PermissionGrant<T> {
    inner: T,
    confinement: Confinement,
    held_words: Vec<usize>,
    readable: Vec<PathBuf>,
}

impl<T> PermissionGrant<T> {
    pub(crate) fn new(inner: T, confinement: Confinement) -> Self {
        Self { inner, confinement, held_words: Vec::new(), readable: Vec::new() }
    }

    pub(crate) fn with_held_words(self, held_words: Vec<usize>) -> Self {
        Self { held_words, ..self }
    }

    /// Offsets of programs in a command line that must each be confined to reading, because a rule
    /// permits another part of the line to run freely.
    pub fn held_words(&self) -> &[usize] {
        &self.held_words
    }

    pub(crate) fn with_readable(self, readable: Vec<PathBuf>) -> Self {
        Self { readable, ..self }
    }

    /// The working directories, and the files elsewhere that a rule lets the call read. In the home
    /// directory, a confined call sees these and toolchains only.
    pub fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    /// The required confinement.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// The granted value.
    pub fn get(&self) -> &T {
        &self.inner
    }

    /// Consumes the proof.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

/// A question that waits for its answer.
#[derive(Debug, PartialEq, Eq)]
pub struct PendingPermissionQuestion {
    view: PermissionQuestion,
}

impl PendingPermissionQuestion {
    pub(crate) fn new(call: ToolCall, why: String, suggestions: Vec<String>) -> Self {
        Self { view: PermissionQuestion { call, why, suggestions, agent: None } }
    }

    /// The question for the user.
    pub fn view(&self) -> &PermissionQuestion {
        &self.view
    }

    /// The user allowed exactly this call.
    pub fn allow(self) -> PermissionGrant<ToolCall> {
        PermissionGrant::new(self.view.call, Confinement::Unconfined)
    }

    /// The user denied the call.
    pub fn into_call(self) -> ToolCall {
        self.view.call
    }
}
