//! `windlass key`: puts keys into the system's key ring, takes them out, and tells where each
//! provider's key comes from. A key goes in by hand or through a pipe, never as an argument, and
//! never comes out here.

mod key_input;
mod list;

use crate::args::{KeyArgs, KeyCommand};
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

/// Does what was asked.
pub(crate) async fn run(
    args: KeyArgs,
    lookup: impl EnvLookup + Copy + Send + 'static,
) -> Result<Exit, CommandError> {
    let config = Config::load(&lookup)?;
    let mut signals = SignalListener::listen()?;
    let done = match args.command {
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
            let (ring, origin) = resolve_keyring_target(&name, &config, &lookup)?;
            match key_input::read_key(&name, &mut signals).await? {
                Err(signal) => Err(signal),
                Ok(key) => {
                    let keep = move || {
                        let slot = KeyringSlot { provider: &name, origin: &origin };
                        ring.store(slot, &key)
                            .map_err(|trouble| keyring_use_error(&name, &trouble, &config))?;
                        Ok(describe_stored_key(&name, &origin, &config, &lookup))
                    };
                    run_blocking_unless_signalled(&mut signals, keep).await?
                }
            }
        }
    };
    let text = match done {
        Ok(text) => text,
        Err(signal) => return Ok(signal.exit()),
    };
    let mut output = OutputWriter::new(OutputTarget::Stdout);
    // A reader that went away early had enough.
    let _ = output.write(text);
    output.finish().await;
    Ok(Exit::SUCCESS)
}

/// A command line that cannot be read. What stands in it is not repeated: it may be a key.
pub(crate) fn unreadable_arguments_error() -> CommandError {
    CommandError::usage(
        "that is not how `windlass key` is used; write `windlass key set PROVIDER`, `windlass key \
         list` or `windlass key remove PROVIDER`; see windlass key --help",
    )
}

fn key_as_argument_error(provider: &str) -> CommandError {
    CommandError::usage(format!(
        "a key is not taken from the command line, where other programs and the shell's history see \
         it; run `windlass key set {provider}` and type it, or pipe it in"
    ))
}

/// A provider by its name. A name that is near is corrected; anything else may be a key.
fn resolve_provider_name(name: &str, config: &Config) -> Result<String, CommandError> {
    let known: Vec<&str> = config.providers.keys().map(String::as_str).collect();
    match windlass_host::similar_name::find_similar_name(name, known.iter().copied()) {
        _ if config.providers.contains_key(name) => Ok(name.to_owned()),
        Some(_) => model_choice::check_provider_name(name, config),
        None => Err(CommandError::usage(format!(
            "there is no such provider; there are {}; another one needs [provider.NAME] in {}",
            known.join(", "),
            describe_config_path(config)
        ))),
    }
}

/// The key ring, and where the key may go.
fn resolve_keyring_target(
    name: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<(Keyring, String), CommandError> {
    let provider = find_provider(name, config);
    if !keyring_key::uses_keyring(&provider) {
        return Err(CommandError::usage(match provider.keyring {
            Some(_) => format!(
                "the key ring is not looked at for {name}; take `keyring = false` out of \
                 [provider.{name}] in {}",
                describe_config_path(config)
            ),
            None => format!(
                "{name} takes no key; if yours does, add `keyring = true` to [provider.{name}] in {}",
                describe_config_path(config)
            ),
        }));
    }
    let ring =
        Keyring::detect(lookup).map_err(|trouble| keyring_use_error(name, &trouble, config))?;
    let origin = keyring_key::key_origin(name, config, lookup).ok_or_else(|| {
        CommandError::failure(format!("the address of {name} is not one that a key could go to"))
    })?;
    Ok((ring, origin))
}

fn describe_stored_key(
    name: &str,
    origin: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> String {
    let mut text =
        format!("The key for {name} is in the key ring. It goes to {origin} and nowhere else.\n");
    if let Some(first) =
        key_source::list_configured_sources(&find_provider(name, config), config, lookup).first()
    {
        text.push_str(&format!("It is not used as long as there is another: {first}.\n"));
    }
    text
}

fn remove_key(
    name: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let ring =
        Keyring::detect(lookup).map_err(|trouble| keyring_use_error(name, &trouble, config))?;
    let is_removed =
        ring.remove(name).map_err(|trouble| keyring_use_error(name, &trouble, config))?;
    let left = key_source::list_configured_sources(&find_provider(name, config), config, lookup);
    match (is_removed, left.first()) {
        (true, None) => Ok(format!("The key for {name} is out of the key ring.\n")),
        (true, Some(left)) => {
            Ok(format!("The key for {name} is out of the key ring. There is another: {left}.\n"))
        }
        (false, None) => {
            Err(CommandError::failure(format!("there is no key for {name} in the key ring")))
        }
        (false, Some(left)) => Err(CommandError::failure(format!(
            "there is no key for {name} in the key ring; it comes from elsewhere: {left}"
        ))),
    }
}

fn keyring_use_error(name: &str, trouble: &KeyringError, config: &Config) -> CommandError {
    let provider = find_provider(name, config);
    let instead = match provider.key_env.first() {
        Some(variable) => format!("or do without: export {variable}=..."),
        None => {
            format!("or name a key_file in [provider.{name}] in {}", describe_config_path(config))
        }
    };
    CommandError::failure(format!("the key ring cannot be used: {trouble}; {instead}"))
}

fn find_provider(name: &str, config: &Config) -> ProviderConfig {
    config.providers.get(name).cloned().unwrap_or_default()
}

fn describe_config_path(config: &Config) -> String {
    let path = config.path.as_ref().map(|path| path.display().to_string());
    path.unwrap_or_else(|| "your config.toml".to_owned())
}
