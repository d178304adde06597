//! Lists the rules of each file as written, and adds or removes one. Everything else in a file
//! stays byte for byte the same. Files of the administrator and of the command line are read-only.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_permission::permission_layer::SettingsSource;

use crate::append_rules::{RuleList, append_rules, edit_settings_file};
use crate::bounded_file;
use crate::json_spans::JsonSpanNode;
use crate::load_settings::{find_candidates, load_settings};
use crate::settings_location::{CommandLineSettings, SettingsRequest, find_project_root};
use crate::settings_write_error::SettingsWriteError;
use crate::sha256;
use crate::trust::{ALLOW_RULES_KEY, ProjectTrust, TrustItem, TrustState, TrustStore};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenRule {
    pub source: SettingsSource,
    pub name: String,
    pub line: usize,
    pub list: RuleList,
    pub rule: String,
}

#[derive(Clone, Copy, Debug)]
pub struct RuleChange<'a> {
    pub source: SettingsSource,
    pub list: RuleList,
    pub rule: &'a str,
}

/// All rules in files and flags, highest layer first. An unreadable file has none;
/// [`load_settings`] reports it.
#[must_use]
pub fn list_written_rules(request: &SettingsRequest) -> Vec<WrittenRule> {
    let mut found = Vec::new();
    for candidate in find_candidates(request).into_iter().rev() {
        let text = match &candidate.content {
            CommandLineSettings::Text(text) => Some(text.clone()),
            CommandLineSettings::File(path) => bounded_file::read_bounded(path).ok().flatten(),
        };
        let Some(text) = text else { continue };
        for list in RuleList::ALL {
            for (at, rule) in find_rules(&text, list) {
                let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
                let source = candidate.source;
                let name = candidate.name.clone();
                found.push(WrittenRule { source, name, line, list, rule });
            }
        }
    }
    found
}

/// The file to which a rule of this layer would be written; `None` for a read-only layer.
#[must_use]
pub fn rule_file_path(request: &SettingsRequest, source: SettingsSource) -> Option<PathBuf> {
    let request = &with_real_path(request);
    match source {
        SettingsSource::User => Some(request.locations.user.first()?.join("settings.json")),
        SettingsSource::Project => Some(request.cwd.join(".claude/settings.json")),
        SettingsSource::Local => {
            Some(find_project_root(&request.cwd).join(".claude/settings.local.json"))
        }
        SettingsSource::Flag | SettingsSource::Managed => None,
    }
}

/// Adds a rule, and keeps the user's trust in the project if nothing else changed. Returns the
/// file.
///
/// # Errors
/// The layer is read-only, or its file could not be changed.
pub fn add_rule(
    request: &SettingsRequest,
    change: RuleChange<'_>,
) -> Result<PathBuf, SettingsWriteError> {
    let path = rule_file_path(request, change.source).ok_or_else(|| {
        SettingsWriteError::new(&request.cwd, "rules of this kind cannot be saved here")
    })?;
    let rules = [change.rule.to_owned()];
    let name = path.display().to_string();
    edit_keeping_trust(request, &[name], change, true, || {
        append_rules(&path, change.list, &rules, backup_path(request, &path).as_deref())
    })?;
    Ok(path)
}

/// "Don't ask again": adds allow rules for this project on this machine. Returns the file.
///
/// # Errors
/// The file or the trust record could not be changed.
pub fn add_local_allow_rules(
    request: &SettingsRequest,
    rules: &[String],
) -> Result<PathBuf, SettingsWriteError> {
    let source = SettingsSource::Local;
    let list = RuleList::Allow;
    let file = rule_file_path(request, source);
    let mut path =
        file.ok_or_else(|| SettingsWriteError::new(&request.cwd, "there is no such file"))?;
    for rule in rules {
        path = add_rule(request, RuleChange { source, list, rule })?;
    }
    Ok(path)
}

