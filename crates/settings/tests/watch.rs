//! Files that change while a session goes on.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a panic is how a test says no"
)]

mod test_project;

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use test_project::TestProject;
use windlass_settings::{
    LoadedSettings, SettingsFileChanged, SettingsRequest, SettingsSource, SettingsWatcher,
    TrustState, load_settings,
};

const USER: &str = "home/.claude/settings.json";
const PROJECT: &str = "project/.claude/settings.json";
const LOCAL: &str = "project/.claude/settings.local.json";
const MANAGED: &str = "etc/managed-settings.json";
const DROPPED: &str = "etc/managed-settings.d/10-more.json";

fn watched(request: &SettingsRequest) -> SettingsWatcher {
    SettingsWatcher::new(request, &load_settings(request))
}

fn denied(loaded: &LoadedSettings) -> Vec<String> {
    loaded.rules.deny.iter().map(ToString::to_string).collect()
}

fn denying(rule: &str) -> serde_json::Value {
    json!({"permissions": {"deny": [rule]}})
}

#[test]
fn what_changed_is_named_once_with_its_layer() {
    for (name, source) in [
        (USER, SettingsSource::User),
        (PROJECT, SettingsSource::Project),
        (LOCAL, SettingsSource::Local),
        (MANAGED, SettingsSource::Managed),
        (DROPPED, SettingsSource::Managed),
    ] {
        let test_project = TestProject::new();
        let request = test_project.request();
        let mut watch = watched(&request);
        assert!(!watch.is_stale(&request), "{name}");
        let wanted = vec![SettingsFileChanged { source, path: test_project.path(name) }];
        // It comes, it is another, it goes.
        for (text, rules) in [
            (Some(denying("Bash")), vec!["Bash"]),
            (Some(denying("WebFetch")), vec!["WebFetch"]),
            (None, vec![]),
        ] {
            match text {
                Some(text) => test_project.write(name, text),
                None => fs::remove_file(test_project.path(name)).expect("removed"),
            }
            assert!(watch.is_stale(&request), "{name}");
            assert_eq!(watch.find_changed_files(&request), wanted, "{name}");
            let (loaded, lines) = watch.reload(&request, &[]);
            assert_eq!(
                (denied(&loaded), lines),
                (rules.into_iter().map(str::to_owned).collect(), vec![])
            );
            assert!(!watch.is_stale(&request), "{name}");
        }
    }
}

/// Every way to break a file that denied something: its earlier values apply, and one line says so.
#[test]
fn a_file_that_breaks_goes_on_saying_what_it_said() {
    for broken in
        ["", "{", "[]", "{\"a\": 1, \"a\": 2}", r#"{"permissions": {"deny": "Bash", "allow": []}}"#]
    {
        let test_project = TestProject::new();
        test_project.write(USER, denying("Bash"));
        let request = test_project.request();
        let mut watch = watched(&request);
        test_project.write(USER, broken);
        let (loaded, lines) = watch.reload(&request, &[]);
        assert_eq!(denied(&loaded), ["Bash"], "{broken}");
        assert!(loaded.rules.ask.is_empty() && loaded.problems.is_empty(), "{broken} {loaded:?}");
        assert_eq!(lines.len(), 1, "{broken} {lines:?}");
        assert!(lines[0].contains(USER) && lines[0].ends_with("its earlier values apply"));
        // It is told once, and another file that changes does not take it back.
        assert!(!watch.is_stale(&request));
        test_project.write(LOCAL, denying("WebFetch"));
        let (loaded, lines) = watch.reload(&request, &[]);
        assert_eq!((denied(&loaded).len(), lines.len()), (2, 0), "{broken}");
        test_project.write(USER, denying("NotebookEdit"));
        let (loaded, _) = watch.reload(&request, &[]);
        assert_eq!(denied(&loaded), ["NotebookEdit", "WebFetch"], "{broken}");
    }
    // One that was never any good makes everything ask, as at the start.
    let test_project = TestProject::new();
    let request = test_project.request();
    let mut watch = watched(&request);
    test_project.write(USER, "{");
    let (loaded, lines) = watch.reload(&request, &[]);
    assert!(loaded.is_broken() && !loaded.rules.ask.is_empty() && lines.is_empty());
    // And continues to, if a hook refuses the correction.
    test_project.write(USER, "{}");
    let (loaded, _) = watch.reload(&request, &[test_project.path(USER)]);
    assert!(loaded.is_broken() && !loaded.rules.ask.is_empty());
}

#[test]
fn what_was_refused_stays_out_until_it_changes_again() {
    let test_project = TestProject::new();
    test_project.write(USER, denying("Bash"));
    let request = test_project.request();
    let mut watch = watched(&request);
    let refused: Vec<PathBuf> = vec![test_project.path(USER)];
    test_project.write(USER, denying("NotebookEdit"));
    assert_eq!(denied(&watch.reload(&request, &refused).0), ["Bash"]);
    assert!(!watch.is_stale(&request));
    test_project.write(MANAGED, denying("WebFetch"));
    assert_eq!(denied(&watch.reload(&request, &[]).0), ["Bash", "WebFetch"]);
    test_project.write(USER, denying("Write(x)"));
    assert_eq!(denied(&watch.reload(&request, &[]).0), ["Write(x)", "WebFetch"]);
}

#[test]
fn trust_is_asked_for_again_and_what_is_said_elsewhere_is_heard() {
    let hooked = |command: &str| json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
    let test_project = TestProject::new();
    test_project.write(PROJECT, hooked("true"));
    test_project.trust();
    let request = test_project.request();
    let mut watch = watched(&request);
    assert_eq!(load_settings(&request).hooks.len(), 1);
    test_project.write(PROJECT, hooked("false"));
    let (loaded, _) = watch.reload(&request, &[]);
    assert_eq!((loaded.hooks.len(), loaded.trust.state), (0, TrustState::Changed));
    // The user says yes in another window.
    assert!(!watch.is_stale(&request));
    test_project.trust();
    assert!(watch.is_stale(&request));
    let (loaded, _) = watch.reload(&request, &[]);
    assert_eq!((loaded.hooks.len(), loaded.trust.state), (1, TrustState::Given));
}

#[test]
fn trust_for_one_run_is_trust_in_what_was_there() {
    let test_project = TestProject::new();
    let wish = json!({"permissions": {"allow": ["Bash"]}});
    test_project.write(PROJECT, &wish);
    let request = SettingsRequest { is_trusted: true, ..test_project.request() };
    let mut watch = watched(&request);
    assert_eq!(load_settings(&request).rules.allow.len(), 1);
    // What "don't ask again" writes down takes nothing away.
    test_project.write(LOCAL, json!({"permissions": {"allow": ["WebFetch"]}}));
    assert_eq!(watch.reload(&request, &[]).0.rules.allow.len(), 2);
    test_project.write(PROJECT, json!({"permissions": {"allow": ["Bash", "Edit"]}}));
    assert_eq!(watch.reload(&request, &[]).0.rules.allow.len(), 0);
    test_project.write(PROJECT, &wish);
    assert_eq!(watch.reload(&request, &[]).0.rules.allow.len(), 2);
    // Nor is what comes into a project that wanted nothing.
    let test_project = TestProject::new();
    let request = SettingsRequest { is_trusted: true, ..test_project.request() };
    let mut watch = watched(&request);
    test_project.write(PROJECT, &wish);
    assert_eq!(watch.reload(&request, &[]).0.rules.allow.len(), 0);
}
