//! Permission questions: who answers them, for whom an answer counts, and what waits for it.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_fleet::store::{ClaimEnd, FleetStore, HeldClaim, NewAnswer, NewQuestion, StoreError};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestFleet, until};
use crate::gateway::{call, printed, token};
use crate::postgres::TestPostgres;
use crate::store::{block_on, limits, migrate, new_session};

fn writing_script() -> Script {
    let write = json!({ "file_path": "note.txt", "content": "x\n" });
    Script::new()
        .answer(ScriptedAnswer::text("Fine.").when("good").repeat(0))
        .answer(ScriptedAnswer::call("Write", write).when("write it").repeat(0))
        .answer(ScriptedAnswer::text("Written.").when_result("note.txt").repeat(0))
        .answer(ScriptedAnswer::text("Not written.").when_result("not today").repeat(0))
}

fn get(url: &str, token: &str, path: &str) -> Value {
    let (status, body) =
        call(url, &format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer {token}"), "");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// Who answered, what and when stays with the session, and those who follow it are told.
#[test]
fn every_answer_says_by_whom() {
    let Some(fleet) = TestFleet::start(writing_script()) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let _worker = fleet.start_worker("one", &[]);
    let ann = token(&fleet, "ann", "team", "approve");
    let bob = token(&fleet, "bob", "team", "approve");
    for (name, who, word, said) in
        [("ann", &ann, "allow", "Written."), ("bob", &bob, "deny", "Not written.")]
    {
        let id = printed(&fleet.client(&url, &ann, &["submit", "write it"]));
        until("it asks", || printed(&fleet.client(&url, &ann, &["answer", &id])).contains("Write"));
        let answer = ["answer", &id, word, "--message", "not today"];
        printed(&fleet.client(&url, who, &answer));
        fleet.wait_for_state(&id, "done");
        let answers = get(&url, &ann, &format!("/v1/sessions/{id}/answers"));
        let one = &answers["answers"][0];
        assert_eq!(answers["answers"].as_array().unwrap().len(), 1, "{answers}");
        assert_eq!(one["answered_by"], name, "{answers}");
        assert_eq!((&one["behavior"], &one["outcome"]), (&json!(word), &json!(word)));
        assert_eq!(one["asked"]["tool_name"], "Write");
        assert!(one["answered"].as_i64().unwrap() > 1_600_000_000_000, "{one}");
        let logs = printed(&fleet.client(&url, &ann, &["logs", &id]));
        assert!(logs.contains(said), "{logs}");
        assert!(logs.contains(&format!("{word}: Write, says {name}")), "{logs}");
        let frames = printed(&fleet.client(&url, &ann, &["logs", "--json", &id]));
        let told = frames.lines().filter(|line| line.contains("permission_answered"));
        let told: Vec<Value> = told.map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(told.len(), 1, "{frames}");
        assert_eq!(told[0]["answered_by"], name);
        assert_eq!(told[0]["request_id"], one["question"]);
        assert!(frames.contains(&format!("\"request_id\":{}", one["question"])), "{frames}");
    }
}

/// Only the holder of the newest claim asks, withdraws and reads; an answer to its question counts
/// once, and for that call alone.
#[test]
fn questions_and_answers_are_those_of_the_newest_claim() {
    let Some(postgres) = TestPostgres::start() else { return };
    migrate(&postgres);
    block_on(async {
        let store = FleetStore::open(&postgres.url(), 2).await.unwrap();
        store.put_tenant("team", &limits(None, None)).await.unwrap();
        store.submit_session(&new_session(1, "team", None)).await.unwrap();
        for worker in ["old", "new"] {
            store.register_worker(worker, "host", 1, Duration::from_secs(600)).await.unwrap();
        }
        let row = store.claim_session("old", 5).await.unwrap().unwrap();
        let session = row.id.as_str();
        let old = HeldClaim { session, epoch: row.epoch, worker: "old" };
        let ask = |request: &'static str, call: &'static str| NewQuestion {
            request,
            call,
            body: r#"{"tool_name":"Bash"}"#,
        };
        let reply = |request: &'static str, frame_uuid: &'static str| NewAnswer {
            request,
            answer: r#"{"behavior":"allow"}"#,
            by: "ann",
            frame: "{}",
            frame_uuid,
        };
        store.add_question(old, ask("ask_1.1", "call one")).await.unwrap();
        store.add_question(old, ask("ask_2.1", "call two")).await.unwrap();
        store.add_question(old, ask("ask_3.1", "call three")).await.unwrap();
        // Its worker is lost. Its questions can be answered meanwhile.
        assert_eq!(store.give_back_sessions("old", &[], 5).await.unwrap(), 1);
        assert_eq!(store.list_questions(session).await.unwrap().len(), 3);
        assert!(store.answer_question(session, reply("ask_1.1", "u1")).await.unwrap());
        assert!(!store.answer_question(session, reply("ask_1.1", "u2")).await.unwrap());

        // The late worker gets and changes nothing.
        let is_fenced = |error: StoreError| matches!(error, StoreError::Fenced { .. });
        let row = store.claim_session("new", 5).await.unwrap().unwrap();
        let new = HeldClaim { session, epoch: row.epoch, worker: "new" };
        for late in [old, HeldClaim { epoch: row.epoch, ..old }, HeldClaim { worker: "new", ..old }]
        {
            let added = store.add_question(late, ask("ask_4.1", "call four")).await;
            assert!(is_fenced(added.unwrap_err()));
            let closed = store.close_question(late, "ask_1.1", Some("allow")).await;
            assert!(is_fenced(closed.unwrap_err()));
            assert!(is_fenced(store.close_question(late, "ask_2.1", None).await.unwrap_err()));
            assert!(is_fenced(store.read_inbox(late).await.unwrap_err()));
        }
        assert!(store.list_answers(session).await.unwrap()[0].outcome.is_none());

        // The newest asks again: the answer counts for the same call, under its new name, and the other
        // one is still open. An answer under the old name is refused.
        store.add_question(new, ask("ask_1.3", "call two")).await.unwrap();
        store.add_question(new, ask("ask_2.3", "call one")).await.unwrap();
        let inbox = store.read_inbox(new).await.unwrap();
        let requests: Vec<_> = inbox.answers.iter().map(|one| one.request.as_str()).collect();
        assert_eq!(requests, ["ask_2.3"]);
        // So is one to a question that it does not ask.
        for old_name in ["ask_2.1", "ask_3.1"] {
            assert!(!store.answer_question(session, reply(old_name, "u3")).await.unwrap());
        }
        let open = store.list_questions(session).await.unwrap();
        assert_eq!(open.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["ask_1.3"]);
        store.close_question(new, "ask_2.3", Some("allow")).await.unwrap();
        assert!(store.read_inbox(new).await.unwrap().answers.is_empty());

        // After its end nothing is open, and what was answered is known.
        postgres.query("update windlass.messages set is_taken = true");
        let end = ClaimEnd { state: "done", is_orderly: true, ..ClaimEnd::default() };
        assert!(store.end_claim(session, row.epoch, "new", &end).await.unwrap());
        assert!(store.list_questions(session).await.unwrap().is_empty());
        assert!(!store.answer_question(session, reply("ask_1.3", "u4")).await.unwrap());
        let answers = store.list_answers(session).await.unwrap();
        assert_eq!(answers.len(), 1);
        assert_eq!(
            (answers[0].answered_by.as_str(), answers[0].outcome.as_deref()),
            ("ann", Some("allow"))
        );
        assert_eq!(postgres.query("select count(*) from windlass.events"), "1");
    });
}

/// A worker ends while its session asks. The answer that came while no worker had the session counts
/// when the next worker's process asks the same.
#[test]
fn an_answer_counts_after_its_worker_has_ended() {
    let Some(fleet) = TestFleet::start(writing_script()) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let mut first = fleet.start_worker("one", &["--lease", "2"]);
    let ann = token(&fleet, "ann", "team", "approve");
    let id = printed(&fleet.client(&url, &ann, &["submit", "write it"]));
    // Its message is whole: a call that is cut off is another one when the model is asked again.
    let calls = "select count(*) from windlass.events where frame like '%tool_use\"%'";
    fleet.postgres.wait_for(calls, "1");
    until("it asks", || printed(&fleet.client(&url, &ann, &["answer", &id])).contains("Write"));
    first.signal(Signal::TERM);
    assert_eq!(first.wait(), Some(143));
    assert_eq!(fleet.postgres.query("select state from windlass.sessions"), "queued");
    printed(&fleet.client(&url, &ann, &["answer", &id, "allow"]));
    let _second = fleet.start_worker("two", &["--lease", "2"]);
    fleet.wait_for_state(&id, "done");
    let result = fleet.postgres.query("select result from windlass.sessions");
    assert!(result.contains("Written."), "{result}");
    let answers = get(&url, &ann, &format!("/v1/sessions/{id}/answers"));
    assert_eq!(answers["answers"].as_array().unwrap().len(), 1, "{answers}");
    assert_eq!(answers["answers"][0]["outcome"], "allow", "{answers}");
    assert_eq!(fleet.model.request_count(), 2, "the model was asked nothing twice");
}

/// A worker is killed while its session asks, and its process had not sent the model's answer. The
/// model is asked again, and its new call needs an answer of its own: that of the old one does not
/// count for it.
#[test]
fn an_answer_to_a_call_that_is_lost_allows_no_other() {
    let Some(fleet) = TestFleet::start(writing_script()) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let first = fleet.start_worker("one", &["--lease", "2"]);
    let ann = token(&fleet, "ann", "team", "approve");
    let id = printed(&fleet.client(&url, &ann, &["submit", "write it"]));
    let open = || printed(&fleet.client(&url, &ann, &["answer", &id]));
    until("it asks", || open().contains("Write"));
    let old = open();
    first.kill();
    printed(&fleet.client(&url, &ann, &["answer", &id, "allow"]));
    let _second = fleet.start_worker("two", &["--lease", "2"]);
    until("it asks again", || open().contains("Write"));
    assert_eq!(open().lines().count(), 1, "{}", open());
    assert_ne!(open(), old);
    assert_eq!(fleet.postgres.query("select state from windlass.sessions"), "running");
    printed(&fleet.client(&url, &ann, &["answer", &id, "deny", "--message", "not today"]));
    fleet.wait_for_state(&id, "done");
    let result = fleet.postgres.query("select result from windlass.sessions");
    assert!(result.contains("Not written."), "{result}");
    let answers = get(&url, &ann, &format!("/v1/sessions/{id}/answers"));
    let outcomes: Vec<_> = answers["answers"].as_array().unwrap().iter().collect();
    assert_eq!(outcomes.len(), 2, "{answers}");
    assert_eq!(
        (&outcomes[0]["outcome"], &outcomes[1]["outcome"]),
        (&json!("unknown"), &json!("deny"))
    );
}

/// A session that waits for an approver leaves its place to others, says so, and goes on with the
/// answer.
#[test]
fn a_session_that_waits_for_an_answer_holds_no_place() {
    let Some(fleet) = TestFleet::start(writing_script()) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let _worker = fleet.start_worker("one", &["--capacity", "1", "--question-wait", "1"]);
    let ann = token(&fleet, "ann", "team", "approve");
    let asking = printed(&fleet.client(&url, &ann, &["submit", "write it"]));
    until("it asks", || printed(&fleet.client(&url, &ann, &["answer", &asking])).contains("Write"));
    let good = printed(&fleet.client(&url, &ann, &["submit", "good"]));
    fleet.wait_for_state(&good, "done");
    let row = format!("select state, wake_at, epoch from windlass.sessions where id = '{asking}'");
    fleet.postgres.wait_for(&row, "queued|infinity|1");
    let listed = printed(&fleet.client(&url, &ann, &["ps", "--state", "queued"]));
    assert!(listed.contains("waits for the answer to a question"), "{listed}");
    printed(&fleet.client(&url, &ann, &["answer", &asking, "allow"]));
    fleet.wait_for_state(&asking, "done");
    let logs = printed(&fleet.client(&url, &ann, &["logs", &asking]));
    assert!(logs.contains("Written."), "{logs}");
    assert_eq!(fleet.model.request_count(), 3, "the model was asked nothing twice");

    // One that is cancelled while it waits ends at once.
    let asking = printed(&fleet.client(&url, &ann, &["submit", "write it"]));
    let row = format!("select state, wake_at from windlass.sessions where id = '{asking}'");
    fleet.postgres.wait_for(&row, "queued|infinity");
    printed(&fleet.client(&url, &ann, &["cancel", &asking]));
    fleet.wait_for_state(&asking, "cancelled");
    let late = fleet.client(&url, &ann, &["answer", &asking, "allow"]);
    let line = String::from_utf8_lossy(&late.stderr).into_owned();
    assert!(!late.status.success() && line.contains("no question is open"), "{line}");
}
