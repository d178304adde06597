//! `windlass batch`: how it follows its sessions, and what its report says.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestFleet, until};
use crate::gateway::{printed, token};

/// A gateway that answers as the test wants, and notes what it was asked.
struct ScriptedGateway {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

type ScriptedReply = Box<dyn FnMut(&str, &Value) -> (u16, Value) + Send>;

impl ScriptedGateway {
    fn start(mut reply: ScriptedReply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (line, body) = read_request(&stream);
                let (status, answer) = reply(&line, &body);
                noted.lock().unwrap().push(line);
                let answer = answer.to_string();
                let length = answer.len();
                let head = format!("HTTP/1.1 {status} X\r\nConnection: close");
                let _ = write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{answer}");
            }
        });
        Self { url, requests }
    }

    fn count(&self, beginning: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|line| line.starts_with(beginning)).count()
    }
}

fn read_request(stream: &TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_ascii_lowercase());
    }
    let length = lines.iter().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let line = lines.first().cloned().unwrap_or_default();
    let line = line.trim_end_matches(" http/1.1").to_owned();
    (line, serde_json::from_slice(&body).unwrap_or_default())
}

fn run_batch(url: &str, more: &[&str]) -> Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_windlass-fleet"));
    command.arg("batch").args(more).env_clear();
    command.env("WINDLASS_SERVER", url).env("WINDLASS_TOKEN", "wlf_00").output().unwrap()
}

fn write_rows(folder: &std::path::Path, count: usize) -> String {
    let path = folder.join("rows.csv");
    let rows: String = (1..=count).map(|number| format!("{number}\n")).collect();
    std::fs::write(&path, format!("number\n{rows}")).unwrap();
    path.display().to_string()
}

/// All rows are followed by the list of the batch, in pages. What is there already is known by the code
/// of the error, and an error that may pass is tried again.
#[test]
fn rows_are_followed_by_the_list_of_their_batch() {
    let folder = tempfile::tempdir().unwrap();
    let rows = write_rows(folder.path(), 5);
    let mut sessions: BTreeMap<String, Value> = BTreeMap::new();
    let (mut looks, mut troubles) = (0, 0);
    let reply = move |line: &str, body: &Value| {
        let refuse = |status: u16, code: &str| {
            let error =
                json!({ "status": status, "code": code, "message": "words of another time" });
            (status, json!({ "error": error }))
        };
        match line {
            "post /v1/batches" => (201, json!({ "id": "te am/ni&ght=1" })),
            "post /v1/sessions" => {
                let id = body["id"].as_str().unwrap().to_owned();
                assert_eq!(body["batch"], "te am/ni&ght=1");
                if body["row"] == 2 && troubles < 2 {
                    troubles += 1;
                    return refuse(503, "unavailable");
                }
                let is_known = body["row"] == 3;
                let row = json!({ "id": id, "row": body["row"], "cost_micro_usd": 10_000 });
                sessions.insert(id, row);
                match is_known {
                    true => refuse(409, "session_exists"),
                    false => (201, json!({})),
                }
            }
            line if line.starts_with("get /v1/sessions?batch=te%20am%2fni%26ght%3d1&") => {
                looks += 1;
                let after = line.split("after=").nth(1).unwrap_or_default().to_owned();
                let mut page: Vec<Value> =
                    sessions.range(after..).map(|(_, row)| row.clone()).collect();
                // From the third time on they have ended, one after the other.
                for (number, row) in page.iter_mut().enumerate() {
                    let is_over = looks >= 3 && number < 2;
                    row["state"] = json!(if is_over { "done" } else { "queued" });
                    row["reason"] = json!(if is_over { "" } else { "waits for money" });
                }
                (200, json!({ "sessions": page, "next": null }))
            }
            line if line.ends_with("/result") => {
                (200, json!({ "subtype": "success", "result": "Said." }))
            }
            _ => refuse(404, "not_found"),
        }
    };
    let gateway = ScriptedGateway::start(Box::new(reply));
    let output = run_batch(&gateway.url, &[&rows, "--template", "do {number}"]);
    let report = printed(&output);
    assert!(report.contains("5 of 5 sessions are done, $0.0500"), "{report}");
    assert_eq!(report.matches("```text\nSaid.\n```").count(), 5, "{report}");
    let progress = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(progress.contains("waits for money"), "{progress}");
    assert_eq!(gateway.count("post /v1/sessions"), 5 + 2, "a failure is tried again");
    assert_eq!(gateway.count("get /v1/sessions/"), 5, "each result once, and no row by itself");
    let lists = gateway.count("get /v1/sessions?");
    assert!((3..10).contains(&lists), "{lists}");
}

