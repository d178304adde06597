//! Settings files: which are read, what they say together, and what of it the user trusted.
//!
//! One entry point, [`load_settings`]: locations in, [`LoadedSettings`] out. Layers from low to high are the user's, the
//! project's, the machine's own of the project, the command line's, and the administrator's. A value
//! of the highest layer counts; objects are merged key by key; lists add up. Where each value came
//! from is kept.
//!
//! Two things are never given up. What a project brings along may forbid before the user trusted it,
//! and nothing else: [`ProjectTrust`] says what was left out and takes the user's yes. And a file that cannot
//! be read loosens nothing: as its deny rules are not known, everything asks until it is mended.
//!
//! Hooks and servers are handed on as they are written, with the layer they come from; the crates that
//! run them interpret them. Nothing is run here.

mod append_rules;
mod atomic_edit;
mod bounded_file;
mod file_stamp;
mod json_spans;
mod load_settings;
mod loaded_settings;
mod mcp_server_files;
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

pub use append_rules::{RuleList, append_rules};
pub use load_settings::load_settings;
pub use loaded_settings::{LoadedSettings, SettingsFileRead, SettingsFileState, SourcedValue};
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
pub use trust::{ProjectTrust, TrustItem, TrustState, TrustedScripts};
pub use windlass_permission::permission_layer::SettingsSource;
pub use write_setting::{McpServerScope, write_mcp_server, write_setting};