/// Removes a rule from every file of the layer. Returns the files.
///
/// # Errors
/// No file of the layer has the rule, the layer is read-only, or a file could not be changed.
pub fn remove_rule(
    request: &SettingsRequest,
    change: RuleChange<'_>,
) -> Result<Vec<PathBuf>, SettingsWriteError> {
    let refused = |why: &str| SettingsWriteError::new(&request.cwd, why);
    if rule_file_path(request, change.source).is_none() {
        return Err(refused("rules of this kind cannot be saved here"));
    }
    let is_meant = |written: &WrittenRule| {
        let source = written.source;
        let list = written.list;
        (source, list, written.rule.as_str()) == (change.source, change.list, change.rule)
    };
    let mut names: Vec<String> = list_written_rules(request)
        .into_iter()
        .filter(is_meant)
        .map(|written| written.name)
        .collect();
    names.dedup();
    if names.is_empty() {
        return Err(refused("the rule is no longer there"));
    }
    edit_keeping_trust(request, &names, change, false, || {
        for path in names.iter().map(Path::new) {
            let copy = backup_path(request, path);
            remove_rule_from_file(path, change.list, change.rule, copy.as_deref())?;
        }
        Ok(())
    })?;
    Ok(names.into_iter().map(PathBuf::from).collect())
}

/// Resolves the working directory, like loading settings does.
fn with_real_path(request: &SettingsRequest) -> SettingsRequest {
    let cwd = request.cwd.canonicalize().unwrap_or_else(|_| request.cwd.clone());
    SettingsRequest { cwd, ..request.clone() }
}

/// Where the last valid version of a file is kept.
fn backup_path(request: &SettingsRequest, path: &Path) -> Option<PathBuf> {
    let state = request.locations.state.as_ref()?;
    let name = sha256::sha256_hex(path.as_os_str().as_encoded_bytes());
    Some(state.join("backup").join(format!("{name}.json")))
}

fn remove_rule_from_file(
    path: &Path,
    list: RuleList,
    rule: &str,
    copy: Option<&Path>,
) -> Result<(), SettingsWriteError> {
    edit_settings_file(path, copy, |old| {
        let why = || "nothing can be removed from it; fix it first".to_owned();
        remove_rule_text(old, list, rule).ok_or_else(why)
    })
}

/// The rules of a list, with their offsets.
fn find_rules(text: &str, list: RuleList) -> Vec<(usize, String)> {
    let found = || {
        let settings: Value = serde_json::from_str(text).ok()?;
        let rules = settings.get("permissions")?.get(list.key())?.as_array()?.clone();
        let node = JsonSpanNode::parse(text)?;
        let at = |index: usize| node.find_offset(&format!("/permissions/{}/{index}", list.key()));
        let rule = |(index, rule): (usize, &Value)| Some((at(index), rule.as_str()?.to_owned()));
        Some(rules.iter().enumerate().filter_map(rule).collect())
    };
    found().unwrap_or_default()
}

/// The text without a rule, including duplicates.
fn remove_rule_text(text: &str, list: RuleList, rule: &str) -> Option<String> {
    let mut expected: Value = serde_json::from_str(text).ok()?;
    let mut text = text.to_owned();
    let rules = expected.get_mut("permissions")?.get_mut(list.key())?.as_array_mut()?;
    while let Some(index) = rules.iter().position(|known| known == rule) {
        rules.remove(index);
        let root = JsonSpanNode::parse(&text)?;
        let node = &root.member("permissions")?.value.member(list.key())?.value;
        text = node.remove_entry(&text, index)?;
    }
    // Verify the edit by parsing, because the text may be formatted in unexpected ways.
    (serde_json::from_str::<Value>(&text).ok()? == expected).then_some(text)
}

/// Edits files of a project, and extends the user's trust to the edit, but not to a concurrent
/// change by another program.
fn edit_keeping_trust(
    request: &SettingsRequest,
    names: &[String],
    change: RuleChange<'_>,
    is_new: bool,
    write: impl FnOnce() -> Result<(), SettingsWriteError>,
) -> Result<(), SettingsWriteError> {
    let before = load_settings(request).trust;
    write()?;
    let was_fine = matches!(before.state, TrustState::NotNeeded | TrustState::Given);
    if let (true, Some(state)) = (was_fine, &request.locations.state) {
        let after = load_settings(request).trust;
        let expected = expected_trust_items(&before, names, change, is_new);
        if expected == sorted_item_texts(&after.items) && !after.items.is_empty() {
            TrustStore::new(state).accept(&after)?;
        }
    }
    Ok(())
}

