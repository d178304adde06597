//! `windlass auth`: whether a session could ask its model, in the words other programs look for.

use serde_json::json;

use crate::args::{AuthArgs, AuthCommand, SettingsArgs};
use crate::words;
use windlass_assembly::directories::working_directory;
use windlass_assembly::model_selection::find_providers_with_key;
use windlass_assembly::settings::SettingsLayers;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_provider::config::Config;
use windlass_provider::model_choice;
use windlass_provider::model_options::ModelOptions;

/// The answer, and the exit code that says it too.
pub(crate) fn run(
    args: &AuthArgs,
    lookup: &impl EnvLookup,
) -> Result<(String, Exit), CommandError> {
    let AuthCommand::Status { text, settings, .. } = &args.command else {
        return Err(CommandError::usage(words::NO_LOGIN));
    };
    let settings = SettingsArgs { settings: settings.clone(), ..SettingsArgs::default() };
    let layers = SettingsLayers::load(&settings.into(), false, &working_directory()?, lookup)?;
    let lookup = &layers.overlay_environment(lookup);
    let mut config = Config::load(lookup)?;
    layers.apply_key_command(&mut config);
    let wanted = layers.merge_model_options(&ModelOptions::default(), lookup);
    let chosen = model_choice::choose_model_chain(&wanted, &config, lookup)?.primary;
    let is_ready = find_providers_with_key(&config, lookup).contains(&chosen.provider);
    let exit = if is_ready { Exit::SUCCESS } else { Exit::FAILURE };
    let provider = &chosen.provider;
    let answer = match (*text, is_ready) {
        (false, _) => {
            let method = if is_ready { "api_key" } else { "none" };
            json!({ "loggedIn": is_ready, "authMethod": method, "apiProvider": provider })
                .to_string()
        }
        (true, true) => words::describe_key_present(provider),
        (true, false) => words::describe_key_absent(provider),
    };
    Ok((format!("{answer}\n"), exit))
}
