//! `windlass auth`: whether a session could ask its model, in the words other programs look for.

use serde_json::json;

use crate::args::{AuthArgs, AuthCommand};
use windlass_assembly::model_selection::find_providers_with_key;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_provider::config::Config;
use windlass_provider::model_choice;

/// The answer, and the exit code that says it too.
pub(crate) fn run(
    args: &AuthArgs,
    lookup: &impl EnvLookup,
) -> Result<(String, Exit), CommandError> {
    let AuthCommand::Status { text, .. } = args.command else {
        return Err(CommandError::usage(
            "there is no login: a key is stored with `windlass key set PROVIDER` and removed with \
             `windlass key remove PROVIDER`",
        ));
    };
    let config = Config::load(lookup)?;
    let wanted = config.default_model.as_deref().unwrap_or_default();
    let chosen = model_choice::choose_model(wanted, &config, lookup)?;
    let is_ready = find_providers_with_key(&config, lookup).contains(&chosen.provider);
    let exit = if is_ready { Exit::SUCCESS } else { Exit::FAILURE };
    let provider = &chosen.provider;
    let answer = match (text, is_ready) {
        (false, _) => {
            let method = if is_ready { "api_key" } else { "none" };
            json!({ "loggedIn": is_ready, "authMethod": method, "apiProvider": provider })
                .to_string()
        }
        (true, true) => format!("There is a key for {provider}."),
        (true, false) => {
            format!("There is no key for {provider}; store one with `windlass key set {provider}`.")
        }
    };
    Ok((format!("{answer}\n"), exit))
}
