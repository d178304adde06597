//! The gateway and the commands that talk to it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_fleet::gateway::routes::ROUTES;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestFleet, find_windlass, until};
use crate::postgres::PATIENCE;

#[test]
fn the_description_names_every_route_and_no_other() {
    let text = include_str!("../../src/gateway/openapi.json");
    let description: Value = serde_json::from_str(text).unwrap();
    let mut described = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let role = operation.get("x-role").and_then(Value::as_str).map(str::to_owned);
            described.push((method.to_uppercase(), path.clone(), role));
        }
    }
    described.sort();
    let mut served: Vec<_> = ROUTES
        .iter()
        .map(|route| {
            let role = route.role.map(|role| role.name().to_owned());
            (route.method.to_owned(), route.path.to_owned(), role)
        })
        .collect();
    served.sort();
    assert_eq!(described, served);
}

/// Sends one request on a new connection. Returns the status and everything after the headers.
pub(crate) fn call(url: &str, head: &str, body: &str) -> (u16, String) {
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = match head.contains("Content-Length") {
        true => String::new(),
        false => format!("Content-Length: {}\r\n", body.len()),
    };
    let request = format!("{head}\r\nHost: x\r\nConnection: close\r\n{length}\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, body.to_owned())
}

pub(crate) fn token(fleet: &TestFleet, name: &str, tenant: &str, role: &str) -> String {
    let more = ["store", "token", "add", name, "--tenant", tenant, "--role", role];
    printed(&fleet.run(&more))
}

pub(crate) fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn sessions_are_submitted_followed_answered_and_cancelled_over_http() {
    let write = json!({ "file_path": "note.txt", "content": "x" });
    let script = Script::new()
        .answer(ScriptedAnswer::text("Rope.").when("rope or chain"))
        .answer(ScriptedAnswer::text("Four.").when("how many"))
        .answer(ScriptedAnswer::call("Write", write).when("write it"))
        .answer(ScriptedAnswer::text("Written.").when_result("note.txt"))
        .answer(ScriptedAnswer::call("Bash", json!({ "command": "sleep 300" })).when("be slow"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let (mut gateway, url) = fleet.start_gateway();
    let _worker = fleet.start_worker("one", &[]);
    let approver = token(&fleet, "ann", "team", "approve");
    let client = |arguments: &[&str]| {
        let mut command = fleet.command(arguments);
        command.env("WINDLASS_SERVER", &url).env("WINDLASS_TOKEN", &approver);
        command.output().unwrap()
    };
    assert_eq!(printed(&client(&["submit", "rope or chain", "--wait"])), "Rope.");
    let listed = printed(&client(&["ps"]));
    assert!(listed.contains("done"), "{listed}");
    let id = listed.split_whitespace().next().unwrap().to_owned();

    // A message continues an ended session; a client that resumes gets the new frames.
    let auth = format!("Authorization: Bearer {approver}");
    let path = format!("/v1/sessions/{id}");
    let (status, all) = call(&url, &format!("GET {path}/events HTTP/1.1\r\n{auth}"), "");
    assert_eq!(status, 200);
    assert!(all.contains("Rope.") && all.contains("event: end"), "{all}");
    let last = all.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap();
    let body = json!({ "content": "how many" }).to_string();
    let (status, _) = call(&url, &format!("POST {path}/messages HTTP/1.1\r\n{auth}"), &body);
    assert_eq!(status, 200);
    let resume = format!("GET {path}/events HTTP/1.1\r\n{auth}\r\nLast-Event-ID: {last}");
    let (_, rest) = call(&url, &resume, "");
    assert!(rest.contains("Four.") && !rest.contains("Rope."), "{rest}");
    let (status, result) = call(&url, &format!("GET {path}/result HTTP/1.1\r\n{auth}"), "");
    assert!(status == 200 && result.contains("Four."), "{result}");
    let logs = printed(&client(&["logs", &id]));
    assert!(logs.contains("user: rope or chain") && logs.contains("assistant: Four."), "{logs}");

    // A question waits for an answer from a token that may give one.
    let id = printed(&client(&["submit", "write it"]));
    until("it asks", || printed(&client(&["answer", &id])).contains("Write"));
    printed(&client(&["answer", &id, "allow"]));
    fleet.wait_for_state(&id, "done");
    assert!(printed(&client(&["logs", &id])).contains("assistant: Written."));

    let id = printed(&client(&["submit", "be slow", "--permission-mode", "bypassPermissions"]));
    fleet.wait_for_state(&id, "running");
    printed(&client(&["cancel", &id]));
    fleet.wait_for_state(&id, "cancelled");

    let admin = token(&fleet, "root", "team", "admin");
    let auth = format!("Authorization: Bearer {admin}");
    let (status, text) = call(&url, &format!("GET /metrics HTTP/1.1\r\n{auth}"), "");
    assert!(status == 200 && text.contains("windlass_sessions{state=\"done\"} 2"), "{text}");
    gateway.signal(rustix::process::Signal::TERM);
    assert_eq!(gateway.wait(), Some(143));
}

/// F3: a gateway is killed while clients follow a session. They reconnect and miss nothing.
#[test]
fn watchers_miss_nothing_when_their_gateway_is_killed() {
    let step = "while [ ! -e {{word}} ]; do sleep 0.05; done; echo let-go";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": step })).when("wait for "))
        .answer(ScriptedAnswer::text("Seen to the end.").when_result("let-go"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let _worker = fleet.start_worker("one", &[]);
    let (gateway, url) = fleet.start_gateway();
    let watch = token(&fleet, "wes", "team", "watch");
    let session = fleet.submit(1, &format!("wait for {}", fleet.effects().display()));
    let calls = "select count(*) from windlass.events where frame like '%tool_use\"%'";
    fleet.postgres.wait_for(calls, "1");
    let watchers: Vec<_> = (0..10)
        .map(|_| {
            let mut command = fleet.command(&["logs", "--follow", "--json", &session]);
            command.env("WINDLASS_SERVER", &url).env("WINDLASS_TOKEN", &watch);
            command.spawn().unwrap()
        })
        .collect();
    let admin = token(&fleet, "root", "team", "admin");
    let metrics = format!("GET /metrics HTTP/1.1\r\nAuthorization: Bearer {admin}");
    until("all watch", || call(&url, &metrics, "").1.contains("windlass_event_streams_total 10"));
    gateway.kill();
    let address = url.trim_start_matches("http://");
    let _next = fleet.start_gateway_at(address);
    std::fs::write(fleet.effects(), "").unwrap();
    let frames = "select frame from windlass.events order by number";
    for watcher in watchers {
        let output = watcher.wait_with_output().unwrap();
        assert_eq!(printed(&output), fleet.postgres.query(frames));
    }
    assert!(fleet.postgres.query(frames).contains("Seen to the end."));
}

/// F3: a hundred clients of a killed gateway resume at another one.
#[test]
fn a_hundred_watchers_go_on_at_another_gateway_and_miss_nothing() {
    const WATCHERS: usize = 100;
    let step = "while [ ! -e {{word}} ]; do sleep 0.05; done; echo let-go";
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({ "command": step })).when("wait for "))
        .answer(ScriptedAnswer::text("Seen to the end.").when_result("let-go"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let _worker = fleet.start_worker("one", &[]);
    let (first, url) = fleet.start_gateway();
    let (_second, next_url) = fleet.start_gateway();
    let watch = token(&fleet, "wes", "team", "watch");
    let session = fleet.submit(1, &format!("wait for {}", fleet.effects().display()));
    let calls = "select count(*) from windlass.events where frame like '%tool_use\"%'";
    fleet.postgres.wait_for(calls, "1");
    let watchers: Vec<_> = (0..WATCHERS)
        .map(|_| {
            let (url, next_url) = (url.clone(), next_url.clone());
            let head = format!(
                "GET /v1/sessions/{session}/events HTTP/1.0\r\nAuthorization: Bearer {watch}"
            );
            std::thread::spawn(move || {
                let mut frames = Vec::new();
                let mut last = 0;
                for url in [url, next_url] {
                    let resume = format!("{head}\r\nLast-Event-ID: {last}");
                    let (_, text) = call(&url, &resume, "");
                    // An event that the killed gateway sent in part is sent again by the next.
                    let (whole, _) = text.rsplit_once("\n\n").unwrap_or_default();
                    for event in whole.split("\n\n").filter_map(|event| event.strip_prefix("id: "))
                    {
                        let (id, frame) = event.split_once("\ndata: ").unwrap();
                        last = id.parse().unwrap();
                        frames.push(frame.to_owned());
                    }
                    if text.contains("event: end") {
                        return frames.join("\n");
                    }
                }
                panic!("it did not see the end");
            })
        })
        .collect();
    let admin = token(&fleet, "root", "team", "admin");
    let metrics = format!("GET /metrics HTTP/1.1\r\nAuthorization: Bearer {admin}");
    let all = format!("windlass_event_streams_total {WATCHERS}");
    until("all watch", || call(&url, &metrics, "").1.contains(&all));
    first.kill();
    until("all have come back", || call(&next_url, &metrics, "").1.contains(&all));
    std::fs::write(fleet.effects(), "").unwrap();
    fleet.wait_for_state(&session, "done");
    let frames = fleet.postgres.query("select frame from windlass.events order by number");
    assert!(frames.contains("Seen to the end."));
    for watcher in watchers {
        assert_eq!(watcher.join().unwrap(), frames);
    }
}

/// A session's changes are available over HTTP, by command, and through the report of a batch.
#[test]
fn what_a_session_changed_is_a_patch() {
    let make =
        json!({ "command": "mkdir -p a; echo one > a/one.txt; printf '\\0' > b; echo made" });
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", make).when("make it").repeat(0))
        .answer(ScriptedAnswer::text("Made.").when_result("made").repeat(0))
        .answer(ScriptedAnswer::text("Nothing to do.").when("look").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let submitter = token(&fleet, "sam", "team", "submit");
    let client = |arguments: &[&str]| {
        let mut command = fleet.command(arguments);
        command.env("WINDLASS_SERVER", &url).env("WINDLASS_TOKEN", &submitter);
        command.output().unwrap()
    };
    let id = printed(&client(&["submit", "look"]));
    let early = client(&["patch", &id]);
    let line = String::from_utf8_lossy(&early.stderr).into_owned();
    assert!(!early.status.success() && line.contains("no patch yet"), "{line}");
    let _worker = fleet.start_worker("one", &[]);
    fleet.wait_for_state(&id, "done");
    assert_eq!(printed(&client(&["patch", &id])), "");
    let rows = fleet.path("rows.csv");
    std::fs::write(&rows, "what\nmake it\nlook\n").unwrap();
    let rows = rows.to_str().unwrap();
    let mode = ["--permission-mode", "bypassPermissions"];
    let report = [&["batch", rows, "--template", "{what}"][..], &mode].concat();
    let report = printed(&client(&report));
    assert_eq!(report.matches("/patch)").count(), 1, "{report}");
    let made = fleet.postgres.query("select session from windlass.blobs where name = 'patch'");
    assert!(report.contains(&format!("({url}/v1/sessions/{made}/patch)")), "{report}");
    let wanted = "# b: not text\ndiff --git a/a/one.txt b/a/one.txt\nnew file mode 100644\n\
        --- /dev/null\n+++ b/a/one.txt\n@@ -0,0 +1 @@\n+one";
    assert_eq!(printed(&client(&["patch", &made])), wanted);
}

/// Read-only commands run on a session of the store, and it can be exported and imported.
#[test]
fn a_session_of_the_store_is_looked_at_exported_and_imported() {
    let script = Script::new().answer(ScriptedAnswer::text("Rope.").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let worker = fleet.start_worker("one", &[]);
    let id = fleet.submit(1, "rope or chain");
    fleet.wait_for_state(&id, "done");
    worker.kill();
    let look = |command: &[&str]| {
        printed(&fleet.run(&[&["store", "run", &id, "--"][..], command].concat()))
    };
    let check = || {
        assert!(look(&["sessions", "show"]).contains("Rope."));
        assert!(look(&["why"]).contains("completed"), "{}", look(&["why"]));
        assert!(look(&["cost"]).contains("$"), "{}", look(&["cost"]));
        look(&["replay"]);
    };
    check();
    let refused = fleet.run(&["store", "run", &id, "--", "-p", "x"]);
    let line = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && line.contains("why, replay"), "{line}");
    let folder = fleet.path("exported");
    printed(&fleet.run(&["store", "export", &id, folder.to_str().unwrap()]));
    fleet.postgres.query("delete from windlass.sessions");
    assert!(!fleet.run(&["store", "run", &id, "--", "why"]).status.success());
    let journal = folder.join(format!("{id}.jsonl"));
    printed(&fleet.run(&["store", "import", journal.to_str().unwrap()]));
    check();
    let left = std::fs::read_dir(fleet.path("tmp")).unwrap().flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().contains("windlass-store"));
    assert_eq!(left.count(), 0, "the folder is gone");
}

/// F11: unauthorized and invalid requests are refused, within limits, and reveal nothing.
#[test]
fn the_gateway_refuses_what_it_must() {
    let Some(fleet) = TestFleet::start(Script::new()) else { return };
    let (_gateway, url) = fleet.start_gateway();
    fleet.run(&["store", "tenant", "other"]);
    let session = fleet.submit(1, "wait");
    let watch = token(&fleet, "wes", "team", "watch");
    let other = token(&fleet, "oda", "other", "approve");
    let old = token(&fleet, "old", "team", "admin");
    fleet.postgres.query("update windlass.tokens set expires = now() where name = 'old'");
    let hash = fleet
        .postgres
        .query("select count(*) from windlass.tokens where encode(hash, 'escape') like 'wlf%'");
    assert_eq!(hash, "0", "tokens are kept as hashes");
    let ask = |request: &str, token: &str, body: &str| {
        let auth = format!("{request} HTTP/1.1\r\nAuthorization: Bearer {token}");
        call(&url, &auth, body)
    };
    let one = format!("/v1/sessions/{session}");
    assert_eq!(ask(&format!("GET {one}"), &watch, "").0, 200);
    assert_eq!(call(&url, &format!("GET {one} HTTP/1.1"), "").0, 401);
    for token in ["", "wlf_00", &old, &"x".repeat(10_000)] {
        assert_eq!(ask(&format!("GET {one}"), token, "").0, 401);
    }
    let body = r#"{"prompt":"x"}"#;
    assert_eq!(ask("POST /v1/sessions", &watch, body).0, 403);
    assert_eq!(ask(&format!("POST {one}/cancel"), &watch, "{}").0, 403);
    // Another tenant's session looks as if it did not exist.
    let none = ask("GET /v1/sessions/00000000-0000-4000-8000-0000000000ff", &other, "");
    for path in ["", "/events", "/result", "/questions", "/answers"] {
        assert_eq!(ask(&format!("GET {one}{path}"), &other, ""), none);
    }
    assert_eq!(ask(&format!("POST {one}/cancel"), &other, "{}"), none);
    let (_, listed) = ask("GET /v1/sessions?tenant=team", &other, "");
    assert!(!listed.contains(&session), "{listed}");
    for path in
        ["/v1/sessions/..%2f..", "/v1/sessions/'or'1'='1", "/v1/sessions//events", "/nothing"]
    {
        assert_eq!(ask(&format!("GET {path}"), &watch, "").0, 404, "{path}");
    }
    assert_eq!(ask("DELETE /v1/sessions", &other, "").0, 405);
    assert_eq!(ask("GET /v1/sessions?stat=done", &other, "").0, 400);
    for body in [
        "",
        "{",
        "[]",
        r#"{"prompt":" "}"#,
        r#"{"prompt":"x","spex":1}"#,
        r#"{"prompt":"x","id":"../x"}"#,
        r#"{"prompt":"x","spec":{"permission_mode":"all"}}"#,
        r#"{"prompt":"x","spec":{"workspace":{"git":"ext::sh -c id"}}}"#,
        r#"{"prompt":"x\u0000"}"#,
        r#"{"prompt":"x","name":"\u0000"}"#,
        r#"{"prompt":"x","batch":"\u0000"}"#,
    ] {
        assert_eq!(ask("POST /v1/sessions", &other, body).0, 400, "{body}");
    }
    for body in [
        r#"{"name":""}"#,
        r#"{"name":"a\nb"}"#,
        r#"{"name":"\u0000"}"#,
        r#"{"name":"x","max_budget_usd":0}"#,
        r#"{"name":"x","max_budget_usd":-1}"#,
        r#"{"name":"x","max_budget_usd":1e300}"#,
    ] {
        assert_eq!(ask("POST /v1/batches", &other, body).0, 400, "{body}");
    }
    assert_eq!(ask("POST /v1/batches", &watch, r#"{"name":"x"}"#).0, 403);
    let name = "'; drop table x -- / ? & % \u{202e}|<b>".repeat(20);
    let body = json!({ "name": name, "max_budget_usd": 0.5 }).to_string();
    let (status, batch) = ask("POST /v1/batches", &other, &body);
    assert_eq!(status, 201, "{batch}");
    assert!(ask("GET /v1/batches", &other, "").1.contains("drop table"));
    assert!(!ask("GET /v1/batches", &watch, "").1.contains("drop table"));
    for query in ["batch=%00", "batch=%ff", "batch=%0a", &format!("batch={}", "x".repeat(400))] {
        assert_eq!(ask(&format!("GET /v1/sessions?{query}"), &other, "").0, 400, "{query}");
    }
    assert_eq!(ask("GET /v1/sessions?batch=other%2Fnone", &other, "").0, 200);
    // A huge body is refused before it is read; one with a false length is cut off.
    let huge = "POST /v1/sessions HTTP/1.1\r\nContent-Length: 1000000000\r\nAuthorization: Bearer ";
    assert_eq!(call(&url, &format!("{huge}{other}"), "x").0, 413);
    assert_eq!(ask("POST /v1/sessions", &other, &"x".repeat(3 << 20)).0, 413);
    // Headers that never end do not hold a connection open.
    let mut slow = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    slow.set_read_timeout(Some(PATIENCE)).unwrap();
    slow.write_all(b"GET /v1/health HTTP/1.1\r\nX-Slow: ").unwrap();
    let end = slow.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
    assert_ne!(end, Err(std::io::ErrorKind::WouldBlock), "it is still open");
    assert_eq!(call(&url, "GET /v1/health HTTP/1.1", "").0, 200);
}

#[test]
fn bad_input_is_one_line_and_begins_nothing() {
    let Some(fleet) = TestFleet::start(Script::new()) else { return };
    let rows = fleet.path("rows.csv");
    std::fs::write(&rows, "name\nrope\n").unwrap();
    let rows = rows.to_str().unwrap();
    let none = format!("{}one", fleet.postgres.url().trim_end_matches('w'));
    for (arguments, words) in [
        (vec!["store", "check", "--store", "mysql://x"], "postgres://"),
        (vec!["store", "check", "--store", "postgres://windlass@127.0.0.1:1/w"], "be reached"),
        (vec!["store", "check", "--store", none.as_str()], "does not exist"),
        (vec!["worker", "--lease", "0"], "--lease"),
        (vec!["worker", "--windlass", "/none"], "install `windlass`"),
        (vec!["store", "token", "add", "x", "--tenant", "none", "--role", "watch"], "no tenant"),
        (vec!["store", "import", "/none.jsonl"], "/none.jsonl"),
        (vec!["submit", "x"], "WINDLASS_TOKEN"),
        (vec!["submit", "x", "--git", "ext::sh"], "workspace.git"),
        (vec!["batch", rows, "--template", "{nane}", "--dry-run"], "`nane`"),
        (vec!["serve", "--listen", "nowhere"], "--listen"),
        (vec!["nonsense"], "--help"),
    ] {
        let output = fleet.run(&arguments);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && line.contains(words), "{arguments:?}: {line}");
        assert_eq!(line.lines().count(), 1, "{arguments:?}: {line}");
    }
    let dry = ["batch", rows, "--template", "fix {name}", "--max-budget-usd", "2", "--dry-run"];
    let said = printed(&fleet.run(&dry));
    assert!(said.contains("1 sessions, at most $2.00") && said.contains("fix rope"), "{said}");
}

/// Each wrong input of an administrator or a client: one line that says what to do, and nothing begun.
#[test]
fn every_wrong_input_is_answered_with_one_line_before_anything_begins() {
    let Some(fleet) = TestFleet::start(Script::new()) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let watch = token(&fleet, "wes", "team", "watch");
    let submit = token(&fleet, "sam", "team", "submit");
    let one_line = |mut command: std::process::Command, words: &str| {
        let output = command.output().unwrap();
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && line.contains(words), "{command:?}: {line}");
        assert_eq!(line.lines().count(), 1, "{command:?}: {line}");
    };
    let client = |token: &str, arguments: &[&str]| {
        let mut command = fleet.command(arguments);
        command.env("WINDLASS_SERVER", &url).env("WINDLASS_TOKEN", token);
        command
    };
    // A token without the role, a template with a missing column, an address that is no repository.
    one_line(client(&watch, &["submit", "x"]), "role `submit`");
    one_line(client("wlf_00", &["submit", "x"]), "unknown or expired");
    let rows = fleet.path("rows.csv");
    std::fs::write(&rows, "name\nrope\n").unwrap();
    let rows = rows.to_str().unwrap();
    one_line(client(&submit, &["batch", rows, "--template", "{nane}"]), "`nane`");
    let git = ["batch", rows, "--template", "x", "--git", "{repo}"];
    one_line(client(&submit, &git), "`repo`");
    one_line(client(&submit, &["submit", "x", "--git", "ext::sh"]), "workspace.git");
    assert_eq!(fleet.postgres.query("select count(*) from windlass.sessions"), "0");
    assert_eq!(fleet.postgres.query("select count(*) from windlass.batches"), "0");

    // A repository that is not there: the session says so, and no model was asked.
    let none = format!("file://{}", fleet.path("no-repository").display());
    let spec = json!({ "workspace": { "git": none } });
    let session = fleet.submit_with(1, "x", &spec.to_string());
    let worker = fleet.start_worker("one", &["--attempts", "1"]);
    fleet.wait_for_state(&session, "parked");
    let reason = fleet.postgres.query("select reason from windlass.sessions");
    assert!(reason.contains("no-repository") && reason.lines().count() == 1, "{reason}");
    assert_eq!(fleet.model.request_count(), 0);
    drop(worker);

    // A store of another version or that is not ours, for every command that opens one.
    let started = "select count(*) from windlass.workers";
    let before = fleet.postgres.query(started);
    let windlass = find_windlass();
    let windlass = windlass.to_str().unwrap();
    let worker = ["worker", "--allow-unsandboxed", "--windlass", windlass];
    let commands: [&[&str]; 4] = [
        &["store", "check"],
        &worker,
        &["serve", "--listen", "127.0.0.1:0"],
        &["local", "--", "-p", "x"],
    ];
    for (change, words) in [
        ("update windlass.store set version = 1", "run `windlass store migrate`"),
        ("update windlass.store set version = 99", "use a newer version"),
        ("alter table windlass.store rename column version to name", "use another database"),
        ("alter schema windlass rename to other", "run `windlass store migrate` first"),
    ] {
        fleet.postgres.query(change);
        for arguments in commands {
            one_line(fleet.command(arguments), words);
        }
    }
    fleet.postgres.query("alter schema other rename to windlass");
    assert_eq!(fleet.postgres.query(started), before);

    // A wrong password, and a URL that is none.
    fleet.postgres.require_password();
    let wrong = fleet.postgres.url().replace("windlass@", "windlass:wrong@");
    for arguments in commands {
        let mut command = fleet.command(arguments);
        command.env("WINDLASS_STORE", &wrong);
        one_line(command, "check both in --store");
        let mut command = fleet.command(arguments);
        command.env("WINDLASS_STORE", "nowhere");
        one_line(command, "postgres://");
    }
}

/// `windlass` runs this program by name, and says what to install if it is missing.
#[test]
fn the_command_starts_the_fleet_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let windlass = folder.path().join("windlass");
    std::fs::hard_link(find_windlass(), &windlass)
        .or_else(|_| std::fs::copy(find_windlass(), &windlass).map(drop))
        .unwrap();
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&windlass);
        command.args(arguments).env_clear().env("HOME", folder.path()).output().unwrap()
    };
    let missing = run(&["ps", "--state", "done"]);
    let line = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        line.lines().count() == 1 && line.contains("needs the program windlass-fleet"),
        "{line}"
    );
    std::os::unix::fs::symlink(
        env!("CARGO_BIN_EXE_windlass-fleet"),
        folder.path().join("windlass-fleet"),
    )
    .unwrap();
    let help = printed(&run(&["store", "--help"]));
    assert!(help.contains("migrate") && help.contains("token"), "{help}");
    let line = run(&["ps", "--state", "done"]).stderr;
    assert!(String::from_utf8_lossy(&line).contains("WINDLASS_TOKEN"));
}

/// The names in backticks of an error about fields.
fn names_in(words: &str) -> Vec<String> {
    let names = words.split('`').skip(1).step_by(2).map(str::to_owned);
    let mut names: Vec<String> = names.filter(|name| name != "no_such_field").collect();
    names.sort();
    names
}

/// A value that fits a schema of the description.
fn example_of(schema: &Value) -> Value {
    match (schema["type"].as_str(), schema["format"].as_str(), schema["enum"].get(0)) {
        (_, _, Some(first)) => first.clone(),
        (Some("string"), Some("uuid"), _) => json!("00000000-0000-4000-8000-0000000000ff"),
        (Some("string"), ..) => json!("https://example.org/x"),
        (Some("number" | "integer"), ..) => json!(1),
        (Some("boolean"), ..) => json!(true),
        (Some("array"), ..) => json!([]),
        (Some("object"), ..) => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let names = required.iter().filter_map(Value::as_str);
            names.map(|name| (name.to_owned(), example_of(&schema["properties"][name]))).collect()
        }
        _ => panic!("{schema}"),
    }
}

