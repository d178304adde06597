//! What is tried again when a provider fails, and who waits when it limits the rate.

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer, ScriptedFault};

use crate::embedded::{EmbeddedFleet, ask};
use crate::fixture::{TestFleet, until};
use crate::gateway::{printed, token};

fn fail(when: &str) -> ScriptedAnswer {
    ScriptedAnswer::from_fault(ScriptedFault::refuse_for(503, 0)).when(when)
}

/// A session whose provider fails goes on later, as often as it may; one that fails for another reason
/// does not.
#[test]
fn a_session_goes_on_after_its_provider_failed() {
    let script = Script::new()
        // Nothing was answered in between, so a request has all prompts since.
        .answer(ScriptedAnswer::text("Rope.").when("rope"))
        .answer(ScriptedAnswer::text("Back.").when("Go on where"))
        .answer(ScriptedAnswer::from_fault(ScriptedFault::refuse(401)).when("no key").repeat(0))
        .answer(fail("an outage").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let submit = token(&fleet, "sam", "team", "submit");
    let tries = [("CLAUDE_CODE_MAX_RETRIES", "1")];
    let _worker = fleet.start_worker_with("one", &[], &tries);
    let row = |session: &str| {
        let statement = format!(
            "select state, retries, wake_at > now() + interval '50 seconds', reason \
             from windlass.sessions where id = '{session}'"
        );
        fleet.postgres.query(&statement)
    };
    let wake = || fleet.postgres.query("update windlass.sessions set wake_at = now()");

    let first = fleet.submit(1, "an outage");
    let waits = "queued|1|t|api_error: its provider failed; retry 1 of 3 in 60 seconds";
    until("it waits", || row(&first) == waits);
    let listed = printed(&fleet.client(&url, &submit, &["ps"]));
    assert!(listed.contains("retry 1 of 3"), "{listed}");
    let (_, shown) = ask(&url, &submit, &format!("GET /v1/sessions/{first}"), &Value::Null);
    assert_eq!(shown["retries"], 1, "{shown}");
    wake();
    fleet.wait_for_state(&first, "done");
    let result = fleet.postgres.query("select result from windlass.sessions");
    assert!(result.contains("Back."), "{result}");

    // No more often than it may.
    let second = fleet.submit_with(2, "an outage", r#"{"retries":1}"#);
    until("it waits", || row(&second).starts_with("queued|1|t"));
    wake();
    fleet.wait_for_state(&second, "failed");
    assert_eq!(row(&second), "failed|1|f|api_error");
    let never = fleet.submit_with(3, "an outage", r#"{"retries":0}"#);
    fleet.wait_for_state(&never, "failed");
    // A wrong key is wrong a minute later, too.
    let wrong = fleet.submit(4, "no key");
    fleet.wait_for_state(&wrong, "failed");
    assert!(row(&wrong).starts_with("failed|0|"), "{}", row(&wrong));
    // A message begins anew.
    fleet.add_message(&second, 5, "rope");
    fleet.wait_for_state(&second, "done");
    assert_eq!(row(&second), "done|0|f|completed");
    // A session that waits is cancelled at once.
    let third = fleet.submit(6, "an outage");
    until("it waits", || row(&third).starts_with("queued|1|t"));
    printed(&fleet.client(&url, &submit, &["cancel", &third]));
    fleet.wait_for_state(&third, "cancelled");

    let too_often = json!({ "prompt": "x", "spec": { "retries": 11 } });
    let (status, problem) = ask(&url, &submit, "POST /v1/sessions", &too_often);
    assert!(status == 400 && problem.to_string().contains("at most 10"), "{status} {problem}");
}

#[test]
fn a_session_without_a_database_goes_on_after_its_provider_failed() {
    let fleet = EmbeddedFleet::new(Script::new().answer(fail("an outage").repeat(0)));
    let (_process, url, token) = fleet.serve();
    let submit = |retries: u32| {
        let body = json!({ "prompt": "an outage", "spec": { "retries": retries } });
        let (_, created) = ask(&url, &token, "POST /v1/sessions", &body);
        let one = format!("GET /v1/sessions/{}", created["id"].as_str().unwrap());
        let mut row = Value::Null;
        until("it is tried", || {
            row = ask(&url, &token, &one, &Value::Null).1;
            row["reason"].is_string()
        });
        row
    };
    let row = submit(2);
    assert_eq!((&row["state"], &row["retries"]), (&json!("queued"), &json!(1)), "{row}");
    assert!(row["reason"].as_str().unwrap().contains("retry 1 of 2 in 60 seconds"), "{row}");
    assert_eq!(submit(0)["state"], "failed");
}

/// A rate limit belongs to a key: the workers that have it wait, and one with another key goes on with
/// the same session. No key is in the store.
#[test]
fn a_rate_limit_holds_for_the_workers_with_its_key() {
    let limit = ScriptedFault::refuse_for(429, 600);
    let script = Script::new()
        .answer(ScriptedAnswer::from_fault(limit).when("rope"))
        .answer(ScriptedAnswer::text("Rope.").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let _limited = fleet.start_worker("one", &["--lease", "3"]);
    let _same_key = fleet.start_worker("two", &["--lease", "3"]);
    let first = fleet.submit(1, "rope");
    let limits = "select count(*) from windlass.back_offs where provider = '' and key <> ''";
    fleet.postgres.wait_for(limits, "1");
    // Both workers live on, and neither asks again.
    let mut leases = std::collections::BTreeSet::new();
    until("the workers renew their leases", || {
        leases.insert(fleet.postgres.query("select min(lease_until) from windlass.workers"));
        leases.len() > 3
    });
    let about = "select state, epoch, windlass.explain_wait(s) like 'waits for its provider%' \
        from windlass.sessions s";
    assert_eq!(fleet.postgres.query(about), "queued|1|t");
    assert_eq!(fleet.model.request_count(), 1);
    let other = [("ANTHROPIC_API_KEY", "another-key")];
    let other = fleet.start_worker_with("three", &["--lease", "3"], &other);
    fleet.wait_for_state(&first, "done");
    let second = fleet.submit(2, "a second");
    fleet.wait_for_state(&second, "done");
    let keys = "select provider_keys ->> '' from windlass.workers order by started";
    let keys = fleet.postgres.query(keys);
    let keys: Vec<&str> = keys.lines().collect();
    assert!(keys[0] == keys[1] && keys[0] != keys[2] && keys[0].len() == 64, "{keys:?}");
    let kept = "select count(*) from windlass.workers where provider_keys::text like '%-key%'";
    assert_eq!(fleet.postgres.query(kept), "0");
    other.signal(Signal::TERM);
}
