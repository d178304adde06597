//! The process and its machine: environment variables, user directories, signals and exit codes,
//! random bytes, and formatting of values and errors.
//!
//! Used by the front ends and by everything that starts a session; knows nothing of sessions,
//! models or projects. A module that only one crate uses belongs in that crate.

pub mod child_command;
pub mod command_error;
pub mod descriptors;
pub mod display;
pub mod environment;
pub mod exit;
pub mod extra_certificates;
pub mod free_threads;
pub mod line_streams;
pub mod process_inspection;
pub mod random;
pub mod regular_file;
pub mod signals;
pub mod standard_streams;
pub mod user_directories;
mod words;
