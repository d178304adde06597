//! Stores an API key that the user entered on the welcome screen: in the key ring or, without one,
//! in a file that only the user can read.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{appearance, words};
use crate::{Picker, PickerItem, TuiDisplayOptions, run_picker, run_secret_input};
use windlass_host::command_error::CommandError;
use windlass_host::environment::process_environment;
use windlass_provider::api_key_format::check_api_key;
use windlass_provider::config::Config;
use windlass_provider::keyring::{Keyring, KeyringSlot};
use windlass_provider::keyring_key;

/// Asks for provider and key, and stores it. Returns a sentence that says where; `None` if the user
/// cancelled.
pub(super) async fn enter_key(display: TuiDisplayOptions) -> Result<Option<String>, CommandError> {
    let environment = process_environment;
    let config = Config::load(&environment)?;
    let broken = |error: io::Error| CommandError::failure(words::describe_terminal_failure(&error));
    let picker = Picker::new(words::TITLE_PROVIDER, list_providers(&config));
    let Some(item) = run_picker(display, "", picker).await.map_err(broken)? else {
        return Ok(None);
    };
    let provider = item.value;
    let title = words::title_key(&provider);
    let Some(key) = run_secret_input(display, &title, check_api_key).await.map_err(broken)? else {
        return Ok(None);
    };
    let stored = tokio::task::spawn_blocking(move || store_key(&provider, &key, &config));
    let place = stored.await.map_err(|error| CommandError::failure(error.to_string()))??;
    Ok(Some(place))
}

/// Providers that take a key, the best known first.
fn list_providers(config: &Config) -> Vec<PickerItem> {
    let mut names: Vec<&String> = config
        .providers
        .iter()
        .filter(|(_, provider)| !provider.needs_no_key())
        .map(|(name, _)| name)
        .collect();
    names.sort_by_key(|name| FIRST_PROVIDERS.iter().position(|first| first == name).unwrap_or(9));
    let item = |name: &String| PickerItem {
        value: name.clone(),
        label: name.clone(),
        description: String::new(),
    };
    names.into_iter().map(item).collect()
}

/// Returns a sentence that says where.
fn store_key(provider: &str, key: &str, config: &Config) -> Result<String, CommandError> {
    let environment = process_environment;
    let uses_keyring = config.providers.get(provider).is_some_and(keyring_key::uses_keyring);
    let origin = keyring_key::key_origin(provider, config, &environment);
    if let (true, Some(origin), Ok(keyring)) = (uses_keyring, origin, Keyring::detect(&environment))
        && keyring.store(KeyringSlot { provider, origin: &origin }, key).is_ok()
    {
        return Ok(words::describe_stored_key(provider));
    }
    let path = config.path.as_deref().ok_or_else(|| CommandError::failure(words::NO_HOME))?;
    let file = write_key_file(provider, key, path).map_err(|error| {
        CommandError::failure(words::describe_unstored_key(provider, path, &error))
    })?;
    Ok(words::describe_key_file(provider, &appearance::abbreviate_home(&file)))
}

/// Writes the key beside `config.toml`, and names it there. Returns the file.
fn write_key_file(provider: &str, key: &str, config_path: &Path) -> io::Result<PathBuf> {
    let before = match std::fs::read_to_string(config_path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    // What is written there already is the user's to change.
    if before.contains(&format!("[provider.{provider}]")) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let folder = config_path.parent().unwrap_or(Path::new(".")).join("keys");
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let key_path = folder.join(provider);
    match std::fs::remove_file(&key_path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // A new file, so that its mode is ours.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&key_path)?;
    file.write_all(format!("{key}\n").as_bytes())?;
    let mut config = OpenOptions::new().append(true).create(true).mode(0o600).open(config_path)?;
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let entry = format!("{gap}[provider.{provider}]\nkey_file = \"keys/{provider}\"\n");
    config.write_all(entry.as_bytes())?;
    Ok(key_path)
}

const FIRST_PROVIDERS: [&str; 3] = ["anthropic", "openai", "gemini"];
