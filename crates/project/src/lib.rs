//! Files of users and projects that extend sessions: memory, skills, agents, custom commands,
//! output styles, plugins.
//!
//! The files are untrusted: they are only read here, and nothing in them is run.

pub mod agents;
pub mod argument_substitution;
mod bounded_file;
pub mod call_judgement;
pub mod custom_command;
pub mod extension_sources;
pub mod markdown_files;
pub mod memory;
pub mod output_style;
pub mod plugins;
pub mod rule_list;
pub mod shell_snippet;
pub mod skills;
