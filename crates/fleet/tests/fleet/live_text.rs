//! Text while it is written: from the worker or over NATS, through any gateway.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::embedded::EmbeddedFleet;
use crate::fixture::{TestFleet, TestProcess, until};
use crate::gateway::{printed, token};
use crate::nats::TestNats;
use crate::postgres::PATIENCE;

/// Long enough to be followed on a busy machine.
const STORY: &str = "The anchor chain ran out to its seventh shackle before the flukes took hold, and \
    the ship came slowly round into the wind, until she lay between the two lights of the harbour.";

fn tell_a_story() -> Script {
    let pace = Duration::from_millis(80);
    Script::new().answer(ScriptedAnswer::text(STORY).chunk(3).pace(pace).repeat(0))
}

/// A client that reads a stream event by event.
struct EventReader {
    lines: BufReader<TcpStream>,
    last: String,
}

impl EventReader {
    fn open(url: &str, token: &str, session: &str, last: &str, query: &str) -> Self {
        let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // 1.0: the body comes as it is, without lengths of pieces.
        let head = format!(
            "GET /v1/sessions/{session}/events{query} HTTP/1.0\r\nAuthorization: Bearer {token}\r\n\
             Last-Event-ID: {last}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it has no body");
        }
        Self { lines, last: last.to_owned() }
    }

    /// The next frame; `None` at the end of the session.
    fn next(&mut self) -> Option<Value> {
        let mut id = None;
        let mut is_end = false;
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the stream broke off");
            match line.trim_end().split_once(": ") {
                Some(("id", value)) => id = Some(value.to_owned()),
                Some(("event", name)) => is_end = name == "end",
                Some(("data", _)) if is_end => return None,
                Some(("data", frame)) => {
                    self.last = id.expect("each frame has an id");
                    return Some(serde_json::from_str(frame).unwrap());
                }
                _ => {}
            }
        }
    }
}

/// What a client has of an answer: the pieces, and the whole messages.
#[derive(Debug, Default)]
struct SeenText {
    pieces: Vec<String>,
    messages: Vec<String>,
    results: usize,
}

impl SeenText {
    fn add(&mut self, frame: &Value) {
        if let Some(piece) = frame["event"]["delta"]["text"].as_str() {
            self.pieces.push(piece.to_owned());
        }
        if frame["type"] == "assistant" {
            let text = frame["message"]["content"][0]["text"].as_str();
            self.messages.push(text.unwrap_or_default().to_owned());
        }
        self.results += usize::from(frame["type"] == "result");
    }

    /// Nothing is missing, nothing comes twice: on a busy machine the whole message may come before its
    /// last pieces, which are then left out.
    fn check(&self) {
        assert!(STORY.starts_with(&self.pieces.concat()), "{self:?}");
        assert_eq!(self.messages, [STORY]);
        assert_eq!(self.results, 1);
    }
}

/// Follows until a number of pieces was there.
fn follow(reader: &mut EventReader, seen: &mut SeenText, pieces: usize) {
    while seen.pieces.len() < pieces {
        seen.add(&reader.next().expect("it goes on"));
        assert!(seen.messages.is_empty(), "there was no text before the message: {seen:?}");
    }
}

/// A gateway is killed in the middle of an answer; its clients go on at another one, in the middle of
/// the same answer. A client that did not ask for pieces gets none.
fn show_that_an_answer_is_followed(fleet: &TestFleet, serve: &[&str]) {
    let gateway = || fleet.start_gateway_with(&[&["--listen", "127.0.0.1:0"], serve].concat());
    let (first, url) = gateway();
    let (_second, next_url) = gateway();
    let watch = token(fleet, "wes", "team", "watch");
    let session = fleet.submit(1, "tell");
    let mut seen = SeenText::default();
    let mut reader = EventReader::open(&url, &watch, &session, "0", "?live=true");
    follow(&mut reader, &mut seen, 5);
    let last = reader.last.clone();
    assert_eq!(last.split('-').count(), 3, "{last}");
    first.kill();
    let mut resumed = EventReader::open(&next_url, &watch, &session, &last, "?live=true");
    // One that comes late gets the same answer from its beginning.
    let mut late = EventReader::open(&next_url, &watch, &session, "0", "?live=true");
    let mut seen_late = SeenText::default();
    follow(&mut resumed, &mut seen, 7);
    follow(&mut late, &mut seen_late, 7);
    while let Some(frame) = resumed.next() {
        seen.add(&frame);
    }
    while let Some(frame) = late.next() {
        seen_late.add(&frame);
    }
    seen.check();
    seen_late.check();

    let mut plain = EventReader::open(&next_url, &watch, &session, "0", "");
    let frames: Vec<Value> = std::iter::from_fn(|| plain.next()).collect();
    assert!(frames.iter().all(|frame| frame["type"] != "stream_event"), "{frames:?}");
    // Live text goes round the store.
    let stored = "select count(*) from windlass.events where frame like '%stream_event%'";
    assert_eq!(fleet.postgres.query(stored), "0");
}

