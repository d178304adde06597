//! `windlass view` through the real binary and real HTTP: what it answers, and whom it refuses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{PATIENCE, RunningCommand, TestDirs, play, run};

/// A viewer that runs, and how to ask it.
pub(crate) struct RunningViewer {
    command: RunningCommand,
    port: u16,
    token: String,
}

/// An answer as it came.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl RunningViewer {
    pub(crate) fn start(dirs: &TestDirs, arguments: &[&str]) -> Self {
        Self::start_command(&mut dirs.windlass(&[&["view", "--no-open"], arguments].concat()))
    }

    pub(crate) fn start_command(command: &mut std::process::Command) -> Self {
        let mut command = RunningCommand::start(command);
        command.wait_for_stdout("#token=");
        let address = command.seen_stdout().trim().to_owned();
        let rest = address.strip_prefix("http://127.0.0.1:").expect("an address on loopback");
        let (port, fragment) = rest.split_once("/#token=").expect("a token in the fragment");
        let token = fragment.split('&').next().expect("a token").to_owned();
        Self { command, port: port.parse().expect("a port"), token }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        stream
    }

    /// Sends these lines as a head, and a body behind it.
    fn send(&self, lines: &[&str], body: &str) -> Answer {
        let mut stream = self.connect();
        let head = lines.join("\r\n");
        // A server that refuses early may close before all is sent.
        let _ = stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes());
        read_answer(stream)
    }

    pub(crate) fn get_with(&self, path: &str, headers: &[&str]) -> Answer {
        let (line, host) =
            (format!("GET {path} HTTP/1.1"), format!("host: 127.0.0.1:{}", self.port));
        let mut lines = vec![line.as_str(), host.as_str(), "connection: close"];
        lines.extend(headers);
        self.send(&lines, "")
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.get_with(path, &[&self.bearer()]);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        let lines = [
            format!("POST {path} HTTP/1.1"),
            format!("host: 127.0.0.1:{}", self.port),
            self.bearer(),
            "content-type: application/json".to_owned(),
            format!("content-length: {}", body.len()),
            "connection: close".to_owned(),
        ];
        self.send(&lines.each_ref().map(String::as_str), &body)
    }

    pub(crate) fn bearer(&self) -> String {
        format!("authorization: Bearer {}", self.token)
    }

    /// Asks again until the answer is as wanted.
    fn wait_for(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.get(path);
            if is_wanted(&answer) {
                return answer;
            }
            assert!(began.elapsed() < PATIENCE, "{path}: {answer}");
            std::thread::yield_now();
        }
    }

    pub(crate) fn end(self) -> String {
        self.command.signal(Signal::INT);
        let finished = self.command.finish();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        finished.stderr
    }
}

fn read_answer(stream: TcpStream) -> Answer {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        // A reset after a refusal ends the answer too.
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = Vec::new();
    let _ = reader.read_to_end(&mut body);
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_lowercase(), body: String::from_utf8_lossy(&body).into_owned() }
}

