//! How fast a fleet is: with `WINDLASS_FLEET_SPEED` the number of sessions of the long part, prints what
//! it measured. Without it, one session of each part shows that the measurement itself works.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::embedded::ask;
use crate::fixture::{TestFleet, until};
use crate::gateway::token;
use crate::postgres::PATIENCE;

fn count_transactions(fleet: &TestFleet) -> u64 {
    let count = "select xact_commit + xact_rollback from pg_stat_database where datname = 'w'";
    fleet.postgres.query(count).parse().unwrap()
}

/// The middle one and the one that 99 of 100 stay below.
fn describe(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    format!("median {:.1?}, p99 {:.1?} of {}", at(50), at(99), times.len())
}

/// A client of a gateway.
struct SpeedClient<'a> {
    fleet: &'a TestFleet,
    url: String,
    token: String,
}

impl SpeedClient<'_> {
    fn submit(&self, prompt: &str) -> String {
        let spec = json!({ "permission_mode": "bypassPermissions" });
        let body = json!({ "prompt": prompt, "spec": spec });
        let (status, created) = ask(&self.url, &self.token, "POST /v1/sessions", &body);
        assert_eq!(status, 201, "{created}");
        created["id"].as_str().unwrap().to_owned()
    }
}

#[test]
fn the_speed_of_a_fleet_is_measured() {
    let asked = std::env::var("WINDLASS_FLEET_SPEED").ok();
    let sessions: u32 =
        asked.as_ref().map_or(1, |count| count.parse().expect("a number of sessions"));
    let rounds = if asked.is_some() { 10 } else { 1 };
    let hang = "echo begun >> {{word}}; sleep 300";
    let script = Script::new()
        .answer(ScriptedAnswer::text("Rope.").when("rope or chain").repeat(0))
        .answer(ScriptedAnswer::call("Bash", json!({ "command": hang })).when("hang ").repeat(0))
        .answer(ScriptedAnswer::text("Unknown.").when_result("nknown").repeat(0))
        .answer(
            ScriptedAnswer::call("Bash", json!({ "command": "echo 1" })).when("turns").repeat(0),
        )
        .answer(
            ScriptedAnswer::call("Bash", json!({ "command": "echo again" }))
                .when_result("1")
                .repeat(0),
        )
        .answer(ScriptedAnswer::text("All turns.").when_result("again").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let token = token(&fleet, "sam", "team", "submit");
    let client = SpeedClient { fleet: &fleet, url, token };

    // An idle worker.
    let worker = fleet.start_worker("idle", &[]);
    if asked.is_some() {
        let (before, began) = (count_transactions(&fleet), Instant::now());
        until("half a minute has passed", || began.elapsed() > Duration::from_secs(30));
        let count = count_transactions(&fleet) - before - 1;
        println!("an idle worker and a gateway: {:.2} statements/s", count as f64 / 30.0);
    }

    // From the submission to the first request to the model.
    let mut first_requests = Vec::new();
    for _ in 0..rounds {
        let known = fleet.model.request_count();
        let began = Instant::now();
        let session = client.submit("rope or chain?");
        assert!(fleet.model.wait_for_requests_blocking(known + 1, PATIENCE));
        first_requests.push(began.elapsed());
        fleet.wait_for_state(&session, "done");
    }
    println!("submit to first request: {}", describe(first_requests));
    drop(worker);

    // A takeover: from the kill to the next claim.
    let mut takeovers = Vec::new();
    for round in 0..rounds.min(5) {
        let first = fleet.start_worker(&format!("first {round}"), &["--lease", "3"]);
        let effects = fleet.path(&format!("effects/{round}"));
        let session = client.submit(&format!("hang {}", effects.display()));
        until("the tool begins", || effects.exists());
        let second = fleet.start_worker(&format!("second {round}"), &["--lease", "3"]);
        let began = Instant::now();
        first.kill();
        let epoch = format!("select epoch from windlass.sessions where id = '{session}'");
        until("it is taken over", || fleet.postgres.query(&epoch).parse::<u32>().unwrap() >= 3);
        takeovers.push(began.elapsed());
        fleet.wait_for_state(&session, "done");
        drop(second);
    }
    println!("takeover with a lease of 3 s: {}", describe(takeovers));

    measure_many_sessions(&client, sessions);
}

/// Many sessions, and a client that asks the gateway meanwhile.
fn measure_many_sessions(client: &SpeedClient<'_>, sessions: u32) {
    let SpeedClient { fleet, url, token } = client;
    let capacity = ["--capacity", "8", "--memory-min", "64"];
    let _workers: Vec<_> =
        ["a", "b", "c", "d"].iter().map(|name| fleet.start_worker(name, &capacity)).collect();
    let counts = || -> (u64, u64) {
        let count = "select (select count(*) from windlass.journal) || ' ' || \
             (select count(*) from windlass.events)";
        let text = fleet.postgres.query(count);
        let (journal, events) = text.split_once(' ').unwrap();
        (journal.parse().unwrap(), events.parse().unwrap())
    };
    let before = counts();
    let began = Instant::now();
    let ids: BTreeSet<String> = (0..sessions).map(|_| client.submit("turns")).collect();
    let is_over = AtomicBool::new(false);
    let done = format!(
        "select count(*) from windlass.sessions where state = 'done' and id = any('{{{}}}')",
        ids.iter().cloned().collect::<Vec<_>>().join(",")
    );
    let calls = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut times = Vec::new();
            let one = format!("GET /v1/sessions/{}", ids.first().unwrap());
            while !is_over.load(Ordering::Relaxed) {
                let began = Instant::now();
                let (status, row) = ask(url, token, &one, &Value::Null);
                assert_eq!(status, 200, "{row}");
                times.push(began.elapsed());
                std::thread::park_timeout(Duration::from_millis(20));
            }
            times
        });
        for tenth in 1..=10 {
            until("they end", || {
                fleet.postgres.query(&done).parse::<u32>().unwrap() >= sessions * tenth / 10
            });
        }
        is_over.store(true, Ordering::Relaxed);
        asking.join().unwrap()
    });
    let elapsed = began.elapsed();
    let after = counts();
    let seconds = elapsed.as_secs_f64();
    println!(
        "{sessions} sessions of 3 turns on 4 workers of 8: {seconds:.1} s, {:.0} appends/s, {:.0} events/s",
        (after.0 - before.0) as f64 / seconds,
        (after.1 - before.1) as f64 / seconds,
    );
    println!("a session over the gateway meanwhile: {}", describe(calls));
    let failed = "select count(*) from windlass.sessions where state not in ('done')";
    assert_eq!(fleet.postgres.query(failed), "0");
}
