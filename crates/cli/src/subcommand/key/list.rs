//! `windlass key list`: which providers have a key, and where it comes from. Shows no key, opens no key
//! file and runs no key command; only the key ring is searched.

use serde_json::{Value, json};

use crate::args::KeyListArgs;
use crate::words;
use windlass_host::environment::EnvLookup;
use windlass_provider::config::Config;
use windlass_provider::key_source;
use windlass_provider::key_source::KeySource;
use windlass_provider::keyring::{Keyring, KeyringError, KeyringSearchResult};
use windlass_provider::keyring_key;

struct ProviderKeyRow<'a> {
    name: &'a str,
    is_open: bool,
    /// The first is used.
    sources: Vec<KeySource>,
}

pub(super) fn run(args: &KeyListArgs, config: &Config, lookup: &impl EnvLookup) -> String {
    let mut keyring_error = None;
    let keyring = Keyring::detect(lookup).map_err(|error| keyring_error = Some(error)).ok();
    let mut rows = Vec::new();
    for (name, provider) in &config.providers {
        let mut sources = key_source::list_configured_sources(provider, config, lookup);
        // A key ring that failed is not asked again: each attempt would wait as long again.
        let origin = keyring_key::key_origin(name, config, lookup)
            .filter(|_| keyring_key::uses_keyring(provider));
        if let (Some(keyring), None, Some(origin)) = (&keyring, &keyring_error, origin) {
            match keyring_key::find_keyring_key(keyring, name, &origin, config, lookup) {
                Ok(Some(key)) => sources.push(keyring_source(keyring, &key.content)),
                Ok(None) => {}
                Err(error) => keyring_error = Some(error),
            }
        }
        rows.push(ProviderKeyRow { name, is_open: provider.needs_no_key(), sources });
    }
    match args.json {
        true => format!("{}\n", rows_to_json(&rows, keyring_error.as_ref())),
        false => render_key_table(&rows, keyring_error.as_ref()),
    }
}

/// The macOS keychain withholds keys in a search even when it is unlocked.
fn keyring_source(keyring: &Keyring, result: &KeyringSearchResult) -> KeySource {
    match (keyring, result) {
        (Keyring::SecretTool(_), KeyringSearchResult::Withheld) => KeySource::LockedKeyring,
        (Keyring::SecretTool(_), KeyringSearchResult::Missing | KeyringSearchResult::Key(_))
        | (Keyring::Security, _) => KeySource::Keyring,
    }
}

fn rows_to_json(rows: &[ProviderKeyRow<'_>], keyring_error: Option<&KeyringError>) -> Value {
    let row = |row: &ProviderKeyRow<'_>| {
        json!({
            "provider": row.name,
            "needs_key": !row.is_open,
            "from": row.sources.first().map(KeySource::kind),
            "sources": row.sources.iter().map(KeySource::to_string).collect::<Vec<_>>(),
        })
    };
    json!({
        "providers": rows.iter().map(row).collect::<Vec<_>>(),
        "keyring_problem": keyring_error.map(KeyringError::to_string),
    })
}

fn render_key_table(rows: &[ProviderKeyRow<'_>], keyring_error: Option<&KeyringError>) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let mut text = format!("{:<width$}  {}\n", "provider", words::KEY_COLUMN);
    for row in rows {
        let sources: Vec<String> = row.sources.iter().map(KeySource::to_string).collect();
        let from = match sources.as_slice() {
            [] if row.is_open => words::KEY_NOT_NEEDED.to_owned(),
            [] => "-".to_owned(),
            [only] => only.clone(),
            [first, rest @ ..] => words::describe_key_sources(first, &rest.join(", ")),
        };
        text.push_str(&format!("{:<width$}  {from}\n", row.name));
    }
    text.push_str(words::KEY_ORDER);
    if let Some(keyring_error) = keyring_error {
        text.push_str(&words::describe_unreadable_keyring(keyring_error));
    }
    text
}
