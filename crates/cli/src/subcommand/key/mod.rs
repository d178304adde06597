//! `windlass key`: stores keys in the system's key ring, removes them, and lists where each provider's key
//! comes from. A key is typed or piped in, never passed as an argument, and never printed.

mod key_input;
mod list;

use crate::args::{KeyArgs, KeyCommand};
use crate::words;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_host::signals::SignalListener;
use windlass_host::signals::run_blocking_unless_signalled;
use windlass_provider::config::Config;
use windlass_provider::config::provider::ProviderConfig;
use windlass_provider::keyring::{Keyring, KeyringError, KeyringSlot};
use windlass_provider::model_choice;
use windlass_provider::{key_source, keyring_key};
use windlass_stream_json::output_writer::{OutputTarget, OutputWriter};

pub(crate) async fn run(
    args: KeyArgs,
    lookup: impl EnvLookup + Copy + Send + 'static,
) -> Result<Exit, CommandError> {
    let config = Config::load(&lookup)?;
    let mut signals = SignalListener::listen()?;
    let result = match args.command {
        KeyCommand::List(args) => {
            run_blocking_unless_signalled(&mut signals, move || {
                Ok(list::run(&args, &config, &lookup))
            })
            .await?
        }
        KeyCommand::Remove(args) => {
            let name = resolve_provider_name(&args.provider, &config)?;
            run_blocking_unless_signalled(&mut signals, move || remove_key(&name, &config, &lookup))
                .await?
        }
        KeyCommand::Set(args) if !args.rest.is_empty() => {
            return Err(key_as_argument_error(&args.provider));
        }
        KeyCommand::Set(args) => {
            let name = resolve_provider_name(&args.provider, &config)?;
            let (keyring, origin) = resolve_keyring_target(&name, &config, &lookup)?;
            match key_input::read_key(&name, &mut signals).await? {
                Err(signal) => Err(signal),
                Ok(key) => {
                    let store_key = move || {
                        let slot = KeyringSlot { provider: &name, origin: &origin };
                        keyring
                            .store(slot, &key)
                            .map_err(|error| keyring_use_error(&name, &error, &config))?;
                        Ok(describe_stored_key(&name, &origin, &config, &lookup))
                    };
                    run_blocking_unless_signalled(&mut signals, store_key).await?
                }
            }
        }
    };
    let text = match result {
        Ok(text) => text,
        Err(signal) => return Ok(signal.exit()),
    };
    let mut output = OutputWriter::new(OutputTarget::Stdout);
    // A reader that closes the pipe early is not an error.
    let _ = output.write(text);
    output.finish().await;
    Ok(Exit::SUCCESS)
}

/// The error for arguments that cannot be parsed. Does not repeat them: one may be a key.
pub(crate) fn unreadable_arguments_error() -> CommandError {
    CommandError::usage(words::KEY_USAGE)
}

fn key_as_argument_error(provider: &str) -> CommandError {
    CommandError::usage(words::describe_key_as_argument(&provider))
}

/// Suggests a similar name; does not repeat any other, because it may be a key.
fn resolve_provider_name(name: &str, config: &Config) -> Result<String, CommandError> {
    let known: Vec<&str> = config.providers.keys().map(String::as_str).collect();
    if config.providers.contains_key(name) {
        return Ok(name.to_owned());
    }
    match windlass_config_text::find_similar_name(name, known.iter().copied()) {
        Some(_) => model_choice::check_provider_name(name, config),
        None => Err(CommandError::usage(words::describe_unknown_provider(
            &known.join(", "),
            &describe_config_path(config),
        ))),
    }
}

/// The key ring, and the origin that the key may be sent to.
fn resolve_keyring_target(
    name: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<(Keyring, String), CommandError> {
    let provider = find_provider(name, config);
    if !keyring_key::uses_keyring(&provider) {
        return Err(CommandError::usage(match provider.keyring {
            Some(_) => words::describe_keyring_off(&name, &describe_config_path(config)),
            None => words::describe_keyless_provider(&name, &describe_config_path(config)),
        }));
    }
    let keyring =
        Keyring::detect(lookup).map_err(|error| keyring_use_error(name, &error, config))?;
    let origin = keyring_key::key_origin(name, config, lookup)
        .ok_or_else(|| CommandError::failure(words::describe_no_key_origin(&name)))?;
    Ok((keyring, origin))
}

fn describe_stored_key(
    name: &str,
    origin: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> String {
    let mut text = words::describe_stored_key(&name, &origin);
    if let Some(first) =
        key_source::list_configured_sources(&find_provider(name, config), config, lookup).first()
    {
        text.push_str(&words::describe_key_before(first));
    }
    text
}

fn remove_key(
    name: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let keyring =
        Keyring::detect(lookup).map_err(|error| keyring_use_error(name, &error, config))?;
    let is_removed =
        keyring.remove(name).map_err(|error| keyring_use_error(name, &error, config))?;
    let remaining =
        key_source::list_configured_sources(&find_provider(name, config), config, lookup);
    match (is_removed, remaining.first()) {
        (true, None) => Ok(words::describe_removed_key(&name)),
        (true, Some(remaining)) => Ok(words::describe_key_left(&name, remaining)),
        (false, None) => Err(CommandError::failure(words::describe_no_stored_key(&name))),
        (false, Some(remaining)) => {
            Err(CommandError::failure(words::describe_key_elsewhere(&name, remaining)))
        }
    }
}

fn keyring_use_error(name: &str, error: &KeyringError, config: &Config) -> CommandError {
    let provider = find_provider(name, config);
    let instead = match provider.key_env.first() {
        Some(variable) => words::advise_variable(variable),
        None => words::advise_key_file(&name, &describe_config_path(config)),
    };
    CommandError::failure(words::describe_unusable_keyring(error, &instead))
}

fn find_provider(name: &str, config: &Config) -> ProviderConfig {
    config.providers.get(name).cloned().unwrap_or_default()
}

fn describe_config_path(config: &Config) -> String {
    let path = config.path.as_ref().map(|path| path.display().to_string());
    path.unwrap_or_else(|| words::SOME_CONFIG.to_owned())
}