/// Compares one object of a request's body with what the gateway says of wrong ones. `place` puts an
/// object into a body that is otherwise right.
fn compare_fields(
    schema: &Value,
    post: &dyn Fn(&Value) -> (u16, String),
    place: &dyn Fn(Value) -> Value,
) {
    let properties = schema["properties"].as_object().unwrap();
    let mut described: Vec<String> = properties.keys().cloned().collect();
    described.sort();
    let mut unknown = example_of(schema);
    unknown["no_such_field"] = json!(1);
    let (status, words) = post(&place(unknown));
    assert_eq!((status, names_in(&words)), (400, described), "{words}");
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, property) in properties {
        // Without a field that is required, and with each field as something else.
        let mut without = example_of(schema);
        without.as_object_mut().unwrap().remove(name);
        let (_, words) = post(&place(without));
        let is_missing = words.contains(&format!("missing field `{name}`"));
        assert_eq!(is_missing, required.contains(&json!(name)), "{name}: {words}");
        let mut wrong = example_of(schema);
        wrong[name] = json!([[]]);
        let (status, words) = post(&place(wrong));
        assert_eq!(status, 400, "{name}: {words}");
        let mut right = example_of(schema);
        right[name] = example_of(property);
        let (_, words) = post(&place(right));
        for fault in ["invalid type", "unknown field", "unknown variant", "missing field"] {
            assert!(!words.contains(fault), "{name}: {words}");
        }
        if property["type"] == "object" {
            let place_below = |inner: Value| {
                let mut outer = example_of(schema);
                outer[name] = inner;
                place(outer)
            };
            compare_fields(property, post, &place_below);
        }
    }
}