/// A session with a read, a failing command, a denied one, hostile text and a key.
pub(crate) fn make_session(dirs: &TestDirs) -> String {
    std::fs::create_dir_all(dirs.file(".claude")).expect("a folder");
    let rules = "{\n  \"permissions\": {\n    \"deny\": [\"Bash(rm:*)\"],\n    \"allow\": [\"Bash(cat:*)\", \"Write\"]\n  }\n}\n";
    std::fs::write(dirs.file(".claude/settings.json"), rules).expect("a file");
    std::fs::write(dirs.file("secret.txt"), format!("token {}\n", key())).expect("a file");
    let script = Script::new()
        .answer(
            ScriptedAnswer::text("I look at <script>alert(1)</script> **it**.")
                .tool("Bash", json!({"command": "cat secret.txt"}))
                .tool("Bash", json!({"command": "rm -rf /"})),
        )
        .answer(
            ScriptedAnswer::text("Now a file.")
                .tool("Write", json!({"file_path": dirs.file("new.txt"), "content": "one\ntwo\n"})),
        )
        .answer(ScriptedAnswer::text("Done with the *needle*."));
    let server = play(script);
    let asked =
        run(&mut dirs.asking(&server.url(), &["-p", "look <b>here</b>", "--trust-project"]));
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    let journals = dirs.journals();
    let journal = journals.first().expect("a journal");
    journal.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// Put together here, so that no file of the repository looks like it holds a key.
pub(crate) fn key() -> String {
    format!("ghp{}", "_0123456789abcdefghijABCDEFGHIJ")
}

#[test]
fn a_session_is_listed_shown_and_explained() {
    let dirs = TestDirs::new();
    let id = make_session(&dirs);
    let viewer = RunningViewer::start(&dirs, &[]);
    let hello = viewer.get("/api/hello");
    assert_eq!((&hello["name"], &hello["act"]), (&json!("windlass"), &json!(false)));
    let list = viewer.wait_for("/api/sessions?tool=bash", |list| list["total"] == 1);
    let row = &list["sessions"][0];
    assert_eq!(
        (&row["id"], &row["state"], &row["outcome"]),
        (&json!(id), &json!("done"), &json!("completed"))
    );
    assert_eq!(row["prompt"], "look <b>here</b>");
    assert_eq!(viewer.get("/api/sessions?state=failed")["total"], 0);
    let of = |part: &str| viewer.get(&format!("/api/sessions/{id}{part}"));
    let overview = of("");
    assert_eq!(overview["complete"], true);
    assert_eq!(overview["runs"][0]["terminal"], "completed");
    let items = of("/items?from=0&to=200");
    let items = items["items"].as_array().unwrap();
    let kinds: Vec<&str> = items.iter().map(|item| item["kind"].as_str().unwrap()).collect();
    let expected = [
        "prompt",
        "request",
        "answer",
        "call",
        "call",
        "continued",
        "request",
        "answer",
        "call",
        "continued",
        "request",
        "answer",
        "end",
    ];
    assert_eq!(kinds, expected);
    // Markdown is nodes; markup of the model is text in them.
    let nodes = items[2]["nodes"].to_string();
    assert!(
        nodes.contains("<script>alert(1)</script>") && nodes.contains(r#"["strong","it"]"#),
        "{nodes}"
    );
    let [read, removal] = [&items[3], &items[4]];
    assert_eq!((&read["status"], &read["ruling"]["decision"]), (&json!("ok"), &json!("allow")));
    assert_eq!(read["ruling"]["rule"], "Bash(cat:*)");
    assert!(read["ruling"]["source"].as_str().unwrap().ends_with("settings.json:4"), "{read}");
    assert!(read["result"]["text"].as_str().unwrap().contains(&key()));
    assert_eq!(
        (&removal["status"], &removal["ruling"]["decision"]),
        (&json!("denied"), &json!("deny"))
    );
    assert!(
        removal["ruling"]["source"].as_str().unwrap().ends_with("settings.json:3"),
        "{removal}"
    );
    let write = items[8]["call"].as_str().unwrap();
    assert!(items[8]["changes"].is_object(), "{}", items[8]);
    let diff = of(&format!("/diff?call={write}"));
    assert_eq!(
        diff["files"][0]["hunks"][0]["lines"],
        json!([["+", "one"], ["+", "two"]]),
        "{diff}"
    );
    let why = of("/why");
    let reasons: Vec<&str> = why["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["asked", "ruled", "denied", "continued", "ruled", "continued", "ended"]);
    let told = viewer.end();
    assert!(!told.contains("token="), "{told}");
}

#[test]
fn moments_requests_and_places_of_a_session_are_found() {
    let dirs = TestDirs::new();
    let id = make_session(&dirs);
    let viewer = RunningViewer::start(&dirs, &[]);
    let of = |part: &str| viewer.get(&format!("/api/sessions/{id}{part}"));
    assert_eq!(of("/replay")["matches"], true);
    let requests = of("/requests");
    let requests = requests["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 3);
    assert!(requests[2]["shared_bytes"].as_u64() >= requests[1]["bytes"].as_u64(), "{requests:?}");
    let (a, b) = (&requests[0]["seq"], &requests[1]["seq"]);
    let difference = of(&format!("/request-diff?a={a}&b={b}"));
    assert_eq!(difference["first"], "messages[1]", "{difference}");
    let context = of("/context");
    assert_eq!(context["by_turn"].as_array().unwrap().len(), 3, "{context}");
    let points = context["points"].as_array().unwrap();
    assert!(points[0]["change"].is_null() && points.len() > 3, "{context}");
    let mut recounted = 0;
    for pair in points.windows(2) {
        let number = |name: &str| pair[1]["change"][name].as_i64().unwrap();
        let explained =
            number("entered_tokens") + number("recounted_tokens") - number("left_tokens");
        let grown = pair[1]["total"].as_i64().unwrap() - pair[0]["total"].as_i64().unwrap();
        assert_eq!(explained, grown, "{pair:?}");
        // Nothing was taken back, so nothing is said to have been.
        assert!(number("entered_tokens") >= 0, "{pair:?}");
        recounted += number("recounted_tokens").abs();
    }
    assert!(recounted > 0, "{points:?}");
    let timeline = of("/timeline");
    let lanes = timeline["lanes"].to_string();
    assert!(lanes.contains("Bash") && lanes.contains(r#""kind":"model""#), "{lanes}");
    let last = of("")["seq"].as_u64().unwrap();
    assert_eq!(of(&format!("/at/{last}"))["after"], "completed");
    assert_eq!(of(&format!("/at/{}", requests[1]["seq"]))["after"], "streaming");
    let found = viewer.get("/api/search?q=NEEDLE&kind=answer");
    let place = &found["hits"][0]["places"][0];
    assert_eq!((&place["kind"], &place["length"]), (&json!("answer"), &json!(6)), "{found}");
    let located = of(&format!("/locate?seq={}", place["seq"]));
    assert_eq!(located["n"], 11);
    assert_eq!(
        viewer.get("/api/search?outcome=error&tool=bash")["hits"].as_array().unwrap().len(),
        0
    );
    let same = viewer.get(&format!("/api/compare?a={id}&b={id}"));
    assert_eq!(same["shared_items"], 13);
    for (path, status) in [
        ("/api/sessions/nobody", 404),
        ("/api/sessions/..%2F..%2Fetc", 404),
        (&format!("/api/sessions/{id}~../items"), 404),
        (&format!("/api/sessions/{id}/at/99999"), 404),
        (&format!("/api/sessions/{id}/items?from=x"), 400),
        ("/api/search", 400),
        ("/api/nothing", 404),
        ("/../../etc/passwd", 404),
        ("/etc/passwd", 404),
    ] {
        let answer = viewer.get_with(path, &[&viewer.bearer()]);
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert!(answer.json()["error"]["message"].as_str().is_some_and(|words| words.len() > 10));
    }
    viewer.end();
}

/// More sessions than one answer holds: nothing is lost in the list, in the filters or in a search.
#[test]
fn hundreds_of_sessions_are_listed_filtered_and_searched() {
    let dirs = TestDirs::new();
    make_session(&dirs);
    let journal = dirs.journals().remove(0);
    for number in 0..240 {
        let name = format!("{number:08x}-0000-4000-8000-000000000000.jsonl");
        std::fs::copy(&journal, journal.with_file_name(name)).expect("a copy");
    }
    let viewer = RunningViewer::start(&dirs, &[]);
    let mut seen = std::collections::BTreeSet::new();
    for from in [0, 100, 200] {
        let part = viewer.get(&format!("/api/sessions?from={from}&limit=100"));
        assert_eq!(part["total"], 241);
        let rows = part["sessions"].as_array().unwrap();
        seen.extend(rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()));
    }
    assert_eq!(seen.len(), 241);
    let all = |list: &Value| list["total"] == 241;
    for filter in ["tool=bash", "file=new.txt", "outcome=completed", "state=done", "q=look"] {
        viewer.wait_for(&format!("/api/sessions?{filter}"), all);
    }
    let facets = viewer.get("/api/sessions?limit=1")["facets"].clone();
    assert!(facets["tools"].to_string().contains("Write"), "{facets}");
    for nothing in ["tool=agent", "file=absent", "outcome=max_turns", "state=waiting,failed"] {
        assert_eq!(viewer.get(&format!("/api/sessions?{nothing}"))["total"], 0, "{nothing}");
    }
    for (words, wanted) in [
        ("q=needle&kind=answer", 241),
        ("kind=prompt", 241),
        ("outcome=error", 0),
        ("tool=write&kind=call", 241),
        ("file=new.txt&kind=result", 241),
        ("q=needle&model=nobody", 0),
    ] {
        let (mut hits, mut after) = (0, Value::from(0));
        loop {
            let found = viewer.get(&format!("/api/search?{words}&limit=50&after={after}"));
            hits += found["hits"].as_array().unwrap().len();
            if found["complete"] == true {
                break;
            }
            after = found["next"].clone();
        }
        assert_eq!(hits, wanted, "{words}");
    }
    viewer.end();
}

#[test]
fn strangers_are_refused_before_anything_is_read() {
    let dirs = TestDirs::new();
    let viewer = RunningViewer::start(&dirs, &[]);
    let port = viewer.port;
    let bearer = viewer.bearer();
    let own = format!("host: 127.0.0.1:{port}");
    let refused = |lines: &[&str]| viewer.send(lines, "").status;
    // 2. Another name for this address, as after DNS rebinding; no name; two names.
    for host in ["host: evil.test", "host: 127.0.0.1", "host: 127.0.0.1:1", "x-nothing: x"] {
        assert_eq!(refused(&["GET /api/hello HTTP/1.1", host, &bearer]), 403, "{host}");
    }
    assert_eq!(refused(&["GET / HTTP/1.1", &format!("host: evil.test:{port}")]), 403);
    assert_eq!(refused(&["GET / HTTP/1.1", &own, "host: evil.test"]), 403);
    for host in [format!("host: localhost:{port}"), format!("host: [::1]:{port}")] {
        assert_eq!(refused(&["GET /api/hello HTTP/1.1", &host, &bearer, "connection: close"]), 200);
    }
    // 2. Another origin, and what a browser says of one.
    for line in [
        "origin: http://evil.test",
        "origin: null",
        "sec-fetch-site: cross-site",
        "sec-fetch-site: same-site",
        &format!("origin: https://127.0.0.1:{port}"),
    ] {
        assert_eq!(refused(&["GET /api/hello HTTP/1.1", &own, &bearer, line]), 403, "{line}");
        assert_eq!(
            refused(&["POST /api/sessions/x/act/open HTTP/1.1", &own, &bearer, line]),
            403,
            "{line}"
        );
    }
    let fine = ["sec-fetch-site: same-origin", &format!("origin: http://127.0.0.1:{port}")];
    assert_eq!(viewer.get_with("/api/hello", &[&bearer, fine[0], fine[1]]).status, 200);
    // The file that opens the page leads there from nowhere; it gets the page, and no data.
    let opened =
        ["sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: document"];
    assert_eq!(viewer.get_with("/", &opened).status, 200);
    assert_eq!(
        viewer.get_with("/api/hello", &[&bearer, opened[0], opened[1], opened[2]]).status,
        403
    );
    let framed =
        ["sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"];
    assert_eq!(viewer.get_with("/", &framed).status, 403);
    // 3. No token, another one, half of it, and one in the address.
    assert_eq!(viewer.get_with("/api/hello", &[]).status, 401);
    let wrong = format!("authorization: Bearer {}", "0".repeat(32));
    assert_eq!(viewer.get_with("/api/hello", &[&wrong]).status, 401);
    assert_eq!(viewer.get_with("/api/hello", &[&bearer[..bearer.len() - 1]]).status, 401);
    assert_eq!(viewer.get_with(&format!("/api/hello?token={}", viewer.token), &[]).status, 401);
    // 1. Nothing acts unless that was asked for.
    let act = viewer.post("/api/sessions/x/act/prompt", &json!({"text": "x"}));
    assert_eq!((act.status, act.json()["error"]["code"].as_str()), (403, Some("read_only")));
    let deleted =
        viewer.send(&["DELETE /api/sessions HTTP/1.1", &own, &bearer, "connection: close"], "");
    assert_eq!(deleted.status, 405);
    // 4. What every answer says to a browser.
    for path in ["/", "/app.js", "/style.css", "/icon.svg", "/api/hello", "/nothing"] {
        let Answer { head, .. } = viewer.get_with(path, &[&bearer]);
        for line in [
            "content-security-policy: default-src 'none'; script-src 'self';",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(line), "{path}: {line}\n{head}");
        }
        assert!(!head.contains("access-control"), "{head}");
        assert_eq!(
            head.contains("cache-control: no-store"),
            !matches!(path, "/" | "/app.js" | "/style.css" | "/icon.svg"),
            "{path}"
        );
    }
    viewer.end();
}

#[test]
fn a_client_can_hold_up_nobody() {
    let dirs = TestDirs::new();
    let viewer = RunningViewer::start(&dirs, &[]);
    let own = format!("host: 127.0.0.1:{}", viewer.port);
    // Heads and bodies have an end, and what is unusual is not guessed at.
    let long = format!("x-long: {}", "x".repeat(20 << 10));
    assert_eq!(viewer.send(&["GET / HTTP/1.1", &own, &long], "").status, 431);
    let many: Vec<String> = (0..100).map(|n| format!("x-{n}: 1")).collect();
    let mut lines = vec!["GET / HTTP/1.1", &own];
    lines.extend(many.iter().map(String::as_str));
    assert_eq!(viewer.send(&lines, "").status, 431);
    let big = "content-length: 2000000";
    assert_eq!(viewer.send(&["POST /api/sessions/x/act/open HTTP/1.1", &own, big], "").status, 413);
    assert_eq!(
        viewer.send(&["POST / HTTP/1.1", &own, "transfer-encoding: chunked"], "").status,
        501
    );
    assert_eq!(
        viewer
            .send(&["POST / HTTP/1.1", &own, "content-length: 1", "content-length: 2"], "")
            .status,
        400
    );
    assert_eq!(viewer.send(&["GET / HTTP/1.0", &own], "").status, 505);
    assert_eq!(viewer.send(&["\u{1}\u{2}\u{3}"], "").status, 400);
    // One that sends a byte now and then is cut off, while others are served.
    let mut slow = viewer.connect();
    slow.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    let began = Instant::now();
    assert_eq!(viewer.get("/api/hello")["name"], "windlass");
    slow.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut buffer = [0; 1024];
    loop {
        let _ = slow.write_all(b"x");
        match slow.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                assert!(String::from_utf8_lossy(&buffer[..count]).starts_with("HTTP/1.1 408"));
                break;
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
        assert!(began.elapsed() < PATIENCE, "never cut off");
    }
    // More connections than are served at once wait; none is lost when the others go.
    let idle: Vec<TcpStream> = (0..80).map(|_| viewer.connect()).collect();
    drop(idle);
    assert_eq!(viewer.get("/api/hello")["name"], "windlass");
    viewer.end();
}

#[test]
fn a_session_that_was_rewound_to_its_beginning_goes_on() {
    let dirs = TestDirs::new();
    let id = make_session(&dirs);
    let server = play(Script::new().answer(ScriptedAnswer::text("Begun again.")));
    let mut command = dirs.asking(&server.url(), &["view", "--no-open", "--act"]);
    let viewer = RunningViewer::start_command(&mut command);
    let (session, act) = (format!("/api/sessions/{id}"), format!("/api/sessions/{id}/act"));
    viewer.wait_for(&session, |session| session["complete"] == true);
    let back = viewer.post(&format!("{act}/rewind"), &json!({"item": 0, "files": false}));
    assert_eq!(back.status, 200, "{}", back.body);
    viewer.wait_for(&session, |session| session["items"] == 0);
    // Listed anew, without a prompt.
    let list = viewer.wait_for("/api/sessions", |list| list["sessions"][0]["messages"] == 0);
    assert_eq!(list["sessions"][0]["id"], json!(id), "{list}");
    let sent = viewer.post(&format!("{act}/prompt"), &json!({"text": "once more"}));
    assert_eq!(sent.status, 200, "{}", sent.body);
    let items = format!("{session}/items?from=0&to=200");
    viewer.wait_for(&items, |items| items["items"].to_string().contains("Begun again."));
    viewer.end();
}

#[test]
fn a_page_takes_part_and_that_is_written_down() {
    let dirs = TestDirs::new();
    let id = make_session(&dirs);
    let script = Script::new()
        .answer(
            ScriptedAnswer::text("I make it.").tool("Bash", json!({"command": "touch made.txt"})),
        )
        .answer(ScriptedAnswer::text("Made."));
    let server = play(script);
    let mut command = dirs.asking(&server.url(), &["view", "--no-open", "--act"]);
    let viewer = RunningViewer::start_command(&mut command);
    let act = format!("/api/sessions/{id}/act");
    assert_eq!(viewer.get(&act)["can_act"], true);
    let mut events = viewer.connect();
    let lines = [
        format!("GET /api/events?session={id} HTTP/1.1"),
        format!("host: 127.0.0.1:{}", viewer.port),
        viewer.bearer(),
    ];
    events.write_all(format!("{}\r\n\r\n", lines.join("\r\n")).as_bytes()).unwrap();
    let sent = viewer.post(&format!("{act}/prompt"), &json!({"text": "make a file"}));
    assert_eq!(sent.status, 200, "{}", sent.body);
    let asking = viewer.wait_for(&act, |state| state["questions"][0]["ticket"].is_u64());
    let question = &asking["questions"][0];
    assert_eq!(question["input"]["command"], "touch made.txt");
    // Another process is told that the session is taken.
    let other = RunningViewer::start_command(
        &mut dirs.asking(&server.url(), &["view", "--no-open", "--act"]),
    );
    assert!(other.get(&act)["held_by"]["pid"].is_u64());
    let held = other.post(&format!("{act}/open"), &json!({}));
    assert_eq!((held.status, held.json()["error"]["code"].as_str()), (409, Some("held")));
    other.end();
    let answer = json!({"ticket": question["ticket"], "answer": "allow"});
    assert_eq!(viewer.post(&format!("{act}/answer"), &answer).status, 200);
    assert_eq!(viewer.post(&format!("{act}/answer"), &answer).status, 400, "answered once");
    viewer.wait_for(&act, |state| state["is_running"] == false);
    assert!(dirs.file("made.txt").exists());
    let path = format!("/api/sessions/{id}/items?from=0&to=200");
    let items = viewer.wait_for(&path, |items| items["items"].to_string().contains("Made."));
    let items = items["items"].as_array().unwrap();
    let prompt = items.iter().rfind(|item| item["kind"] == "prompt").unwrap();
    let call = items.iter().rfind(|item| item["kind"] == "call").unwrap();
    assert_eq!(prompt["by"], "browser");
    assert_eq!(call["ruling"]["asked"]["by"], "browser", "{call}");
    assert_eq!(call["ruling"]["asked"]["answer"], "allow");
    let mut stream = BufReader::new(events);
    let mut seen = String::new();
    while !seen.contains("event: session") || !seen.contains("event: act") {
        assert!(stream.read_line(&mut seen).unwrap() > 0, "{seen}");
    }
    let back = viewer.post(&format!("{act}/rewind"), &json!({"item": prompt["n"], "files": true}));
    assert_eq!(back.status, 200, "{}", back.body);
    assert!(!dirs.file("made.txt").exists());
    let overview = format!("/api/sessions/{id}");
    viewer.wait_for(&overview, |session| session["runs"].as_array().unwrap().len() == 1);
    assert_eq!(viewer.post(&format!("{act}/close"), &json!({})).json()["is_open"], false);
    let replayed = viewer.get(&format!("/api/sessions/{id}/replay"));
    assert_eq!(replayed["matches"], true, "{replayed}");
    viewer.end();
}
