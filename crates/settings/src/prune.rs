//! Makes JSON fit the types: removes invalid entries one by one, and reports them.

use serde_json::{Map, Value, json};
use windlass_config_text::find_similar_name;

use crate::json_spans::push_pointer_key;
use crate::settings::SettingsFile;
use crate::settings_key;
use crate::settings_problem::ProblemSeverity;

/// A removed entry, by its JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrunedEntry {
    pub(crate) pointer: String,
    pub(crate) what: String,
    pub(crate) severity: ProblemSeverity,
}

pub(crate) fn prune(settings: &Map<String, Value>) -> (Map<String, Value>, Vec<PrunedEntry>) {
    let mut cuts = Vec::new();
    let mut retained = drop_unknown_keys(settings, "", &mut cuts);
    retained.retain(|_, value| !value.is_null());
    let fits = |value: &Value| serde_json::from_value::<SettingsFile>(value.clone()).map(drop);
    let retained = match drop_unfitting(Value::Object(retained), &fits, "", &mut cuts) {
        Some(Value::Object(retained)) => retained,
        _ => Map::new(),
    };
    (retained, cuts)
}

fn drop_unknown_keys(
    object: &Map<String, Value>,
    pointer: &str,
    cuts: &mut Vec<PrunedEntry>,
) -> Map<String, Value> {
    let names = settings_key::known_keys(pointer);
    let mut retained = Map::new();
    for (name, value) in object {
        let below = push_pointer_key(pointer, name);
        if names.as_ref().is_some_and(|names| !names.contains(name)) {
            if settings_key::is_foreign_key(&to_dotted_key(&below)) {
                continue;
            }
            let near = names
                .as_ref()
                .and_then(|names| find_similar_name(name, names.iter().map(String::as_str)));
            let advice = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let what = format!("there is no setting `{}`{advice}", to_dotted_key(&below));
            cuts.push(PrunedEntry { pointer: below, what, severity: ProblemSeverity::Idle });
            continue;
        }
        let value = match value {
            Value::Object(inner) if names.is_some() => {
                Value::Object(drop_unknown_keys(inner, &below, cuts))
            }
            other => other.clone(),
        };
        retained.insert(name.clone(), value);
    }
    retained
}

type ValueCheck<'a> = &'a dyn Fn(&Value) -> Result<(), serde_json::Error>;

/// The value without invalid entries. Each entry of objects and lists is tried.
fn drop_unfitting(
    value: Value,
    fits: ValueCheck<'_>,
    pointer: &str,
    cuts: &mut Vec<PrunedEntry>,
) -> Option<Value> {
    let Err(why) = fits(&value) else { return Some(value) };
    match value {
        Value::Object(entries) if fits(&json!({})).is_ok() => {
            let mut retained = Map::new();
            for (key, value) in entries {
                let alone = |value: &Value| {
                    let mut one = Map::new();
                    one.insert(key.clone(), value.clone());
                    fits(&Value::Object(one))
                };
                if let Some(value) =
                    drop_unfitting(value, &alone, &push_pointer_key(pointer, &key), cuts)
                {
                    retained.insert(key, value);
                }
            }
            Some(Value::Object(retained))
        }
        Value::Array(items) if fits(&json!([])).is_ok() => {
            let mut retained = Vec::new();
            for (index, item) in items.into_iter().enumerate() {
                let alone = |item: &Value| fits(&Value::Array(vec![item.clone()]));
                retained.extend(drop_unfitting(item, &alone, &format!("{pointer}/{index}"), cuts));
            }
            Some(Value::Array(retained))
        }
        _ => {
            let why = reword_serde_error(&why.to_string());
            let what = format!("`{}` is invalid and ignored: {why}", to_dotted_key(pointer));
            cuts.push(PrunedEntry {
                pointer: pointer.to_owned(),
                what,
                severity: ProblemSeverity::Entry,
            });
            None
        }
    }
}

/// Describes the error in terms of JSON instead of our types.
fn reword_serde_error(why: &str) -> String {
    let Some((found, wanted)) = why.split_once(", expected ") else { return why.to_owned() };
    let wanted = match wanted {
        "a sequence" => "a list",
        "a map" => "an object",
        "a boolean" => "true or false",
        wanted if wanted.starts_with("struct ") => "an object",
        wanted if wanted.starts_with("a nonzero") => "a whole number above 0",
        "u64" | "u32" | "u16" | "u8" => "a whole number",
        wanted => wanted,
    };
    format!("{found}, expected {wanted}")
}

/// A JSON pointer in dotted notation.
pub(crate) fn to_dotted_key(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
    steps.collect::<Vec<_>>().join(".")
}
