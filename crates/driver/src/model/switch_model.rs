//! Changes the first model of a session, by name.

use windlass_engine::Settings;
use windlass_vocabulary::{ModelFacts, ModelName};

/// Accepts another model of the session or a named model; ignores unknown names.
pub(crate) fn switch_model(
    settings: &mut Settings,
    models: &[(String, ModelFacts)],
    wanted: &ModelName,
) {
    if settings.model.name == *wanted {
        return;
    }
    let own = settings.fallbacks.iter().chain(&settings.small_model);
    let own = own.into_iter().find(|model| model.name == *wanted);
    let others = || models.iter().find(|(name, _)| name == wanted.as_str());
    if let Some(model) = own.or_else(|| others().map(|(_, model)| model)).cloned() {
        settings.fallbacks.retain(|fallback| fallback.name != model.name);
        settings.model = model;
    }
}
