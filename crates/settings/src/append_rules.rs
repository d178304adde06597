//! Adds rules to a settings file, as "don't ask again" does. Everything else in the file stays as it
//! is, byte for byte: order, spaces, unknown keys.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::atomic_edit::AtomicEdit;
use crate::json_spans::JsonSpanNode;
use crate::settings_write_error::SettingsWriteError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleList {
    Allow,
    Ask,
    Deny,
}

impl RuleList {
    /// In order of precedence.
    pub const ALL: [Self; 3] = [Self::Deny, Self::Ask, Self::Allow];

    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Adds rules that are not there yet. `copy` is where the last valid version is kept.
///
/// # Errors
/// The file is not valid settings, is a symlink, or could not be written.
pub(crate) fn append_rules(
    path: &Path,
    list: RuleList,
    rules: &[String],
    copy: Option<&Path>,
) -> Result<(), SettingsWriteError> {
    edit_settings_file(path, copy, |old| append_to_text(old, list.key(), rules))
}

/// Edits a settings file; an `Err` of the function is why that is not possible. A symlink is left
/// alone.
pub(crate) fn edit_settings_file(
    path: &Path,
    copy: Option<&Path>,
    change: impl FnOnce(&str) -> Result<String, String>,
) -> Result<(), SettingsWriteError> {
    if is_link(path) || path.parent().is_some_and(is_link) {
        return Err(SettingsWriteError::new(path, "it is a link that may lead anywhere"));
    }
    AtomicEdit { path, mode: 0o644, backup: copy }.apply(|old| {
        let old = old.unwrap_or("{}\n");
        let new = change(old).map_err(|why| SettingsWriteError::new(path, why))?;
        Ok((new != old).then_some(new))
    })
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
}

fn append_to_text(text: &str, list: &str, rules: &[String]) -> Result<String, String> {
    let Ok(Value::Object(mut settings)) = serde_json::from_str(text) else {
        return Err("it holds no settings; fix it first".to_owned());
    };
    let node = JsonSpanNode::parse(text).ok_or("it holds no settings; fix it first")?;
    if let Some((key, _)) = node.find_duplicate_key() {
        return Err(format!("the key `{key}` is written twice; fix it first"));
    }
    let permissions = settings.entry("permissions").or_insert_with(|| Value::Object(Map::new()));
    let permissions = permissions.as_object_mut().ok_or("`permissions` is not an object")?;
    let known = permissions.entry(list).or_insert_with(|| json!([]));
    let known =
        known.as_array_mut().ok_or_else(|| format!("`permissions.{list}` is not a list"))?;
    let mut missing: Vec<&String> = Vec::new();
    for rule in rules {
        if !known.iter().any(|known| known == rule) && !missing.contains(&rule) {
            missing.push(rule);
        }
    }
    if missing.is_empty() {
        return Ok(text.to_owned());
    }
    known.extend(missing.iter().map(|rule| Value::from(rule.as_str())));
    let texts: Vec<String> =
        missing.iter().map(|rule| Value::from(rule.as_str()).to_string()).collect();
    let new = match node.member("permissions").map(|member| &member.value) {
        None => {
            let entry = format!("\"permissions\": {{\"{list}\": [{}]}}", texts.join(", "));
            node.insert_entries(text, &[entry])
        }
        Some(permissions) => match permissions.member(list).map(|member| &member.value) {
            None => {
                let entry = format!("\"{list}\": [{}]", texts.join(", "));
                permissions.insert_entries(text, &[entry])
            }
            Some(list) => list.insert_entries(text, &texts),
        },
    };
    // Verify the edit by parsing, because the text may be formatted in unexpected ways.
    let is_meant = new.as_deref().is_some_and(|new| {
        serde_json::from_str::<Value>(new).is_ok_and(|new| new == Value::Object(settings))
    });
    new.filter(|_| is_meant)
        .ok_or_else(|| "it is not written as expected; add the entry by hand".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_else_stays_as_it_was() {
        let cases = [
            ("{}", r#"{"permissions": {"allow": ["B", "C"]}}"#),
            (r#"{"z":1}"#, r#"{"z":1, "permissions": {"allow": ["B", "C"]}}"#),
            (
                "{\n  \"z\": [1],\n  \"a\": {}\n}\n",
                "{\n  \"z\": [1],\n  \"a\": {},\n  \"permissions\": {\"allow\": [\"B\", \"C\"]}\n}\n",
            ),
            (
                "{\n\t\"permissions\": {\n\t\t\"deny\": [\"X\"],\n\t\t\"allow\": [\n\t\t\t\"A\"\n\t\t]\n\t},\n\t\"model\": \"x\"\n}",
                "{\n\t\"permissions\": {\n\t\t\"deny\": [\"X\"],\n\t\t\"allow\": [\n\t\t\t\"A\",\n\t\t\t\"B\",\n\t\t\t\"C\"\n\t\t]\n\t},\n\t\"model\": \"x\"\n}",
            ),
            (r#"{"permissions":{"allow":["B"]}}"#, r#"{"permissions":{"allow":["B", "C"]}}"#),
            (r#"{"permissions":{"allow":["C","B"]}}"#, r#"{"permissions":{"allow":["C","B"]}}"#),
            (r#"{"permissions":{}}"#, r#"{"permissions":{"allow": ["B", "C"]}}"#),
        ];
        let rules = ["B".to_owned(), "C".to_owned(), "B".to_owned()];
        for (old, new) in cases {
            assert_eq!(append_to_text(old, "allow", &rules).unwrap(), new, "{old}");
        }
        for old in [
            "[]",
            "{",
            r#"{"permissions": 1}"#,
            r#"{"permissions":{"allow":{}}}"#,
            r#"{"a":1,"a":1}"#,
        ] {
            assert!(append_to_text(old, "allow", &rules).is_err(), "{old}");
        }
    }
}
