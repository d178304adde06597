//! Models and whom to ask for them: `config.toml`, the choice and chain of models, endpoints, keys, the
//! key ring, servers on this machine.
//!
//! Credentials are read here and nowhere else.

pub mod api_key;
pub mod config;
pub mod endpoint;
pub mod key_command;
pub mod key_source;
pub mod keyring;
pub mod keyring_key;
pub mod local_server;
pub mod missing_key;
pub mod model_choice;
pub mod model_list;
pub mod model_options;
pub mod provider_rules;
