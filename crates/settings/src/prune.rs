//! From JSON as somebody wrote it to JSON that fits the types: what does not fit is cut out, entry by
//! entry, and told.

use serde_json::{Map, Value, json};

use crate::key;
use crate::problem::Severity;
use crate::settings::Settings;
use crate::text::step;

/// Something that was cut, by its JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) pointer: String,
    pub(crate) what: String,
    pub(crate) severity: Severity,
}

/// What fits, and what was cut.
pub(crate) fn prune(settings: &Map<String, Value>) -> (Map<String, Value>, Vec<Cut>) {
    let mut cuts = Vec::new();
    let mut kept = known(settings, "", &mut cuts);
    kept.retain(|_, value| !value.is_null());
    let fits = |value: &Value| serde_json::from_value::<Settings>(value.clone()).map(drop);
    let kept = match fitting(Value::Object(kept), &fits, "", &mut cuts) {
        Some(Value::Object(kept)) => kept,
        _ => Map::new(),
    };
    (kept, cuts)
}

/// Without the keys nobody knows.
fn known(object: &Map<String, Value>, pointer: &str, cuts: &mut Vec<Cut>) -> Map<String, Value> {
    let names = key::known(pointer);
    let mut kept = Map::new();
    for (name, value) in object {
        let below = step(pointer, name);
        if names.as_ref().is_some_and(|names| !names.contains(name)) {
            if key::is_elsewhere(&dotted(&below)) {
                continue;
            }
            let near = names.as_ref().and_then(|names| nearest(name, names));
            let advice = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let what = format!("there is no setting `{}`{advice}", dotted(&below));
            cuts.push(Cut { pointer: below, what, severity: Severity::Idle });
            continue;
        }
        let value = match value {
            Value::Object(inner) if names.is_some() => Value::Object(known(inner, &below, cuts)),
            other => other.clone(),
        };
        kept.insert(name.clone(), value);
    }
    kept
}

type Check<'a> = &'a dyn Fn(&Value) -> Result<(), serde_json::Error>;

/// The value without the entries that do not fit. Entries of objects and lists are tried one by one.
fn fitting(value: Value, fits: Check<'_>, pointer: &str, cuts: &mut Vec<Cut>) -> Option<Value> {
    let Err(why) = fits(&value) else { return Some(value) };
    match value {
        Value::Object(entries) if fits(&json!({})).is_ok() => {
            let mut kept = Map::new();
            for (key, value) in entries {
                let alone = |value: &Value| {
                    let mut one = Map::new();
                    one.insert(key.clone(), value.clone());
                    fits(&Value::Object(one))
                };
                if let Some(value) = fitting(value, &alone, &step(pointer, &key), cuts) {
                    kept.insert(key, value);
                }
            }
            Some(Value::Object(kept))
        }
        Value::Array(items) if fits(&json!([])).is_ok() => {
            let mut kept = Vec::new();
            for (index, item) in items.into_iter().enumerate() {
                let alone = |item: &Value| fits(&Value::Array(vec![item.clone()]));
                kept.extend(fitting(item, &alone, &format!("{pointer}/{index}"), cuts));
            }
            Some(Value::Array(kept))
        }
        _ => {
            let why = plainly(&why.to_string());
            let what = format!("`{}` does not fit and is left out: {why}", dotted(pointer));
            cuts.push(Cut { pointer: pointer.to_owned(), what, severity: Severity::Entry });
            None
        }
    }
}

/// What does not fit, in the words of JSON and not in those of our types.
fn plainly(why: &str) -> String {
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

/// A pointer as people write it.
pub(crate) fn dotted(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
    steps.collect::<Vec<_>>().join(".")
}

/// A known key that differs only in case, by one letter, or by two that are swapped.
fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a String> {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
    };
    let own = plain(name);
    known
        .iter()
        .find(|other| plain(other) == own)
        .or_else(|| known.iter().find(|other| is_one_letter_off(&own, &plain(other))))
}

fn is_one_letter_off(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let rest = |text: &[char], skip: usize| text.get(same + skip..).unwrap_or_default().to_vec();
    let swapped = match (a.get(same..same + 2), b.get(same..same + 2)) {
        (Some([one, other]), Some([first, second])) => one == second && other == first,
        _ => false,
    };
    a.len() > 2
        && (swapped && rest(&a, 2) == rest(&b, 2)
            || rest(&a, 1) == rest(&b, 1)
            || rest(&a, 1) == rest(&b, 0)
            || rest(&a, 0) == rest(&b, 1))
}
