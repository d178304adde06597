//! Errors of a session itself, by who is at fault.
//!
//! A failed model call or tool is not an error here, but an event for the engine.

use std::path::PathBuf;

use windlass_journal::JournalError;
use windlass_vocabulary::{ModelName, WireFormat};

/// A session could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SessionStartError {
    /// The configured address is invalid.
    #[error("the model server's address `{url}` cannot be used: {problem}")]
    Address {
        /// The address as configured.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The configured wire is not supported.
    #[error("the wire {0:?} is not supported yet")]
    Wire(WireFormat),
    /// An endpoint is configured for a model that the settings do not name.
    #[error("an endpoint is configured for the model `{name}`, which this session never asks")]
    Model {
        /// The model.
        name: ModelName,
    },
    /// A configured header cannot be sent. Its value is not repeated: it may be a secret.
    #[error("the request header `{name}` cannot be sent: {problem}")]
    Header {
        /// The header's name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The working directory does not exist, or a directory for long results cannot be created.
    #[error("the directory {path} cannot be used: {source}", path = path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why the operating system refused it.
        source: std::io::Error,
    },
    /// The journal cannot be opened or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The caller is not inside a tokio runtime with time enabled.
    #[error("a session must be started inside a tokio runtime")]
    NoRuntime,
}

/// A command could not be sent to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
    /// The session's queue is full.
    #[error("the session has too many messages waiting; read its notices first")]
    Full,
}
