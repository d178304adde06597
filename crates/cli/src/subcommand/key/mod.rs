//! `windlass key`: puts keys into the system's key ring, takes them out, and tells where each
//! provider's key comes from. A key goes in by hand or through a pipe, never as an argument, and
//! never comes out here.

mod list;
mod typed;

use crate::args::{KeyArgs, KeyCommand};
use crate::choice;
use crate::config::Config;
use crate::config::provider::Provider;
use crate::environment::Lookup;
use crate::exit::Exit;
use crate::front::beside;
use crate::front::output::{Output, Target};
use crate::keyring::{Ring, Slot, Trouble};
use crate::refusal::Refusal;
use crate::server::{ring, source};
use crate::signals::Signals;

/// Does what was asked.
pub(crate) async fn run(
    args: KeyArgs,
    lookup: impl Lookup + Copy + Send + 'static,
) -> Result<Exit, Refusal> {
    let config = Config::load(&lookup)?;
    let mut signals = Signals::listen()?;
    let done = match args.command {
        KeyCommand::List(args) => {
            beside(&mut signals, move || Ok(list::run(&args, &config, &lookup))).await?
        }
        KeyCommand::Remove(args) => {
            let name = known(&args.provider, &config)?;
            beside(&mut signals, move || remove(&name, &config, &lookup)).await?
        }
        KeyCommand::Set(args) if !args.rest.is_empty() => return Err(as_argument(&args.provider)),
        KeyCommand::Set(args) => {
            let name = known(&args.provider, &config)?;
            let (ring, origin) = place(&name, &config, &lookup)?;
            match typed::key(&name, &mut signals).await? {
                Err(signal) => Err(signal),
                Ok(key) => {
                    let keep = move || {
                        let slot = Slot { provider: &name, origin: &origin };
                        ring.store(slot, &key)
                            .map_err(|trouble| refused(&name, &trouble, &config))?;
                        Ok(stored(&name, &origin, &config, &lookup))
                    };
                    beside(&mut signals, keep).await?
                }
            }
        }
    };
    let text = match done {
        Ok(text) => text,
        Err(signal) => return Ok(signal.exit()),
    };
    let mut output = Output::new(Target::Stdout);
    // A reader that went away early had enough.
    let _ = output.write(text);
    output.finish().await;
    Ok(Exit::DONE)
}

/// A command line that cannot be read. What stands in it is not repeated: it may be a key.
pub(crate) fn misread() -> Refusal {
    Refusal::usage(
        "that is not how `windlass key` is used; write `windlass key set PROVIDER`, `windlass key \
         list` or `windlass key remove PROVIDER`; see windlass key --help",
    )
}

fn as_argument(provider: &str) -> Refusal {
    Refusal::usage(format!(
        "a key is not taken from the command line, where other programs and the shell's history see \
         it; run `windlass key set {provider}` and type it, or pipe it in"
    ))
}

/// A provider by its name. A name that is near is corrected; anything else may be a key.
fn known(name: &str, config: &Config) -> Result<String, Refusal> {
    let known: Vec<&str> = config.providers.keys().map(String::as_str).collect();
    match crate::nearest::nearest(name, known.iter().copied()) {
        _ if config.providers.contains_key(name) => Ok(name.to_owned()),
        Some(_) => choice::provider(name, config),
        None => Err(Refusal::usage(format!(
            "there is no such provider; there are {}; another one needs [provider.NAME] in {}",
            known.join(", "),
            file(config)
        ))),
    }
}

/// The key ring, and where the key may go.
fn place(name: &str, config: &Config, lookup: &impl Lookup) -> Result<(Ring, String), Refusal> {
    let provider = provider(name, config);
    if !ring::is_wanted(&provider) {
        return Err(Refusal::usage(match provider.keyring {
            Some(_) => format!(
                "the key ring is not looked at for {name}; take `keyring = false` out of \
                 [provider.{name}] in {}",
                file(config)
            ),
            None => format!(
                "{name} takes no key; if yours does, add `keyring = true` to [provider.{name}] in {}",
                file(config)
            ),
        }));
    }
    let ring = Ring::here(lookup).map_err(|trouble| refused(name, &trouble, config))?;
    let origin = ring::origin(name, config, lookup).ok_or_else(|| {
        Refusal::failed(format!("the address of {name} is not one that a key could go to"))
    })?;
    Ok((ring, origin))
}

fn stored(name: &str, origin: &str, config: &Config, lookup: &impl Lookup) -> String {
    let mut text =
        format!("The key for {name} is in the key ring. It goes to {origin} and nowhere else.\n");
    if let Some(first) = source::named(&provider(name, config), config, lookup).first() {
        text.push_str(&format!("It is not used as long as there is another: {first}.\n"));
    }
    text
}

fn remove(name: &str, config: &Config, lookup: &impl Lookup) -> Result<String, Refusal> {
    let ring = Ring::here(lookup).map_err(|trouble| refused(name, &trouble, config))?;
    let is_removed = ring.remove(name).map_err(|trouble| refused(name, &trouble, config))?;
    let left = source::named(&provider(name, config), config, lookup);
    match (is_removed, left.first()) {
        (true, None) => Ok(format!("The key for {name} is out of the key ring.\n")),
        (true, Some(left)) => {
            Ok(format!("The key for {name} is out of the key ring. There is another: {left}.\n"))
        }
        (false, None) => {
            Err(Refusal::failed(format!("there is no key for {name} in the key ring")))
        }
        (false, Some(left)) => Err(Refusal::failed(format!(
            "there is no key for {name} in the key ring; it comes from elsewhere: {left}"
        ))),
    }
}

fn refused(name: &str, trouble: &Trouble, config: &Config) -> Refusal {
    let provider = provider(name, config);
    let instead = match provider.key_env.first() {
        Some(variable) => format!("or do without: export {variable}=..."),
        None => format!("or name a key_file in [provider.{name}] in {}", file(config)),
    };
    Refusal::failed(format!("the key ring cannot be used: {trouble}; {instead}"))
}

fn provider(name: &str, config: &Config) -> Provider {
    config.providers.get(name).cloned().unwrap_or_default()
}

fn file(config: &Config) -> String {
    let path = config.path.as_ref().map(|path| path.display().to_string());
    path.unwrap_or_else(|| "your config.toml".to_owned())
}