#[test]
fn an_answer_is_followed_while_it_is_written() {
    let Some(fleet) = TestFleet::start(tell_a_story()) else { return };
    let _worker = fleet.start_worker("one", &[]);
    show_that_an_answer_is_followed(&fleet, &[]);

    // Only who has the key from the store gets anything from the worker, and knows whom it asks.
    let field =
        |name: &str| fleet.postgres.query(&format!("select live_{name} from windlass.workers"));
    let [address, certificate] = ["address", "certificate"].map(field);
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let host = "worker.windlass.internal";
    let port = address.rsplit_once(':').unwrap().1;
    let url = format!("https://{host}:{port}/live/00000000-0000-4000-8000-000000000001/1");
    let status = crate::store::block_on(async {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let certificate = reqwest::Certificate::from_pem(certificate.as_bytes()).unwrap();
        let client = reqwest::Client::builder().no_proxy().resolve(host, address.parse().unwrap());
        let client = client.tls_certs_only([certificate]).build().unwrap();
        let mut statuses = Vec::new();
        for key in ["", "Bearer x", "Bearer "] {
            let answer = client.get(&url).header("authorization", key).send().await.unwrap();
            statuses.push((answer.status().as_u16(), answer.text().await.unwrap()));
        }
        statuses
    });
    assert_eq!(status, vec![(401, String::new()); 3]);
    let (status, text) = crate::gateway::call(&format!("http://{address}"), "GET / HTTP/1.1", "");
    assert_eq!(status, 0, "{text}");
}

#[test]
fn an_answer_is_followed_over_nats() {
    let Some(mut nats) = TestNats::start() else { return };
    let Some(fleet) = TestFleet::start(tell_a_story()) else { return };
    let url = nats.url.clone();
    let _worker = fleet.start_worker("one", &["--live", &url]);
    show_that_an_answer_is_followed(&fleet, &["--live", &url]);
    assert_eq!(fleet.postgres.query("select count(live_address) from windlass.workers"), "0");

    // Without the server answers come as whole messages, and when it is back, as pieces again.
    let (mut gateway, url) = fleet.start_gateway_with(&["--listen", "127.0.0.1:0", "--live", &url]);
    let watch = token(&fleet, "wim", "team", "watch");
    let session = fleet.submit(2, "tell");
    let mut seen = SeenText::default();
    let mut reader = EventReader::open(&url, &watch, &session, "0", "?live=true");
    follow(&mut reader, &mut seen, 3);
    nats.restart();
    // What others send there is not believed to be a tail, whatever it is.
    for payload in ["", "{", "[]", r#"{"index":"x"}"#, r#"{"index":18446744073709551615}"#] {
        nats.publish(&format!("windlass.live.{session}.1"), payload);
        nats.publish(&format!("windlass.ask.{session}.1"), payload);
    }
    while let Some(frame) = reader.next() {
        seen.add(&frame);
    }
    assert_eq!((seen.messages.as_slice(), seen.results), (&[STORY.to_owned()][..], 1));
    until("the gateway noticed", || gateway.has_line("live text is not followed"));
    let session = fleet.submit(3, "tell");
    let mut seen = SeenText::default();
    let mut reader = EventReader::open(&url, &watch, &session, "0", "?live=true");
    follow(&mut reader, &mut seen, 3);
    while let Some(frame) = reader.next() {
        seen.add(&frame);
    }
    seen.check();
}

