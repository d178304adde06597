//! A hook that is a server: a real socket on this machine.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use windlass_hook::{HookEvent, HookHttpPolicy, HookInvocation};
use windlass_vocabulary::HookVerdict::{Allow, Ask, Pass};

use crate::test_bed::{HookTestBed, build_hook_set};

/// Serves one reply to each request and gives the requests back.
async fn serve(reply: String) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook?key=1", listener.local_addr().unwrap());
    let (sender, requests) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            let mut chunk = [0; 4096];
            loop {
                let read = stream.read(&mut chunk).await.unwrap();
                request.extend_from_slice(&chunk[..read]);
                let text = String::from_utf8_lossy(&request);
                if let Some((head, body)) = text.split_once("\r\n\r\n") {
                    let length = head.to_lowercase();
                    let length = length.split("content-length: ").nth(1).unwrap_or("0");
                    let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
                    if read == 0 || body.len() >= length {
                        break;
                    }
                }
            }
            let _ = sender.send(String::from_utf8(request).unwrap());
            let _ = stream.write_all(reply.as_bytes()).await;
            if reply.is_empty() {
                std::future::pending::<()>().await;
            }
        }
    });
    (url, requests)
}

fn reply(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

async fn ask(
    stage: &HookTestBed,
    event: HookEvent,
    hook: Value,
    switches: HookHttpPolicy,
) -> windlass_hook::CombinedHookResult {
    let set = build_hook_set(event, &[hook]).with_http_policy(switches);
    let input = json!({ "hook_event_name": event.name() });
    let occasion = HookInvocation { input, ..HookInvocation::default() };
    set.select(event, Some("Bash"), |_| true).run(occasion, &stage.environment).await
}

#[tokio::test]
async fn what_a_reply_means() {
    let stage = HookTestBed::new();
    let allow = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": "allow" } });
    let long = format!("{{\"reason\": \"{}\"}}", "x".repeat(2 << 20));
    let elsewhere = "302 Found\r\nlocation: http://127.0.0.1:1/";
    #[rustfmt::skip]
    let table = [
        (reply("200 OK", &allow.to_string()), Some(Allow), ""),
        (reply("201 Created", ""), Some(Pass), ""),
        (reply("200 OK", "{}"), Some(Pass), ""),
        (reply("200 OK", "fine"), None, "with JSON"),
        (reply("200 OK", "[1]"), None, "not an object"),
        (reply("200 OK", &long), None, "more than"),
        (reply("500 Broken", &allow.to_string()), None, "status 500"),
        (reply(elsewhere, &allow.to_string()), None, "status 302"),
        ("nonsense\r\n\r\n".to_owned(), None, "cannot be reached"),
    ];
    for (reply, expected, words) in table {
        let (url, _requests) = serve(reply.clone()).await;
        let hook = json!({ "type": "http", "url": url, "timeout": 60 });
        let joint =
            ask(&stage, HookEvent::PreToolUse, hook.clone(), HookHttpPolicy::default()).await;
        match expected {
            Some(expected) => assert_eq!((joint.verdict, joint.warnings.len()), (expected, 0)),
            None => {
                assert!(matches!(&joint.verdict, Ask(_)), "{joint:?}");
                assert!(joint.warnings[0].contains(words), "{joint:?}");
                assert!(!joint.warnings[0].contains("key=1"), "queries may hold secrets");
                let joint = ask(&stage, HookEvent::Stop, hook, HookHttpPolicy::default()).await;
                assert_eq!((joint.verdict, joint.warnings.len()), (Pass, 1));
            }
        }
    }
    for url in ["http://127.0.0.1:1/", "ftp://127.0.0.1/", "nonsense"] {
        let hook = json!({ "type": "http", "url": url, "onFailure": "block" });
        let joint = ask(&stage, HookEvent::PreToolUse, hook, HookHttpPolicy::default()).await;
        assert!(matches!(joint.verdict, windlass_vocabulary::HookVerdict::Block(_)), "{joint:?}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_late() {
    let stage = HookTestBed::new();
    let (url, _requests) = serve(String::new()).await;
    let hook = json!({ "type": "http", "url": url, "timeout": 0.3 });
    let joint = ask(&stage, HookEvent::PreToolUse, hook, HookHttpPolicy::default()).await;
    assert!(matches!(&joint.verdict, Ask(why) if why.contains("longer than 0.3 s")), "{joint:?}");
}

#[tokio::test]
async fn headers_carry_only_what_is_allowed() {
    let stage = HookTestBed::new();
    let (url, mut requests) = serve(reply("200 OK", "{}")).await;
    let hook = json!({
        "type": "http", "url": url, "timeout": 60,
        "headers": { "Authorization": "Bearer $PATH", "X-Other": "a${HOME}b" },
        "allowedEnvVars": ["PATH"],
    });
    ask(&stage, HookEvent::PreToolUse, hook.clone(), HookHttpPolicy::default()).await;
    let request = requests.recv().await.unwrap();
    let path = std::env::var("PATH").unwrap();
    assert!(request.starts_with("POST /hook?key=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("authorization: Bearer {path}\r\n")), "{request}");
    assert!(request.contains("x-other: ab\r\n"), "{request}");
    assert!(request.contains("content-type: application/json\r\n"), "{request}");
    assert!(request.ends_with("{\"hook_event_name\":\"PreToolUse\"}"), "{request}");
    let none = HookHttpPolicy { allowed_env_vars: Some(Vec::new()), ..HookHttpPolicy::default() };
    ask(&stage, HookEvent::PreToolUse, hook.clone(), none).await;
    assert!(requests.recv().await.unwrap().contains("authorization: Bearer \r\n"));
    let urls = Some(vec!["https://*".to_owned()]);
    let joint = ask(
        &stage,
        HookEvent::PreToolUse,
        hook,
        HookHttpPolicy { allowed_urls: urls, allowed_env_vars: None },
    )
    .await;
    assert!(joint.warnings[0].contains("do not allow"), "{joint:?}");
    assert!(requests.try_recv().is_err(), "it was not asked");
}
