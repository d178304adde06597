//! The models a client may choose from.

use serde_json::{Value, json};
use windlass_assembly::model_selection::{find_allowed_model, find_ready_providers};
use windlass_assembly::settings::SettingsLayers;
use windlass_host::environment::process_environment;
use windlass_provider::endpoint::EndpointDescriptions;
use windlass_vocabulary::Effort;

/// The session's own model first, then short names, then the whole table: models that settings
/// allow, of providers with a key. The key ring is not searched, because that can block; the
/// provider in use has its key.
pub(crate) fn list_choosable_models(
    endpoints: &EndpointDescriptions,
    first: &str,
    layers: &SettingsLayers,
) -> Vec<Value> {
    let config = &endpoints.config;
    let environment = process_environment;
    let mut ready = find_ready_providers(config, &layers.overlay_environment(&environment));
    ready.insert(endpoints.primary.provider.clone());
    let find_offered = |name: &str| {
        find_allowed_model(name, config, layers, &environment)
            .filter(|chosen| ready.contains(&chosen.provider))
    };
    let row = |value: &str, provider: &str, name: &str, about: &str| {
        let efforts = config.resolve_model(provider, name).model.effort.unwrap_or_default();
        let mut row = json!({
            "value": value,
            "resolvedModel": name,
            "displayName": name,
            "description": about,
        });
        if let (false, Value::Object(fields)) = (efforts.is_empty(), &mut row) {
            let levels: Vec<&str> = efforts.into_iter().map(Effort::name).collect();
            fields.insert("supportsEffort".to_owned(), json!(true));
            fields.insert("supportedEffortLevels".to_owned(), json!(levels));
        }
        row
    };
    let mut rows = vec![row("default", &endpoints.primary.provider, first, "The session's own")];
    for (short, full) in &config.aliases {
        if let Some(chosen) = find_offered(short) {
            rows.push(row(short, &chosen.provider, &chosen.name, full));
        }
    }
    for provider in &ready {
        for name in config.listed_models(provider) {
            let full = format!("{provider}/{name}");
            if find_offered(&full).is_some() {
                rows.push(row(&full, provider, name, provider));
            }
        }
    }
    rows
}
