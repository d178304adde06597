//! The keys with which sessions of this worker ask their providers, so that a rate limit holds for
//! all workers with the same key and for no others. Only variables of the environment are read: a key
//! from elsewhere is not known, and counts as one with all unknown keys of its provider.

use std::collections::BTreeMap;

use serde_json::Value;

/// By the name of the provider; the empty name is the provider of the default model. `report` is that
/// of `windlass doctor`.
pub(crate) fn find_provider_keys(
    report: &Value,
    lookup: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    let text_of = |name: &str| report.get(name).and_then(Value::as_str);
    let own = text_of("config").and_then(|path| std::fs::read_to_string(path).ok());
    let mut variables = list_key_variables(KNOWN_PROVIDERS);
    for (provider, names) in list_key_variables(&own.unwrap_or_default()) {
        variables.insert(provider, names);
    }
    let find = |names: Vec<String>| names.iter().find_map(|name| lookup(name));
    let mut keys: BTreeMap<String, String> = variables
        .into_iter()
        .filter_map(|(provider, names)| Some((provider, find(names)?)))
        .collect();
    let default = text_of("model").and_then(|model| model.split_once('/'));
    if let Some(key) = default.and_then(|(provider, _)| keys.get(provider)).cloned() {
        keys.insert(String::new(), key);
    }
    keys
}

/// The variables with a provider's key, by the name of the provider: tokens first, as `windlass` looks
/// for them. Everything else of the configuration is skipped.
fn list_key_variables(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut provider = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            let name = line.strip_prefix("[provider.").and_then(|rest| rest.split_once(']'));
            provider = name.map(|(name, _)| name.trim_matches('"').to_owned());
        }
        let (Some(provider), Some((name, value))) = (&provider, line.split_once('=')) else {
            continue;
        };
        let values = value.split('"').skip(1).step_by(2).map(str::to_owned);
        let variables = match name.trim() {
            "token_env" | "key_env" => found.entry(provider.clone()).or_default(),
            _ => continue,
        };
        let place = if name.trim() == "token_env" { 0 } else { variables.len() };
        variables.splice(place..place, values);
    }
    found
}

const KNOWN_PROVIDERS: &str = include_str!("../../../provider/src/config/known.toml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_that_of_its_provider() {
        let own = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&own, "[provider.mine]\nkey_env = [\"NONE\", \"MINE\"]\n").unwrap();
        let report = serde_json::json!({ "config": own.path(), "model": "anthropic/claude" });
        let values = [("ANTHROPIC_API_KEY", "a"), ("ANTHROPIC_AUTH_TOKEN", "t"), ("MINE", "m")];
        let lookup = |name: &str| BTreeMap::from(values).get(name).map(|it| (*it).to_owned());
        let keys = find_provider_keys(&report, lookup);
        let expected = [("", "t"), ("anthropic", "t"), ("mine", "m")];
        assert_eq!(keys, expected.map(|(name, key)| (name.to_owned(), key.to_owned())).into());
    }
}