/// A server that requires TLS is spoken to with TLS, if its certificate is trusted; nothing is said
/// before, the login least of all.
#[test]
fn an_answer_is_followed_over_nats_with_tls() {
    let Some(nats) = TestNats::start_with_tls() else { return };
    let Some(fleet) = TestFleet::start(tell_a_story()) else { return };
    let certificate = nats.certificate();
    let trusted = ["--live", &nats.url, "--live-ca", &certificate];
    let worker = fleet.start_worker("one", &trusted);
    let tls = nats.url.replace("nats://", "tls://");
    show_that_an_answer_is_followed(&fleet, &["--live", &tls, "--live-ca", &certificate]);
    drop(worker);

    let mut stranger = fleet.start_worker("two", &["--live", &nats.url]);
    let line = stranger.wait_for_line("live text is not published");
    assert!(line.contains("--live-ca") && !line.contains("cret"), "{line}");
    drop(stranger);
    // A server without TLS gets no login of a client that wants it.
    let Some(plain) = TestNats::start() else { return };
    let tls = plain.url.replace("nats://", "tls://");
    let mut worker = fleet.start_worker("three", &["--live", &tls]);
    let line = worker.wait_for_line("live text is not published");
    assert!(line.contains("does not offer TLS"), "{line}");
    for (live, path, words) in [
        (nats.url.as_str(), "/none", "--live-ca /none"),
        ("direct", certificate.as_str(), "--live tls://HOST"),
    ] {
        for command in ["serve", "worker"] {
            let output = fleet.run(&[command, "--live", live, "--live-ca", path]);
            let line = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && line.contains(words), "{line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}

#[test]
fn an_answer_is_followed_without_a_database() {
    let fleet = EmbeddedFleet::new(tell_a_story());
    let (_process, url, token) = fleet.serve();
    let body = json!({ "prompt": "tell" });
    let (_, created) = crate::embedded::ask(&url, &token, "POST /v1/sessions", &body);
    let session = created["id"].as_str().unwrap();
    let mut seen = SeenText::default();
    let mut reader = EventReader::open(&url, &token, session, "0", "?live=true");
    follow(&mut reader, &mut seen, 3);
    while let Some(frame) = reader.next() {
        seen.add(&frame);
    }
    seen.check();
    for wrong in ["x", "1-2", "1-2-3-4"] {
        let head = format!("GET /v1/sessions/{session}/events?after={wrong}");
        assert_eq!(crate::embedded::ask(&url, &token, &head, &Value::Null).0, 400);
    }
}

/// The worker that writes an answer is killed. Its clients see the answer of the next one, and where
/// it begins.
#[test]
fn clients_see_that_an_answer_begins_anew_after_a_worker_was_killed() {
    let Some(fleet) = TestFleet::start(tell_a_story()) else { return };
    let worker = fleet.start_worker("one", &["--lease", "2"]);
    let (_gateway, url) = fleet.start_gateway();
    let watch = token(&fleet, "wes", "team", "watch");
    let session = fleet.submit(1, "tell");
    let mut seen = SeenText::default();
    let mut reader = EventReader::open(&url, &watch, &session, "0", "?live=true");
    follow(&mut reader, &mut seen, 3);
    worker.kill();
    let _next = fleet.start_worker("two", &["--lease", "2"]);
    let mut begun = 0;
    while let Some(frame) = reader.next() {
        if frame["event"]["type"] == "message_start" {
            begun += 1;
            seen = SeenText::default();
        }
        seen.add(&frame);
    }
    assert_eq!(begun, 1);
    seen.check();
}

/// What an agent SDK does with its command: it initializes, sends a prompt, reads to the result, and
/// sends the next prompt.
#[test]
fn an_sdk_speaks_to_a_fleet_as_to_a_process() {
    let script = Script::new()
        .answer(ScriptedAnswer::text("Rope.").when("rope or chain"))
        .answer(ScriptedAnswer::text("Five.").when("how many again"))
        .answer(ScriptedAnswer::text("Four.").when("how many"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let _worker = fleet.start_worker("one", &[]);
    let submitter = token(&fleet, "sam", "team", "submit");
    let arguments = ["attach", "--stream-json", "--include-partial-messages"];
    let mut command = fleet.command(&arguments);
    command.env("WINDLASS_SERVER", &url).env("WINDLASS_TOKEN", &submitter);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut read_to = |wanted: &str| -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let line = lines.next().unwrap_or_else(|| panic!("no {wanted} in {frames:?}")).unwrap();
            let frame: Value = serde_json::from_str(&line).unwrap();
            let is_it = frame["type"] == wanted;
            frames.push(frame);
            if is_it {
                return frames;
            }
        }
    };
    let request = |id: &str, subtype: &str| json!({ "type": "control_request", "request_id": id, "request": { "subtype": subtype } });
    let prompt = |text: &str| {
        let message = json!({ "role": "user", "content": [{ "type": "text", "text": text }] });
        json!({ "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "" })
    };
    writeln!(stdin, "{}", request("r1", "initialize")).unwrap();
    let answers = read_to("control_response");
    assert_eq!(answers[0]["response"]["subtype"], "success");
    assert_eq!(answers[0]["response"]["request_id"], "r1");
    writeln!(stdin, "{}", prompt("rope or chain?")).unwrap();
    let frames = read_to("result");
    assert_eq!(frames.last().unwrap()["result"], "Rope.");
    assert!(frames.iter().any(|frame| frame["type"] == "system" && frame["subtype"] == "init"));
    // What a fleet does not do is refused, and not done in silence.
    writeln!(stdin, "{}", request("r2", "set_model")).unwrap();
    let answers = read_to("control_response");
    assert_eq!(answers.last().unwrap()["response"]["subtype"], "error");
    writeln!(stdin, "{}", prompt("how many?")).unwrap();
    let frames = read_to("result");
    assert_eq!(frames.last().unwrap()["result"], "Four.");
    let session = frames.last().unwrap()["session_id"].as_str().unwrap().to_owned();
    drop(stdin);
    assert!(child.wait().unwrap().success());

    // A client that comes later sees only what is new.
    let mut command = fleet.command(&["attach", "--stream-json", "--new", &session]);
    command.env("WINDLASS_SERVER", &url).env("WINDLASS_TOKEN", &submitter);
    assert_eq!(printed(&command.output().unwrap()), "");
    let output =
        fleet.client(&url, &submitter, &["attach", "--include-partial-messages", &session]);
    assert!(!output.status.success());
}

/// `attach` and `logs --follow` print an answer once.
#[test]
fn an_answer_is_printed_once_while_it_is_written() {
    let Some(fleet) = TestFleet::start(tell_a_story()) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let _worker = fleet.start_worker("one", &[]);
    let watch = token(&fleet, "wes", "team", "watch");
    let session = fleet.submit(1, "tell");
    let text = printed(&fleet.client(&url, &watch, &["logs", "--follow", &session]));
    assert_eq!(text.matches(&format!("assistant: {STORY}\n")).count(), 1, "{text}");
    assert_eq!(text.matches("The anchor").count(), 1, "{text}");
}

/// A worker that cannot be reached for live text works all the same.
#[test]
fn a_fleet_without_live_text_shows_whole_messages() {
    let Some(fleet) = TestFleet::start(tell_a_story()) else { return };
    let _worker = fleet.start_worker("one", &["--live", "off"]);
    let (_gateway, url) = fleet.start_gateway();
    let watch = token(&fleet, "wes", "team", "watch");
    let session = fleet.submit(1, "tell");
    let mut seen = SeenText::default();
    let mut reader = EventReader::open(&url, &watch, &session, "0", "?live=true");
    while let Some(frame) = reader.next() {
        seen.add(&frame);
    }
    assert!(seen.pieces.is_empty(), "{seen:?}");
    seen.check();

    for wrong in
        ["nats://", "0.0.0.0", "[::]:80", "tls://", "host", "127.0.0.1:99999", "nats://a,b"]
    {
        let output = fleet.run(&["worker", "--live", wrong]);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && line.contains("--live"), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
    // An address of another host is refused at the start, where it was named by hand.
    let directory = fleet.path("other").display().to_string();
    let mut command = fleet.command(&["worker", "--allow-unsandboxed", "--live", "192.0.2.1"]);
    let windlass = crate::fixture::find_windlass();
    command.arg("--windlass").arg(windlass).args(["--dir", &directory]);
    let mut worker = TestProcess::start(&mut command);
    worker.wait_for_line("192.0.2.1");
    assert_eq!(worker.wait(), Some(1));
}

/// A name is one line for the terminals of others, whatever a client sends.
#[test]
fn a_name_cannot_steer_the_terminal_of_others() {
    let fleet = EmbeddedFleet::new(Script::new());
    let (_process, url, token) = fleet.serve();
    let ask = |path: &str, body: &Value| crate::embedded::ask(&url, &token, path, body);
    let body = json!({ "prompt": "x", "name": "a\u{1b}]0;b\u{7}\r\nc\u{9b}2J" });
    let (_, created) = ask("POST /v1/sessions", &body);
    let path = format!("GET /v1/sessions/{}", created["id"].as_str().unwrap());
    let (_, row) = ask(&path, &Value::Null);
    assert_eq!(row["name"], "a ]0;b   c 2J");
}
