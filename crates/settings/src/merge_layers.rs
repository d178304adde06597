//! Merges the values of layers: the highest layer's scalar wins, objects are merged key by key,
//! lists are concatenated. The origins of values are recorded. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use windlass_permission::permission_layer::SettingsSource;

use crate::json_spans::push_pointer_key;

/// Layers by their index in the merged list.
pub(crate) type ValueOrigins = BTreeMap<String, Vec<usize>>;

/// Merges layers, lowest first. Origins are keyed by JSON pointer.
pub(crate) fn merge_layers(
    layers: &[(SettingsSource, &Map<String, Value>)],
) -> (Map<String, Value>, ValueOrigins) {
    let mut merged = Map::new();
    let mut origins = ValueOrigins::new();
    for (number, (source, settings)) in layers.iter().enumerate() {
        let mut over = LayerMerge { number, source: *source, origins: &mut origins };
        over.merge_object(&mut merged, settings, "");
    }
    (merged, origins)
}

struct LayerMerge<'a> {
    number: usize,
    source: SettingsSource,
    origins: &'a mut ValueOrigins,
}

impl LayerMerge<'_> {
    fn merge_object(
        &mut self,
        under: &mut Map<String, Value>,
        over: &Map<String, Value>,
        pointer: &str,
    ) {
        for (key, value) in over {
            let pointer = push_pointer_key(pointer, key);
            match (under.get_mut(key), value) {
                (Some(Value::Object(under)), Value::Object(over)) => {
                    self.merge_object(under, over, &pointer);
                }
                (Some(Value::Array(under)), Value::Array(over))
                    if !self.replaces_list(&pointer) =>
                {
                    for item in over {
                        if !under.contains(item) {
                            under.push(item.clone());
                        }
                    }
                    self.origins.entry(pointer).or_default().push(self.number);
                }
                (_, value) => {
                    self.remove_origins(&pointer);
                    under.insert(key.clone(), value.clone());
                    self.record_origins(value, pointer);
                }
            }
        }
    }

    /// These lists are replaced by the highest layer's instead of concatenated.
    fn replaces_list(&self, pointer: &str) -> bool {
        pointer == "/fallbackModel"
            || (pointer == "/availableModels" && self.source == SettingsSource::Managed)
    }

    fn remove_origins(&mut self, pointer: &str) {
        let below = format!("{pointer}/");
        self.origins.retain(|known, _| known != pointer && !known.starts_with(&below));
    }

    fn record_origins(&mut self, value: &Value, pointer: String) {
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                for (key, value) in inner {
                    self.record_origins(value, push_pointer_key(&pointer, key));
                }
            }
            _ => {
                self.origins.insert(pointer, vec![self.number]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn layers_are_put_together_as_documented() {
        let user = SettingsSource::User;
        let cases = [
            // Scalars: the highest layer wins.
            (
                vec![(user, json!({"model": "a"})), (SettingsSource::Flag, json!({"model": "b"}))],
                json!({"model": "b"}),
            ),
            // Objects: key by key.
            (
                vec![
                    (user, json!({"env": {"A": "1", "B": "1"}})),
                    (SettingsSource::Project, json!({"env": {"B": "2", "C": "2"}})),
                ],
                json!({"env": {"A": "1", "B": "2", "C": "2"}}),
            ),
            // Nested objects too.
            (
                vec![
                    (
                        user,
                        json!({"sandbox": {"enabled": true, "network": {"allowedDomains": ["a"]}}}),
                    ),
                    (
                        SettingsSource::Local,
                        json!({"sandbox": {"network": {"allowedDomains": ["b", "a"]}}}),
                    ),
                ],
                json!({"sandbox": {"enabled": true, "network": {"allowedDomains": ["a", "b"]}}}),
            ),
            // Lists: a union in order.
            (
                vec![
                    (user, json!({"claudeMdExcludes": ["x", "y"]})),
                    (SettingsSource::Managed, json!({"claudeMdExcludes": ["y", "z"]})),
                ],
                json!({"claudeMdExcludes": ["x", "y", "z"]}),
            ),
            // Except fallbackModel, which is replaced,
            (
                vec![
                    (user, json!({"fallbackModel": ["a", "b"]})),
                    (SettingsSource::Project, json!({"fallbackModel": ["c"]})),
                ],
                json!({"fallbackModel": ["c"]}),
            ),
            // and a managed availableModels.
            (
                vec![
                    (user, json!({"availableModels": ["a"]})),
                    (SettingsSource::Project, json!({"availableModels": ["b"]})),
                ],
                json!({"availableModels": ["a", "b"]}),
            ),
            (
                vec![
                    (user, json!({"availableModels": ["a"]})),
                    (SettingsSource::Managed, json!({"availableModels": ["b"]})),
                ],
                json!({"availableModels": ["b"]}),
            ),
            // A value of another type is replaced.
            (
                vec![
                    (user, json!({"fallbackModel": "a"})),
                    (SettingsSource::Flag, json!({"fallbackModel": ["b"]})),
                ],
                json!({"fallbackModel": ["b"]}),
            ),
        ];
        for (layers, wanted) in cases {
            let layers: Vec<_> = layers
                .iter()
                .map(|(source, value)| (*source, value.as_object().unwrap()))
                .collect();
            assert_eq!(Value::Object(merge_layers(&layers).0), wanted, "{layers:?}");
        }
    }

    #[test]
    fn where_each_value_came_from_is_kept() {
        let low = json!({"model": "a", "env": {"A": "1", "B": "1"}, "claudeMdExcludes": ["x"]});
        let high = json!({"model": "b", "env": {"B": "2"}, "claudeMdExcludes": ["y"]});
        let layers = [
            (SettingsSource::User, low.as_object().unwrap()),
            (SettingsSource::Managed, high.as_object().unwrap()),
        ];
        let (_, origins) = merge_layers(&layers);
        let wanted = [
            ("/model", vec![1]),
            ("/env/A", vec![0]),
            ("/env/B", vec![1]),
            ("/claudeMdExcludes", vec![0, 1]),
        ];
        let wanted: ValueOrigins = wanted.map(|(key, from)| (key.to_owned(), from)).into();
        assert_eq!(origins, wanted);
    }
}
