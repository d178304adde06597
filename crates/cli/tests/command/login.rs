//! A login to a server over HTTP, from the browser's way back to a session that uses it, with what it
//! gave in a real key ring or in a file.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{FinishedCommand, TestDirs, play, run};
use crate::session_bus::SessionBus;

pub(crate) const TOKEN: &str = "token-of-the-login";

/// A server that wants a login, and the server of its logins, on one port.
pub(crate) fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let own = base.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let base = own.clone();
            std::thread::spawn(move || answer(stream, &base));
        }
    });
    base
}

fn answer(mut stream: TcpStream, base: &str) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.and_then(|length| length.trim().parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (status, more, body) = match path {
        _ if path.starts_with("/.well-known/oauth-protected-resource") => {
            let facts = json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]});
            ("200 OK", String::new(), facts)
        }
        _ if path.starts_with("/.well-known/oauth-authorization-server") => {
            ("200 OK", String::new(), metadata(base))
        }
        "/register" => {
            let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
            let client = json!({"client_id": "c1", "redirect_uris": asked["redirect_uris"]});
            ("201 Created", String::new(), client)
        }
        "/token" => {
            let token = json!({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600});
            ("200 OK", String::new(), token)
        }
        "/mcp" if head.starts_with("POST") && lower.contains(&format!("bearer {TOKEN}")) => {
            let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
            ("200 OK", String::new(), reply(&asked))
        }
        "/mcp" if head.starts_with("POST") => {
            let place = format!("{base}/.well-known/oauth-protected-resource");
            let challenge = format!("www-authenticate: Bearer resource_metadata=\"{place}\"\r\n");
            ("401 Unauthorized", challenge, json!({}))
        }
        _ => ("405 Method Not Allowed", String::new(), json!({})),
    };
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{more}content-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
    .ok()
}

fn metadata(base: &str) -> Value {
    json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    })
}

fn reply(asked: &Value) -> Value {
    let result = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "box", "version": "1"}}),
        "tools/list" => json!({"tools": [
            {"name": "open", "description": "Opens.", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "it is open"}]}),
        _ => {
            let error = json!({"code": -32601, "message": "no"});
            return json!({"jsonrpc": "2.0", "id": asked["id"], "error": error});
        }
    };
    json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})
}

/// Logs in, as a user with a browser would.
fn log_in(mut command: Command) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a start");
    let mut said = BufReader::new(child.stderr.take().expect("an output"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    let address = line.strip_prefix("Log in here: ").unwrap_or_else(|| panic!("{line}")).trim();
    let query = address.split_once('?').expect("a query").1;
    let field = |name: &str| {
        let found = query.split('&').find_map(|part| part.strip_prefix(&format!("{name}=")));
        found.unwrap_or_else(|| panic!("no {name} in {query}")).to_owned()
    };
    let back = field("redirect_uri").replace("%3A", ":").replace("%2F", "/");
    let port: u16 = back
        .strip_prefix("http://localhost:")
        .and_then(|rest| rest.strip_suffix("/callback"))
        .and_then(|port| port.parse().ok())
        .unwrap_or_else(|| panic!("{back}"));
    let mut browser = TcpStream::connect(("127.0.0.1", port)).expect("a listener");
    write!(browser, "GET /callback?code=abc&state={} HTTP/1.1\r\nhost: x\r\n\r\n", field("state"))
        .expect("a reader");
    let mut page = String::new();
    browser.read_to_string(&mut page).expect("a page");
    assert!(page.contains("You can close this page."), "{page}");
    let ended = child.wait_with_output().expect("an end");
    assert!(ended.status.success(), "{ended:?}");
}

/// The only file in which something is kept of logins.
fn kept(dirs: &TestDirs) -> PathBuf {
    let folder = dirs.home().with_file_name("state").join("windlass/mcp");
    let files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Logs in, uses the server, logs out; `at` makes the command.
fn there_and_back(dirs: &TestDirs, at: impl Fn(&[&str]) -> Command, is_in_ring: bool) {
    let base = serve();
    let url = format!("{base}/mcp");
    run(&mut at(&["mcp", "add", "--transport", "http", "box", &url])).answer();
    let used = || -> (FinishedCommand, String) {
        let script = Script::new()
            .answer(ScriptedAnswer::call("mcp__box__open", json!({})))
            .answer(ScriptedAnswer::text("done"));
        let server = play(script);
        let mut command = at(&["-p", "go", "--allowedTools", "mcp__box"]);
        command.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "test-key");
        let finished = run(&mut command);
        let body = server.requests().pop().expect("a request").json().expect("JSON");
        (finished, body["messages"].to_string())
    };
    assert!(used().1.contains("windlass mcp login box"), "{:?}", used());
    log_in(at(&["mcp", "login", "box"]));
    let file = kept(dirs);
    let text = std::fs::read_to_string(&file).expect("a file");
    assert_eq!(text.contains(TOKEN), !is_in_ring, "{text}");
    let mode = std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let (finished, said) = used();
    assert!(said.contains("it is open"), "{finished:?} {said}");
    run(&mut at(&["mcp", "logout", "box"])).answer();
    assert!(!file.exists());
    assert!(used().1.contains("windlass mcp login box"), "{:?}", used());
}

#[test]
fn a_login_is_kept_in_the_key_ring_used_and_forgotten() {
    let dirs = TestDirs::new();
    let Some(bus) = SessionBus::with_open_keyring(&dirs) else { return };
    there_and_back(&dirs, |arguments| bus.windlass(&dirs, arguments), true);
}

#[test]
fn without_a_key_ring_a_login_is_kept_in_a_file_for_the_user_alone() {
    let dirs = TestDirs::new();
    there_and_back(&dirs, |arguments| dirs.windlass(arguments), false);
}