/// A row whose session cannot be had ends the batch with one line.
#[test]
fn a_batch_whose_session_is_missing_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let rows = write_rows(folder.path(), 1);
    for (status, code, words) in [
        (409, "session_exists", "not in the batch"),
        (409, "other", "row 1: the gateway refuses"),
        (400, "bad_request", "row 1: the gateway refuses"),
    ] {
        let gateway = ScriptedGateway::start(Box::new(move |line, _| match line {
            "post /v1/batches" => (201, json!({ "id": "x" })),
            "post /v1/sessions" => {
                (status, json!({ "error": { "code": code, "message": "is there already" } }))
            }
            _ => (200, json!({ "sessions": [], "next": null })),
        }));
        let output = run_batch(&gateway.url, &[&rows, "--template", "x"]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && errors.contains(words), "{status} {code}: {errors}");
        assert_eq!(gateway.count("post /v1/sessions"), 1);
    }
}

/// The report has the final answers: the first lines for people, the whole text for programs. The batch
/// goes on where it was, and has its budget.
#[test]
fn a_report_has_what_the_sessions_said() {
    let long = format!("First of all.\n{}", "More | and <b>more</b>.\n".repeat(50));
    let script = Script::new()
        .answer(ScriptedAnswer::text(long.clone()).when("say 1").repeat(0))
        .answer(ScriptedAnswer::text("Short.").when("say 2").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let submitter = token(&fleet, "sam", "team", "submit");
    let rows = write_rows(&fleet.path(""), 2);
    let path = fleet.path("report.md");
    let batch = |budget: &str| {
        let mut command = fleet.command(&["batch", &rows, "--template", "say {number}"]);
        command.args(["--name", "night shift", "--max-budget-usd", "0.5"]);
        command.args(["--batch-budget-usd", budget, "--report", path.to_str().unwrap()]);
        command.env("WINDLASS_SERVER", &url).env("WINDLASS_TOKEN", &submitter);
        command
    };
    // Nothing is covered: the sessions wait, and everything that lists them says for what.
    let mut waiting = batch("0.25").spawn().unwrap();
    let count = "select count(*) from windlass.sessions where state = 'queued'";
    fleet.postgres.wait_for(count, "2");
    let worker = fleet.start_worker("one", &[]);
    let words = "waits for the budget of batch team/night shift: needs $0.50, $0.25 left";
    let client = |arguments: &[&str]| printed(&fleet.client(&url, &submitter, arguments));
    assert_eq!(client(&["ps"]).matches(words).count(), 2);
    assert!(client(&["ps", "--batches"]).contains("0 of 2 ended  $0.0000 of $0.2500  night shift"));
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert_eq!(fleet.postgres.query("select max(epoch) from windlass.sessions"), "0");
    // With a higher budget the same batch goes on.
    let output = batch("0.75").output().unwrap();
    let said = printed(&output);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("2 sessions, at most $0.75"), "{errors}");
    assert!(said.contains("## Row 1\n\n```text\nFirst of all.\nMore | and"), "{said}");
    assert!(said.contains("…\n```") && said.contains("Short."), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap().trim(), said);
    let all = std::fs::read_to_string(path.with_extension("json")).unwrap();
    let all: Value = serde_json::from_str(&all).unwrap();
    assert_eq!(all[0]["result"].as_str().unwrap().trim(), long.trim());
    assert_eq!((&all[1]["result"], &all[1]["outcome"]), (&json!("Short."), &json!("success")));
    assert!(all[1]["cost_micro_usd"].as_i64().unwrap() > 0);
    assert_eq!(fleet.postgres.query("select count(*) from windlass.sessions"), "2");
    let sums = "select spent_micro = (select sum(cost_micro) from windlass.sessions), reserved_micro \
         from windlass.batches";
    assert_eq!(fleet.postgres.query(sums), "t|0");
    worker.kill();
    until("the list is by batch", || client(&["ps", "--batches"]).contains("2 of 2 ended"));
}
