//! What users and projects keep in files for every session: memory, skills, agents, custom commands,
//! output styles, plugins.
//!
//! These are other people's files: they are read here, and nothing they say is run here.

pub mod agents;
pub mod argument_substitution;
mod bounded_file;
pub mod custom_command;
pub mod extension_sources;
pub mod markdown_files;
pub mod memory;
pub mod output_style;
pub mod plugins;
pub mod rule_list;
pub mod shell_snippet;
pub mod skills;
