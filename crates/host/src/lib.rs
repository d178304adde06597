//! The process and the machine around it: environment variables, the user's directories, signals and
//! exit codes, external programs, and what a person is shown when something is wrong.
//!
//! Everything that turns flags into a session needs these, and they need nothing of a session.

pub mod command_error;
pub mod display;
pub mod environment;
pub mod exit;
pub mod external_program;
pub mod random;
pub mod signals;
pub mod similar_name;
pub mod user_directories;
