//! Values of many layers to one: a scalar of the highest layer counts, objects are merged key by key,
//! lists add up. Which layers a value came from is kept. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use windlass_permission::layer::Source;

use crate::text::step;

/// Layers by their number in the list that was merged.
pub(crate) type Origins = BTreeMap<String, Vec<usize>>;

/// Merges layers, lowest first. Origins are told by JSON pointer.
pub(crate) fn merge(layers: &[(Source, &Map<String, Value>)]) -> (Map<String, Value>, Origins) {
    let (mut merged, mut origins) = (Map::new(), Origins::new());
    for (number, (source, settings)) in layers.iter().enumerate() {
        let mut over = Over { number, source: *source, origins: &mut origins };
        over.object(&mut merged, settings, "");
    }
    (merged, origins)
}

struct Over<'a> {
    number: usize,
    source: Source,
    origins: &'a mut Origins,
}

impl Over<'_> {
    fn object(&mut self, under: &mut Map<String, Value>, over: &Map<String, Value>, pointer: &str) {
        for (key, value) in over {
            let pointer = step(pointer, key);
            match (under.get_mut(key), value) {
                (Some(Value::Object(under)), Value::Object(over)) => {
                    self.object(under, over, &pointer);
                }
                (Some(Value::Array(under)), Value::Array(over)) if !self.is_whole(&pointer) => {
                    for item in over {
                        if !under.contains(item) {
                            under.push(item.clone());
                        }
                    }
                    self.origins.entry(pointer).or_default().push(self.number);
                }
                (_, value) => {
                    self.forget(&pointer);
                    under.insert(key.clone(), value.clone());
                    self.note(value, pointer);
                }
            }
        }
    }

    /// Lists of which the highest layer's counts alone.
    fn is_whole(&self, pointer: &str) -> bool {
        pointer == "/fallbackModel"
            || (pointer == "/availableModels" && self.source == Source::Managed)
    }

    fn forget(&mut self, pointer: &str) {
        let below = format!("{pointer}/");
        self.origins.retain(|known, _| known != pointer && !known.starts_with(&below));
    }

    fn note(&mut self, value: &Value, pointer: String) {
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                for (key, value) in inner {
                    self.note(value, step(&pointer, key));
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
        let user = Source::User;
        let cases = [
            // Scalars: the highest layer wins.
            (
                vec![(user, json!({"model": "a"})), (Source::Flag, json!({"model": "b"}))],
                json!({"model": "b"}),
            ),
            // Objects: key by key.
            (
                vec![
                    (user, json!({"env": {"A": "1", "B": "1"}})),
                    (Source::Project, json!({"env": {"B": "2", "C": "2"}})),
                ],
                json!({"env": {"A": "1", "B": "2", "C": "2"}}),
            ),
            // Objects in objects too.
            (
                vec![
                    (
                        user,
                        json!({"sandbox": {"enabled": true, "network": {"allowedDomains": ["a"]}}}),
                    ),
                    (
                        Source::Local,
                        json!({"sandbox": {"network": {"allowedDomains": ["b", "a"]}}}),
                    ),
                ],
                json!({"sandbox": {"enabled": true, "network": {"allowedDomains": ["a", "b"]}}}),
            ),
            // Lists: a union, in order.
            (
                vec![
                    (user, json!({"claudeMdExcludes": ["x", "y"]})),
                    (Source::Managed, json!({"claudeMdExcludes": ["y", "z"]})),
                ],
                json!({"claudeMdExcludes": ["x", "y", "z"]}),
            ),
            // But fallbackModel is taken whole,
            (
                vec![
                    (user, json!({"fallbackModel": ["a", "b"]})),
                    (Source::Project, json!({"fallbackModel": ["c"]})),
                ],
                json!({"fallbackModel": ["c"]}),
            ),
            // and so is a managed availableModels.
            (
                vec![
                    (user, json!({"availableModels": ["a"]})),
                    (Source::Project, json!({"availableModels": ["b"]})),
                ],
                json!({"availableModels": ["a", "b"]}),
            ),
            (
                vec![
                    (user, json!({"availableModels": ["a"]})),
                    (Source::Managed, json!({"availableModels": ["b"]})),
                ],
                json!({"availableModels": ["b"]}),
            ),
            // What changes its kind is replaced.
            (
                vec![
                    (user, json!({"fallbackModel": "a"})),
                    (Source::Flag, json!({"fallbackModel": ["b"]})),
                ],
                json!({"fallbackModel": ["b"]}),
            ),
        ];
        for (layers, wanted) in cases {
            let layers: Vec<_> = layers
                .iter()
                .map(|(source, value)| (*source, value.as_object().unwrap()))
                .collect();
            assert_eq!(Value::Object(merge(&layers).0), wanted, "{layers:?}");
        }
    }

    #[test]
    fn where_each_value_came_from_is_kept() {
        let low = json!({"model": "a", "env": {"A": "1", "B": "1"}, "claudeMdExcludes": ["x"]});
        let high = json!({"model": "b", "env": {"B": "2"}, "claudeMdExcludes": ["y"]});
        let layers = [
            (Source::User, low.as_object().unwrap()),
            (Source::Managed, high.as_object().unwrap()),
        ];
        let (_, origins) = merge(&layers);
        let wanted = [
            ("/model", vec![1]),
            ("/env/A", vec![0]),
            ("/env/B", vec![1]),
            ("/claudeMdExcludes", vec![0, 1]),
        ];
        let wanted: Origins = wanted.map(|(key, from)| (key.to_owned(), from)).into();
        assert_eq!(origins, wanted);
    }
}
