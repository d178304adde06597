//! Settings that change under a session: who may object, and which hooks are asked afterwards.

use serde_json::json;
use windlass_driver::hooks::HookSource;
use windlass_driver::{ConfigChange, ConfigChangeSource, HookSet, Rule, SettingsChange};
use windlass_rehearsal::ScriptedAnswer as Says;

use super::{all, at, bash, last, log, logged, play};
use crate::fixture::FixtureOptions;

fn change(source: ConfigChangeSource) -> ConfigChange {
    ConfigChange { source, file: "/there/settings.json".into() }
}

#[tokio::test]
async fn everybody_but_the_administrator_can_be_refused() {
    let hooks = at("ConfigChange", &logged("echo no >&2; exit 2"));
    let fixture = play(FixtureOptions::default(), hooks, vec![]).await;
    for source in [ConfigChangeSource::User, ConfigChangeSource::Project, ConfigChangeSource::Local]
    {
        let refused = fixture.session.report_config_change(change(source)).await;
        assert!(refused.is_err_and(|why| why.contains("no")), "{source:?}");
    }
    assert_eq!(
        fixture.session.report_config_change(change(ConfigChangeSource::Policy)).await,
        Ok(())
    );
    let received = log(fixture.directory.path());
    let sources: Vec<&str> =
        received.iter().filter_map(|received| received["source"].as_str()).collect();
    let all = ["user_settings", "project_settings", "local_settings", "policy_settings"];
    assert_eq!(sources, all);
    assert_eq!(received[0]["file_path"], "/there/settings.json");
    // A matcher that means another layer, and nobody at all.
    let hooks = json!({ "ConfigChange": [
        { "matcher": "local_settings", "hooks": [{ "type": "command", "command": "exit 2" }] }] });
    let fixture = play(FixtureOptions::default(), hooks, vec![]).await;
    assert_eq!(
        fixture.session.report_config_change(change(ConfigChangeSource::User)).await,
        Ok(())
    );
}

#[tokio::test]
async fn what_ran_once_has_run_when_other_hooks_come() {
    let once = |more: &str| {
        let hook = json!({ "type": "command", "command": logged("true"), "once": true });
        let hooks = json!({ "PreToolUse": [{ "hooks": [hook] }] });
        all([hooks, at("PostToolUse", more)])
    };
    let answers = vec![bash("true"), Says::text("one"), bash("true"), Says::text("two")];
    let mut fixture = play(FixtureOptions::default(), once("true"), answers).await;
    assert!(!fixture.session.is_run_active().await);
    fixture.session.submit("go").unwrap();
    fixture.notices.wait_for_run_end().await.unwrap();
    let (set, _) = HookSet::parse(&once("echo marked; exit 0"), &HookSource::new("test"));
    fixture.session.replace_hooks(set).unwrap();
    fixture.session.submit("go").unwrap();
    fixture.notices.wait_for_run_end().await.unwrap();
    assert_eq!(log(fixture.directory.path()).len(), 1);
}

#[tokio::test]
async fn what_may_no_longer_be_read_is_no_longer_found() {
    let search = || Says::call("Grep", json!({ "pattern": "needle", "output_mode": "content" }));
    let answers = vec![search(), Says::text("one"), search(), Says::text("two")];
    let mut fixture = play(FixtureOptions::default(), json!({}), answers).await;
    std::fs::write(fixture.directory.path().join("secret.txt"), "the needle lies here").unwrap();
    fixture.session.submit("look").unwrap();
    fixture.notices.wait_for_run_end().await.unwrap();
    assert!(last(&fixture).contains("lies here"));
    let denied = Rule::parse("Read(secret.txt)").unwrap();
    let change = SettingsChange::policy(|policy| policy.rules.deny.push(denied));
    fixture.session.configure([change]).unwrap();
    fixture.session.submit("look again").unwrap();
    fixture.notices.wait_for_run_end().await.unwrap();
    assert_eq!(last(&fixture).matches("lies here").count(), 1);
}