/// What will need trust after the edit.
fn expected_trust_items(
    before: &ProjectTrust,
    names: &[String],
    change: RuleChange<'_>,
    is_new: bool,
) -> Vec<String> {
    let mut items = before.items.clone();
    let needs_trust = matches!(change.source, SettingsSource::Project | SettingsSource::Local);
    for name in names.iter().filter(|_| needs_trust && change.list == RuleList::Allow) {
        let place = items.iter().position(|item| item.name == *name && item.key == ALLOW_RULES_KEY);
        let place = place.unwrap_or_else(|| {
            let name = name.clone();
            let key = ALLOW_RULES_KEY.to_owned();
            items.push(TrustItem { source: change.source, name, key, value: json!([]) });
            items.len() - 1
        });
        let Some(Value::Array(list)) = items.get_mut(place).map(|item| &mut item.value) else {
            continue;
        };
        match is_new {
            true if list.iter().any(|known| known == change.rule) => {}
            true => list.push(Value::from(change.rule)),
            false => list.retain(|known| known != change.rule),
        }
        if list.is_empty() {
            items.remove(place);
        }
    }
    sorted_item_texts(&items)
}

fn sorted_item_texts(items: &[TrustItem]) -> Vec<String> {
    let mut texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings_location::SettingsLocations;

    #[test]
    fn a_rule_goes_and_the_rest_stays_as_it_is_written() {
        let list = RuleList::Allow;
        for (old, new) in [
            (r#"{"permissions":{"allow":["A"]}}"#, r#"{"permissions":{"allow":[]}}"#),
            (r#"{"permissions":{"allow":["A", "B"]}}"#, r#"{"permissions":{"allow":["B"]}}"#),
            (r#"{"permissions":{"allow":["B", "A"]}}"#, r#"{"permissions":{"allow":["B"]}}"#),
            (r#"{"permissions":{"allow":["A","B","A"]}}"#, r#"{"permissions":{"allow":["B"]}}"#),
            (
                "{\n \"z\": 1,\n \"permissions\": {\n  \"allow\": [\n   \"B\",\n   \"A\"\n  ]\n }\n}\n",
                "{\n \"z\": 1,\n \"permissions\": {\n  \"allow\": [\n   \"B\"\n  ]\n }\n}\n",
            ),
        ] {
            assert_eq!(remove_rule_text(old, list, "A").as_deref(), Some(new), "{old}");
        }
        for old in ["[]", "{", "{}", r#"{"permissions":{"allow":{}}}"#] {
            assert_eq!(remove_rule_text(old, list, "A"), None, "{old}");
        }
    }

    #[test]
    fn rules_come_and_go_and_trust_follows() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let request = SettingsRequest {
            locations: SettingsLocations {
                user: vec![root.join("home")],
                managed: vec![root.join("managed")],
                state: Some(root.join("state")),
                ..SettingsLocations::default()
            },
            cwd: root.join("project"),
            ..SettingsRequest::default()
        };
        std::fs::create_dir_all(&request.cwd).unwrap();
        std::fs::create_dir_all(root.join("managed")).unwrap();
        let managed = root.join("managed/managed-settings.json");
        std::fs::write(managed, r#"{"permissions":{"deny":["WebFetch"]}}"#).unwrap();
        let change = |source, list| RuleChange { source, list, rule: "Bash(ls:*)" };
        for (source, list) in [
            (SettingsSource::Local, RuleList::Allow),
            (SettingsSource::Project, RuleList::Allow),
            (SettingsSource::User, RuleList::Deny),
        ] {
            add_rule(&request, change(source, list)).unwrap();
        }
        assert!(load_settings(&request).trust.is_given(), "what a person adds, a person trusts");
        let all: Vec<_> = list_written_rules(&request)
            .into_iter()
            .map(|written| (written.source, written.list, written.line))
            .collect();
        let expected = [
            (SettingsSource::Managed, RuleList::Deny, 1),
            (SettingsSource::Local, RuleList::Allow, 1),
            (SettingsSource::Project, RuleList::Allow, 1),
            (SettingsSource::User, RuleList::Deny, 1),
        ];
        assert_eq!(all, expected);
        assert_eq!(load_settings(&request).rules.allow.len(), 2);
        for (source, list) in
            [(SettingsSource::Project, RuleList::Allow), (SettingsSource::User, RuleList::Deny)]
        {
            remove_rule(&request, change(source, list)).unwrap();
            assert!(remove_rule(&request, change(source, list)).is_err(), "it is gone");
        }
        assert!(load_settings(&request).trust.is_given());
        assert_eq!(load_settings(&request).rules.allow.len(), 1);
        let managed =
            RuleChange { rule: "WebFetch", ..change(SettingsSource::Managed, RuleList::Deny) };
        assert!(remove_rule(&request, managed).is_err() && add_rule(&request, managed).is_err());
    }
}
