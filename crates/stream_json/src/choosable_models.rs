//! The models a client may choose from.

use serde_json::{Value, json};
use windlass_provider::config::Config;
use windlass_provider::model_choice;
use windlass_provider::model_choice::AvailableModels;

/// The models that may be chosen: the session's own first, then by short names, then all of the table.
/// Those that settings do not leave to choose are left out.
pub(crate) fn list_choosable_models(
    config: &Config,
    first: &str,
    available: AvailableModels<'_>,
) -> Vec<Value> {
    let environment = |name: &str| std::env::var_os(name);
    let is_left = |name: &str| {
        let chosen = model_choice::choose_model(name, config, &environment);
        chosen.is_ok_and(|chosen| available.allows(&chosen, config, &environment))
    };
    let row = |value: &str, name: &str, about: &str| json!({ "value": value, "resolvedModel": name, "displayName": name, "description": about });
    let mut rows = vec![row("default", first, "The session's own")];
    for (short, full) in config.aliases.iter().filter(|(short, _)| is_left(short)) {
        let name = full.split_once('/').map_or(full.as_str(), |(_, name)| name);
        rows.push(row(short, name, full));
    }
    for provider in config.providers.keys() {
        for name in config.listed_models(provider) {
            let full = format!("{provider}/{name}");
            if is_left(&full) {
                rows.push(row(&full, name, provider));
            }
        }
    }
    rows
}
