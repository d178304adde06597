//! Settings files: finds, merges and checks them, and withholds what the user has not trusted.
//!
//! One entry point, [`load_settings`]: takes locations and returns [`LoadedSettings`]. The layers
//! from low to high precedence are the user's, the project's, the project's local one, the command
//! line's, and the administrator's. The value of the highest layer wins; objects are merged key by
//! key; lists are concatenated. The origin of each value is recorded.
//!
//! Two rules are absolute. Before the user trusts a project, its settings can only restrict:
//! [`ProjectTrust`] lists what was withheld and records the user's consent. And an unreadable file
//! loosens nothing: its deny rules are unknown, so every call asks until it is repaired.
//!
//! Hooks and servers are returned as written, with their layer; the crates that run them interpret
//! them. Nothing is run here.

mod append_rules;
mod atomic_edit;
mod bounded_file;
mod file_stamp;
mod json_spans;
mod load_settings;
mod loaded_settings;
mod mcp_server_files;
mod mcp_server_policy;
mod merge_layers;
mod merge_permissions;
mod merge_values;
mod prune;
mod rule_files;
#[cfg(test)]
mod schema;
pub mod settings;
mod settings_key;
mod settings_layer;
mod settings_location;
mod settings_problem;
mod settings_watcher;
mod settings_write_error;
mod sha256;
pub mod trust;
mod write_setting;

pub use append_rules::RuleList;
pub use load_settings::load_settings;
pub use loaded_settings::{
    LoadedSettings, SettingsFileRead, SettingsFileState, SourcedValue, StoredMcpServers,
};
pub use mcp_server_policy::{McpServerAddress, McpServerPolicy};
pub use rule_files::{
    RuleChange, WrittenRule, add_local_allow_rules, add_rule, list_written_rules, remove_rule,
    rule_file_path,
};
pub use settings::SettingsFile;
pub use settings_location::{
    CommandLineSettings, EnabledSources, SettingsLocations, SettingsRequest, find_project_root,
};
pub use settings_problem::{ProblemSeverity, SettingsProblem};
pub use settings_watcher::{SettingsFileChanged, SettingsWatcher};
pub use settings_write_error::SettingsWriteError;
pub use trust::{ProjectTrust, TrustItem, TrustState, TrustedPages, TrustedScripts};
pub use windlass_permission::permission_layer::SettingsSource;
pub use write_setting::{McpServerScope, write_mcp_server, write_setting};
