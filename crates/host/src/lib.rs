//! The process and the machine around it: environment variables, the user's directories, signals and
//! exit codes, random bytes, and how values and errors are written for people.
//!
//! Both front ends and everything that turns flags into a session need these; they know nothing of a
//! session, a model or a project. A module that only one crate uses belongs into that crate.

pub mod child_command;
pub mod command_error;
pub mod descriptors;
pub mod display;
pub mod environment;
pub mod exit;
pub mod extra_certificates;
pub mod free_threads;
pub mod line_streams;
pub mod random;
pub mod regular_file;
pub mod signals;
pub mod standard_streams;
pub mod user_directories;