/// Every field of every body that the description names is one that the gateway takes, and no other;
/// and so are the parameters of lists.
#[test]
fn the_description_has_the_fields_that_bodies_take() {
    let Some(fleet) = TestFleet::start(Script::new()) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let session = fleet.submit(1, "wait");
    let admin = token(&fleet, "root", "team", "admin");
    let text = include_str!("../../src/gateway/openapi.json");
    let description: Value = serde_json::from_str(text).unwrap();
    let mut bodies = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        let place = path.replace("{id}", &session);
        for (method, operation) in methods.as_object().unwrap() {
            let head = |query: &str| {
                let method = method.to_uppercase();
                format!("{method} {place}{query} HTTP/1.1\r\nAuthorization: Bearer {admin}")
            };
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            if schema.is_object() {
                bodies += 1;
                assert_eq!(schema["additionalProperties"], false, "{path}");
                let post = |body: &Value| call(&url, &head(""), &body.to_string());
                compare_fields(schema, &post, &|body| body);
            }
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let mut named: Vec<String> = parameters
                .iter()
                .filter(|parameter| parameter["in"] == "query")
                .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
                .collect();
            if !named.is_empty() {
                named.sort();
                let (status, words) = call(&url, &head("?no_such_field=1"), "");
                let mut taken: Vec<String> = words
                    .split("there are ")
                    .nth(1)
                    .unwrap_or_default()
                    .split('"')
                    .next()
                    .unwrap_or_default()
                    .split(", ")
                    .map(str::to_owned)
                    .collect();
                taken.sort();
                assert_eq!((status, taken), (400, named), "{path}: {words}");
            }
        }
    }
    assert_eq!(bodies, 5);
    // Each error has a code.
    let (_, error) = call(&url, "GET /v1/workers HTTP/1.1", "");
    assert!(error.contains(r#""code":"unauthorized""#), "{error}");
}

/// F11: who follows a session loses it with the token, and is refused when it comes back.
#[test]
fn a_removed_token_ends_what_it_follows() {
    let Some(fleet) = TestFleet::start(Script::new()) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let session = fleet.submit(1, "wait");
    let [wes, wim] = ["wes", "wim"].map(|name| token(&fleet, name, "team", "watch"));
    let follow = |token: &str| {
        let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
        let head =
            format!("GET /v1/sessions/{session}/events HTTP/1.0\r\nAuthorization: Bearer {token}");
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert!(first.ends_with(b"200"), "{}", String::from_utf8_lossy(&first));
        stream
    };
    let (mut removed, mut other) = (follow(&wes), follow(&wim));
    printed(&fleet.run(&["store", "token", "remove", "wes"]));
    let mut rest = String::new();
    removed.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("event: end"), "{rest}");
    let head = format!("GET /v1/sessions/{session} HTTP/1.1\r\nAuthorization: Bearer {wes}");
    assert_eq!(call(&url, &head, "").0, 401);
    // Who has a token goes on.
    fleet.postgres.query("update windlass.sessions set state = 'cancelled'");
    let mut rest = String::new();
    other.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("event: end"), "{rest}");
}
