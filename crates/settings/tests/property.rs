//! Whatever the lower layers say, and however broken they are, what the administrator denies is denied;
//! and a file that breaks never lets anything run.
#![allow(clippy::expect_used, reason = "a panic is how a test says no")]

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_permission::policy_check::{PermissionDecisionKind, build_report};
use windlass_permission::{Policy, VirtualTree};
use windlass_settings::{
    CommandLineSettings, LoadedSettings, SettingsLocations, SettingsRequest, load_settings,
};
use windlass_vocabulary::{Json, PermissionMode, ToolCall};

const LAYERS: &[&str] =
    &["user/settings.json", "cwd/.claude/settings.json", "cwd/.claude/settings.local.json"];

fn rule() -> impl Strategy<Value = Value> {
    let texts = prop::sample::select(vec![
        "Bash",
        "Bash(*)",
        "Bash(rm:*)",
        "Bash(ls:*)",
        "Edit",
        "Edit(//**)",
        "Read",
        "Read(~/x)",
        "*",
        "Bash(rm",
        "mcp__a__*",
        "WebFetch(domain:*)",
        "Bash(rm -rf /w/x)",
        "",
    ]);
    prop_oneof![9 => texts.prop_map(Value::from), 1 => Just(json!(7)), 1 => Just(json!(null))]
}

fn list() -> impl Strategy<Value = Value> {
    let rules = prop::collection::vec(rule(), 0..4).prop_map(Value::from);
    prop_oneof![8 => rules, 1 => Just(json!("Bash")), 1 => Just(json!({}))]
}

fn settings() -> impl Strategy<Value = String> {
    let modes = vec!["default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "nonsense"];
    let parts = (list(), list(), list(), prop::sample::select(modes), any::<bool>());
    let whole = parts.prop_map(|(allow, ask, deny, mode, only)| {
        json!({
            "permissions": {"allow": allow, "ask": ask, "deny": deny, "defaultMode": mode,
                "additionalDirectories": ["/"], "disableBypassPermissionsMode": "enable"},
            "allowManagedPermissionRulesOnly": only,
            "sandbox": {"enabled": false},
        })
        .to_string()
    });
    (whole, 0..4_usize, any::<prop::sample::Index>()).prop_map(|(text, how, at)| match how {
        0 => text[..at.index(text.len())].to_owned(),
        1 => text.replacen("permissions", "deny", 1),
        _ => text,
    })
}

struct TestProject(TempDir);

impl TestProject {
    fn load(&self, texts: &[Option<String>], flag: Option<&str>, managed: &str) -> LoadedSettings {
        let path = |name: &str| self.0.path().join(name);
        for (name, text) in LAYERS.iter().zip(texts) {
            let path = path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            match text {
                Some(text) => fs::write(path, text).expect("written"),
                None => drop(fs::remove_file(path)),
            }
        }
        fs::create_dir_all(path("etc")).expect("a folder");
        fs::write(path("etc/managed-settings.json"), managed).expect("written");
        load_settings(&SettingsRequest {
            locations: SettingsLocations {
                managed: vec![path("etc")],
                user: vec![path("user")],
                home: Some(path("user")),
                ..SettingsLocations::default()
            },
            cwd: path("cwd"),
            command_line: flag.map(|text| CommandLineSettings::Text(text.to_owned())),
            is_trusted: true,
            ..SettingsRequest::default()
        })
    }
}

fn decide(loaded: &LoadedSettings, tool: &str, input: &Value) -> PermissionDecisionKind {
    let policy = Policy {
        mode: loaded.mode.unwrap_or(PermissionMode::Default),
        rules: loaded.rules.clone(),
        directories: vec!["/w".to_owned()],
        can_ask: true,
        ..Policy::default()
    };
    let call = ToolCall {
        id: "a".into(),
        name: tool.into(),
        input: Json::from_checked(&input.to_string()),
        signature: None,
    };
    build_report(&policy, &call, &VirtualTree::default()).decision
}

fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("Bash", json!({"command": "rm -rf /w/x"})),
        ("Bash", json!({"command": "ls | tee y && timeout 5 rm x"})),
        ("Edit", json!({"file_path": "/w/secret/a", "old_string": "a", "new_string": "b"})),
        ("Read", json!({"file_path": "/w/secret/a"})),
        ("mcp__a__b", json!({})),
    ]
}

const MANAGED: &str =
    r#"{"permissions": {"deny": ["Bash(rm:*)", "Read(//w/secret/**)", "mcp__a"]}}"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_lower_layer_loosens_what_the_administrator_denies(
        texts in prop::collection::vec(prop::option::of(settings()), 3),
        flag in prop::option::of(settings()),
    ) {
        let test_project = TestProject(TempDir::new().expect("a folder"));
        let loaded = test_project.load(&texts, flag.as_deref(), MANAGED);
        for (tool, input) in calls() {
            prop_assert_eq!(decide(&loaded, tool, &input), PermissionDecisionKind::Deny, "{} {}", tool, input);
        }
    }

    #[test]
    fn a_file_that_breaks_lets_nothing_run(
        texts in prop::collection::vec(prop::option::of(settings()), 3),
        flag in prop::option::of(settings()),
        which in 0..LAYERS.len(),
        garbage in "[^{]{0,6}|\\{[^}]{0,6}",
    ) {
        let test_project = TestProject(TempDir::new().expect("a folder"));
        let mut texts = texts;
        texts[which] = Some(garbage);
        let loaded = test_project.load(&texts, flag.as_deref(), "{}");
        prop_assert!(loaded.is_broken());
        for (tool, input) in calls() {
            prop_assert_ne!(decide(&loaded, tool, &input), PermissionDecisionKind::Allow, "{} {}", tool, input);
        }
    }
}
