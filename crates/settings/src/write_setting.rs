//! Adds, changes and removes servers and settings in the user's files. Everything else in the file
//! stays byte for byte the same.

use std::path::Path;

use serde_json::{Map, Value};

use crate::atomic_edit::AtomicEdit;
use crate::json_spans::{JsonSpanKind, JsonSpanNode};
use crate::settings_write_error::SettingsWriteError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpServerScope<'a> {
    /// At the top level.
    All,
    /// In the entry of a project.
    Project(&'a str),
}

/// Adds, replaces or removes a server. Returns whether it existed before.
///
/// # Errors
/// The file is not valid JSON, is a symlink, or could not be written.
pub fn write_mcp_server(
    path: &Path,
    scope: McpServerScope<'_>,
    name: &str,
    server: Option<&Value>,
) -> Result<bool, SettingsWriteError> {
    let mut keys = match scope {
        McpServerScope::All => vec!["mcpServers"],
        McpServerScope::Project(project) => vec!["projects", project, "mcpServers"],
    };
    keys.push(name);
    let mut was_there = false;
    edit_value(AtomicEdit { path, mode: 0o600, backup: None }, &keys, |old| {
        was_there = old.is_some();
        server.cloned()
    })?;
    Ok(was_there)
}

/// Changes one setting, named by its path of keys; `None` removes it.
///
/// # Errors
/// The file is not valid JSON, is a symlink, or could not be written.
pub fn write_setting(
    path: &Path,
    keys: &[&str],
    change: impl FnOnce(Option<Value>) -> Option<Value>,
) -> Result<(), SettingsWriteError> {
    if path.parent().is_some_and(|folder| folder.is_symlink()) {
        return Err(SettingsWriteError::new(path, "its folder is a link that may lead anywhere"));
    }
    edit_value(AtomicEdit { path, mode: 0o644, backup: None }, keys, change)
}

fn edit_value(
    file: AtomicEdit<'_>,
    keys: &[&str],
    change: impl FnOnce(Option<Value>) -> Option<Value>,
) -> Result<(), SettingsWriteError> {
    let path = file.path;
    if path.is_symlink() {
        return Err(SettingsWriteError::new(path, "it is a link that may lead anywhere"));
    }
    file.apply(|old| {
        let failed = |why: &str| SettingsWriteError::new(path, why);
        let old = old.unwrap_or("{}\n");
        let mut text = old.to_owned();
        let before = lookup(old, keys);
        let value = change(before.clone());
        if before == value {
            return Ok(None);
        }
        if before.is_some() {
            text =
                remove_text(&text, keys).ok_or_else(|| failed("it is not written as expected"))?;
        }
        if let Some(value) = &value {
            let whole = insert_text(&text, keys, value);
            text = whole
                .ok_or_else(|| failed("it is not written as expected; add the entry by hand"))?;
        }
        // Verify the edit by parsing, because the text may be formatted in unexpected ways.
        let is_meant = apply_to_value(old, keys, value.as_ref()).is_some_and(|expected| {
            serde_json::from_str::<Value>(&text).is_ok_and(|new| new == expected)
        });
        match is_meant {
            true => Ok((text != old).then_some(text)),
            false => Err(failed("it holds no JSON object that can be changed; fix it first")),
        }
    })
}

fn lookup(text: &str, keys: &[&str]) -> Option<Value> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    for key in keys {
        value = value.get_mut(*key)?.take();
    }
    Some(value)
}

/// Makes the same change in the parsed document.
fn apply_to_value(text: &str, keys: &[&str], server: Option<&Value>) -> Option<Value> {
    let mut whole: Value = serde_json::from_str(text).ok()?;
    let (last, path) = keys.split_last()?;
    let mut at = whole.as_object_mut()?;
    for key in path {
        if server.is_none() && !at.contains_key(*key) {
            return Some(whole);
        }
        at = at.entry(*key).or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
    }
    match server {
        Some(server) => at.insert((*last).to_owned(), server.clone()),
        None => at.remove(*last),
    };
    Some(whole)
}

fn insert_text(text: &str, keys: &[&str], server: &Value) -> Option<String> {
    let root = JsonSpanNode::parse(text)?;
    let mut node = &root;
    for (place, key) in keys.iter().enumerate() {
        if let Some(member) = node.member(key) {
            node = &member.value;
            continue;
        }
        let missing = keys.get(place + 1..)?;
        let mut entry = serde_json::to_string_pretty(server).ok()?;
        for key in missing.iter().rev() {
            entry = format!("{{{}: {entry}}}", Value::from(*key));
        }
        return node.insert_entries(text, &[format!("{}: {entry}", Value::from(*key))]);
    }
    None
}

fn remove_text(text: &str, keys: &[&str]) -> Option<String> {
    let root = JsonSpanNode::parse(text)?;
    let (last, path) = keys.split_last()?;
    let node = path.iter().try_fold(&root, |node, key| Some(&node.member(key)?.value))?;
    let JsonSpanKind::Object(members) = &node.kind else { return None };
    let place = members.iter().position(|member| member.key == *last)?;
    node.remove_entry(text, place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn servers_come_and_go_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.json");
        let text = "{\n  \"z\": 1,\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}\n  },\n  \"y\": [ 2 ]\n}\n";
        std::fs::write(&path, text).unwrap();
        let server = json!({"command": "b"});
        assert!(!write_mcp_server(&path, McpServerScope::All, "b", Some(&server)).unwrap());
        assert!(
            !write_mcp_server(&path, McpServerScope::Project("/p"), "c", Some(&server)).unwrap()
        );
        assert!(
            write_mcp_server(&path, McpServerScope::All, "b", Some(&json!({"command": "c"})))
                .unwrap()
        );
        let now: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(now["mcpServers"]["b"]["command"], "c");
        assert_eq!(now["projects"]["/p"]["mcpServers"]["c"], server);
        assert!(write_mcp_server(&path, McpServerScope::All, "b", None).unwrap());
        assert!(!write_mcp_server(&path, McpServerScope::All, "nobody", None).unwrap());
        assert!(!write_mcp_server(&path, McpServerScope::Project("/q"), "c", None).unwrap());
        assert!(write_mcp_server(&path, McpServerScope::Project("/p"), "c", None).unwrap());
        let left = std::fs::read_to_string(&path).unwrap();
        assert!(left.starts_with(text.trim_end().trim_end_matches('}').trim_end()), "{left}");
        let keys = ["permissions", "defaultMode"];
        write_setting(&path, &keys, |old| old.is_none().then(|| json!("plan"))).unwrap();
        write_setting(&path, &["z"], |old| Some(json!(old?.as_u64()? + 1))).unwrap();
        let now: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!((&now["permissions"]["defaultMode"], &now["z"]), (&json!("plan"), &json!(2)));
        write_setting(&path, &keys, |_| None).unwrap();
        assert!(!std::fs::read_to_string(&path).unwrap().contains("plan"));
        std::fs::write(&path, "[]").unwrap();
        assert!(write_mcp_server(&path, McpServerScope::All, "b", Some(&server)).is_err());
    }
}
