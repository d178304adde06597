//! Programs beside ours: the examples that use nothing but HTTP, the page, and what `deploy/` starts.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::TestFleet;
use crate::gateway::{call, printed, token};

fn example(name: &str) -> String {
    format!("{}/examples/http/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn deploy(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Node before 22.18 does not remove types itself: what our example has of them is removed here.
fn without_types(source: &str) -> String {
    let mut text = String::new();
    for line in source.lines().filter(|line| !line.starts_with("type ")) {
        text.push_str(line);
        text.push('\n');
    }
    for (types, plain) in [
        (": RequestInit = {}", " = {}"),
        (": Promise<Response>", ""),
        (": Promise<void>", ""),
        (": AsyncGenerator<Frame>", ""),
        ("new Map<string, string>()", "new Map()"),
        (" as unknown as AsyncIterable<Uint8Array>", ""),
        (" as Frame", ""),
        (": string", ""),
        (": Error", ""),
    ] {
        assert!(text.contains(types), "{types}");
        text = text.replace(types, plain);
    }
    text
}

/// A session is started and followed by programs that know only the API.
#[test]
fn the_examples_follow_a_session_over_http_alone() {
    let script = Script::new().answer(ScriptedAnswer::text("Rope.").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let _worker = fleet.start_worker("one", &[]);
    let submit = token(&fleet, "sam", "team", "submit");
    let watch = token(&fleet, "wes", "team", "watch");
    let run = |program: &str, file: &str, token: &str| -> Output {
        let mut command = Command::new(program);
        command.arg(file).arg("rope or chain?").env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("WINDLASS_SERVER", &url).env("WINDLASS_TOKEN", token);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let plain = fleet.path("follow_session.mjs");
    let source = std::fs::read_to_string(example("follow_session.ts")).unwrap();
    std::fs::write(&plain, without_types(&source)).unwrap();
    for (program, file) in
        [("python3", example("follow_session.py")), ("node", plain.display().to_string())]
    {
        if !is_there(program) {
            let must = std::env::var_os("WINDLASS_ALL_TESTS").is_some();
            assert!(!must, "{program} is not installed");
            continue;
        }
        assert_eq!(printed(&run(program, &file, &submit)), "Rope.", "{program}");
        let refused = run(program, &file, &watch);
        let line = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && line.contains("role `submit`"), "{program}: {line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

/// A fork goes on from the end of a session, with its files, and leaves the original as it is.
#[test]
fn a_session_is_forked_over_http_with_its_files() {
    let bash = |command: &str| ScriptedAnswer::call("Bash", json!({ "command": command }));
    let script = Script::new()
        .answer(bash("echo first > made.txt; echo made-it").when("make it"))
        .answer(ScriptedAnswer::text("Made.").when_result("made-it"))
        .answer(bash("cat made.txt; echo second >> made.txt; echo went-on").when("go on"))
        .answer(ScriptedAnswer::text("Went on.").when_result("first"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let _worker = fleet.start_worker("one", &[]);
    let source = fleet.submit(1, "make it");
    fleet.wait_for_state(&source, "done");
    let before = fleet.postgres.query("select count(*) from windlass.journal");
    let submit = token(&fleet, "sam", "team", "submit");
    let ask = |token: &str, path: &str, body: &Value| {
        let head = format!("POST {path} HTTP/1.1\r\nAuthorization: Bearer {token}");
        let (status, answer) = call(&url, &head, &body.to_string());
        (status, serde_json::from_str::<Value>(&answer).unwrap_or_default())
    };
    let fork = format!("/v1/sessions/{source}/fork");
    let (status, made) = ask(&submit, &fork, &json!({ "prompt": "go on", "name": "copy" }));
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().unwrap();
    fleet.wait_for_state(id, "done");
    let result = format!("select result from windlass.sessions where id = '{id}'");
    assert!(fleet.postgres.query(&result).contains("Went on."));
    let left = format!("select count(*) from windlass.journal where session = '{source}'");
    assert_eq!(fleet.postgres.query(&left), before, "the original is as it was");
    let patch = printed(&{
        let mut command = fleet.command(&["patch", id]);
        command.env("WINDLASS_SERVER", &url).env("WINDLASS_TOKEN", &submit);
        command.output().unwrap()
    });
    assert!(patch.contains("+first\n+second"), "{patch}");
    printed(&fleet.run(&["store", "run", id, "--", "replay"]));

    let empty = json!({ "prompt": " " });
    assert_eq!(ask(&submit, &fork, &empty).0, 400);
    let again = json!({ "prompt": "go on", "id": id });
    assert_eq!(ask(&submit, &fork, &again).0, 409);
    let watch = token(&fleet, "wes", "team", "watch");
    assert_eq!(ask(&watch, &fork, &again).0, 403);
}

#[test]
fn the_page_shows_nothing_without_a_token() {
    let Some(fleet) = TestFleet::start(Script::new()) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let session = fleet.submit(1, "wait");
    let (status, page) = call(&url, "GET / HTTP/1.1", "");
    assert!(status == 200 && page.contains("Sessions") && !page.contains(&session), "{page}");
    // It loads nothing from elsewhere.
    assert!(!page.contains("src=") && !page.contains("http"), "{page}");
}

/// What a browser does with the page, as far as it needs: elements that keep what they are given.
const BROWSER: &str = r#"
const [, , page, base, token, session] = process.argv;
class Element {
  constructor() { this.children = []; this.value = ""; this.textContent = ""; }
  append(...more) { this.children.push(...more); }
  replaceChildren(...more) { this.children = more; }
  insertCell() { const cell = new Element(); this.children.push(cell); return cell; }
  remove() { this.isRemoved = true; }
}
const elements = {};
globalThis.document = {
  getElementById: (id) => (elements[id] ??= new Element()),
  createElement: () => new Element(),
};
const kept = { token };
globalThis.sessionStorage = { getItem: (name) => kept[name], setItem: (name, value) => { kept[name] = value; } };
const ask = globalThis.fetch;
globalThis.fetch = (path, options) => ask(base + path, options);
const source = require("fs").readFileSync(page, "utf8");
const script = source.split("<script>")[1].split("</script>")[0];
globalThis.setInterval = () => {};
(0, eval)(script.replace('"use strict";', "") + ";globalThis.page = { refresh, follow, describe };");
(async () => {
  globalThis.page.follow(session);
  for (;;) {
    await globalThis.page.refresh();
    const line = elements.questions.children[0];
    if (line) {
      const words = line.children[0];
      await line.children.find((child) => child.textContent === "allow").onclick();
      console.log(words + "/" + elements.status.textContent + "/" + elements.rows.children.length);
      process.exit(0);
    }
    await new Promise((done) => setTimeout(done, 100));
  }
})();
"#;

/// The page of the gateway shows the questions of a session, and who may approve answers them there.
#[test]
fn a_question_is_answered_from_the_page() {
    if Command::new("node").arg("--version").output().is_err() {
        assert!(std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "node is not installed");
        return;
    }
    let write = json!({ "file_path": "note.txt", "content": "<b>x</b>" });
    let script = Script::new()
        .answer(ScriptedAnswer::call("Write", write).when("write it"))
        .answer(ScriptedAnswer::text("Written.").when_result("note.txt"));
    let Some(fleet) = TestFleet::start(script) else { return };
    let (_gateway, url) = fleet.start_gateway();
    let _worker = fleet.start_worker("one", &[]);
    let [wes, ann] = [("wes", "watch"), ("ann", "approve")]
        .map(|(name, role)| token(&fleet, name, "team", role));
    let session = fleet.submit_with(1, "write it", "{}");
    let page = fleet.path("page.html");
    std::fs::write(&page, call(&url, "GET / HTTP/1.1", "").1).unwrap();
    let browser = fleet.path("browser.cjs");
    std::fs::write(&browser, BROWSER).unwrap();
    let answer = |token: &str| {
        let mut command = Command::new("node");
        command.arg(&browser).arg(&page).args([&url, token, &session]).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).stdin(Stdio::null());
        printed(&command.output().unwrap())
    };
    assert!(answer(&wes).contains("role `approve`"), "a watcher may not");
    let said = answer(&ann);
    assert!(said.contains("May it run Write {") && said.ends_with("/allow: Write/1"), "{said}");
    fleet.wait_for_state(&session, "done");
    let by = "select answered_by, outcome from windlass.questions";
    assert_eq!(fleet.postgres.query(by), "ann|allow");
}

/// The words that the files of `deploy/` start our program with are words that it knows.
#[test]
fn what_deploy_starts_is_a_command_of_ours() {
    let files = [deploy("compose.yaml"), deploy("kubernetes.yaml")];
    let mut commands = 0;
    for line in files.iter().flat_map(|text| text.lines()) {
        let line = line.trim();
        let list = ["command: [", "args: ["].iter().find_map(|key| line.strip_prefix(key));
        let Some(list) = list.and_then(|list| list.strip_suffix(']')) else { continue };
        let mut words: Vec<&str> = list.split(", ").map(|word| word.trim_matches('"')).collect();
        words.push("--help");
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-fleet"));
        let output = command.args(&words).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {errors}");
        commands += 1;
    }
    assert_eq!(commands, 6);
    // The image has the programs that a worker needs, and none of the containers runs as root.
    let image = deploy("fleet.Dockerfile");
    for words in ["bubblewrap", "git", "ca-certificates", "USER windlass", "windlass-fleet"] {
        assert!(image.contains(words), "{words}");
    }
    for path in ["/v1/health", "WINDLASS_STORE"] {
        assert!(files[1].contains(path), "{path}");
    }
}
