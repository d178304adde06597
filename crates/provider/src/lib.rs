//! Models and providers: `config.toml`, model choice and fallbacks, endpoints, keys, the key ring,
//! local servers.
//!
//! Credentials are read only here.

pub mod api_key;
pub mod api_key_format;
pub mod base_url;
pub mod config;
pub mod endpoint;
pub mod external_program;
mod key_command;
pub mod key_source;
pub mod keyring;
pub mod keyring_key;
pub mod known_keys;
pub mod local_server;
mod missing_key;
pub mod model_choice;
pub mod model_list;
pub mod model_options;
mod provider_rules;
