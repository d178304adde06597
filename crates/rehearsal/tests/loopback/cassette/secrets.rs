//! What must not reach the disk, and what is recorded instead.

use base64::Engine as _;
use serde_json::{Value, json};
use windlass_rehearsal::cassette::{RecordSummary, ScrubOptions, UnrecordedReason};
use windlass_rehearsal::{
    Cassette, RecordOptions, Recorder, ReplayOptions, Script, ScriptedAnswer,
};

use super::upstream::{Do, Upstream};
use super::{all_recorded, all_text, recorder, replay, replay_with};
use crate::client::{Client, End, play, prompt};

/// Records one exchange and gives out all that was written.
fn written(
    scrub: ScrubOptions,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
    answer: &str,
) -> (String, RecordSummary) {
    let folder = tempfile::tempdir().expect("a folder");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nset-cookie: sid=cookie-of-the-answer; path=/\r\n\
                request-id: req_011abc\r\nopenai-organization: org-of-mine-1\r\ncf-ray: 8f-FRA\r\n";
    let upstream = Upstream::answering(head, answer.as_bytes());
    let options = RecordOptions::new(&upstream.url, folder.path()).with_scrub(scrub);
    let recorder = Recorder::start_blocking(options).expect("record");
    let seen = Client::connect(recorder.address()).post(path, headers, body);
    assert_eq!(seen.text(), answer, "the client is told the truth");
    let summary = recorder.finish_blocking();
    (all_text(folder.path()), summary)
}

/// Keys of every shape, put together here so that no key stands in this file.
fn keys() -> Vec<String> {
    let some = "a1B2c3D4e5F6g7H8i9J0";
    let mut keys: Vec<String> = [
        "sk-",
        "sk-ant-api03-",
        "sk-proj-",
        "ghp_",
        "gho_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "hf_",
        "gsk_",
        "ya29.",
        "npm_",
        "AIza",
        "sk_live_",
    ]
    .into_iter()
    .map(|prefix| format!("{prefix}{some}{some}"))
    .collect();
    keys.push(["AKIA", "IOSFODNN7", "EXAMPLE"].concat());
    keys.push(format!("eyJ{some}.eyJ{some}.{some}"));
    keys
}

#[test]
fn keys_are_taken_out_wherever_they_stand() {
    for key in keys() {
        for place in ["{}", "key={}&", "(\n{})", "\\\"{}\\\"", "x\\n{}\\n", "'{}'", "\\\\n{}"] {
            let text = place.replace("{}", &key);
            let body = json!({"messages": [{"content": text}]}).to_string();
            let answer = format!("data: {}\n\n", json!({"text": text, "more": [text]}));
            let (written, summary) = written(ScrubOptions::default(), "/a", &[], &body, &answer);
            all_recorded(&summary, 1);
            assert_eq!(summary.scrubbed, 3, "{text}");
            assert!(!written.contains(&key), "{key} in {written}");
            assert!(written.contains("<secret-1>") && !written.contains("<secret-2>"), "{written}");
        }
    }
}

#[test]
fn words_that_are_no_keys_stay() {
    let text = "the task-runner, sk-learn-like-estimators, a risk-assessment-document; \
                Bearer tokens are used; https://example.org:8080/@scope; me@example.org; \
                git@example.org:a/b.git; AKIA and AIza; -----BEGIN CERTIFICATE-----; eyJ; \
                https://user:$PASSWORD@example.org; org-mode; <home>";
    let body = json!({"messages": [{"content": text}]}).to_string();
    let (written, summary) = written(ScrubOptions::default(), "/a", &[], &body, text);
    all_recorded(&summary, 1);
    assert_eq!(summary.scrubbed, 0, "{written}");
}

#[test]
fn other_secrets_are_known_by_what_stands_around_them() {
    let armour = |word: &str| format!("-----{word} RSA PRIVATE {}-----", "KEY");
    let lines = ["MIIEowIBAAKCAQEA0123456789abcdefghij", "QmFzZTY0IGxpbmUgbnVtYmVyIHR3bw=="];
    let basic = base64::engine::general_purpose::STANDARD.encode("me:open sesame");
    for (text, secrets) in [
        (format!("{}\n{}\n{}", armour("BEGIN"), lines.join("\n"), armour("END")), &lines[..]),
        (format!("{}\n{}", armour("BEGIN"), lines.join("\n")), &lines),
        ("clone https://me:p4ss_word@example.org/x".to_owned(), &["p4ss_word"]),
        ("authorization: bearer 0123456789-abcdefgh".to_owned(), &["0123456789-abcdefgh"]),
        (format!("Authorization: Basic {basic}"), &[basic.as_str()]),
        (
            "AWS_SECRET_ACCESS_KEY = \"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE\"".to_owned(),
            &["wJalrXUtnFEMI/K7MDENG"],
        ),
        ("in organization org-abcdefghij0123456789XYZ on".to_owned(), &["org-abcdefghij"]),
    ] {
        // As it is, and inside JSON inside JSON, as the arguments of a tool are.
        let inner = json!({"command": text}).to_string();
        let body = json!({"a": text, "arguments": inner}).to_string();
        let (written, summary) = written(ScrubOptions::default(), "/a", &[], &body, &text);
        all_recorded(&summary, 1);
        for secret in secrets {
            assert!(!written.contains(secret), "{secret} in {written}");
        }
    }
}

#[test]
fn credentials_of_the_headers_are_taken_out_of_everything() {
    let basic = base64::engine::general_purpose::STANDARD.encode("me:the password");
    for (name, value, secret) in [
        ("authorization", "Bearer no-telling-shape", "no-telling-shape"),
        ("authorization", "no-scheme-and-no-shape", "no-scheme-and-no-shape"),
        ("authorization", &*format!("Basic {basic}"), "the password"),
        ("x-api-key", "plain words even", "plain words even"),
        ("x-goog-api-key", "quote\"backslash\\", "quote\"backslash\\"),
        ("cookie", "theme=dark; sid=cookie-of-the-request", "cookie-of-the-request"),
        ("x-my-token", "1234567890", "1234567890"),
        ("openai-organization", "org of 1 person", "org of 1 person"),
    ] {
        let number: Value = serde_json::from_str(secret).unwrap_or(Value::Null);
        let body =
            json!({"a": format!("it is {secret}, yes"), secret: [secret, number]}).to_string();
        let answer = json!({"said": secret, "set": "cookie-of-the-answer"}).to_string();
        let headers = [(name, value)];
        let (written, summary) = written(ScrubOptions::default(), "/a", &headers, &body, &answer);
        all_recorded(&summary, 1);
        for secret in
            [secret, "cookie-of-the-answer", "req_011abc", "org-of-mine-1", "8f-FRA", name]
        {
            assert!(!written.contains(secret), "{secret} in {written}");
        }
        for line in written.lines().skip(1) {
            serde_json::from_str::<Value>(line).expect("JSON stays JSON");
        }
        let exchange = written.lines().nth(1).expect("a request");
        let request: Value = serde_json::from_str(exchange).expect("JSON");
        assert!(request["request"]["body"]["json"].is_object(), "{exchange}");
    }
}

#[test]
fn keys_in_the_address_and_in_telling_fields_are_taken_out() {
    let body = json!({
        "metadata": {"user_id": "user_of_account_77"},
        "mcp_servers": [{"authorization_token": "mcp server token"}],
        "text": "user_of_account_77 has mcp server token and address key",
        "note": {"password": "required", "text": "a password is required"},
    });
    let path = "/v1beta/models/g:generateContent?key=address%20key&alt=sse";
    let (written, summary) = written(ScrubOptions::default(), path, &[], &body.to_string(), "ok");
    all_recorded(&summary, 1);
    for secret in ["user_of_account_77", "mcp server token", "address%20key", "address key"] {
        assert!(!written.contains(secret), "{secret} in {written}");
    }
    assert!(written.contains("?key=<secret-1>&alt=sse"), "{written}");
    assert!(written.contains(r#""user_id":"<identity-1>""#), "{written}");
    assert!(!written.contains(r#""password":"required""#), "{written}");
    assert!(written.contains("a password is required"), "{written}");
}

#[test]
fn fields_of_json_that_is_written_as_text_are_taken_out_too() {
    let call =
        json!({"user": "me and you", "password": "an ordinary word", "note": "kept as it is"});
    for chunk in [3, 10, 500] {
        let folder = tempfile::tempdir().expect("a folder");
        let rehearsal =
            play(Script::new().answer(ScriptedAnswer::call("Login", call.clone()).chunk(chunk)));
        let recorder = recorder(&rehearsal.url(), folder.path());
        let body = json!({"model": "m", "stream": true, "messages": [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "tool_calls": [{"function": {"arguments": call.to_string()}}]},
        ]});
        let body = body.to_string();
        Client::connect(recorder.address()).post("/v1/chat/completions", &[], &body);
        all_recorded(&recorder.finish_blocking(), 1);
        let replay = replay(folder.path());
        let mut client = Client::connect(replay.address());
        let again = client.post("/v1/chat/completions", &[], &body);
        assert_eq!(again.status, Some(200), "{}", again.text());
        let pieces = again.payloads();
        let place = "/choices/0/delta/tool_calls/0/function/arguments";
        let said: String = pieces.iter().filter_map(|one| one.pointer(place)?.as_str()).collect();
        let said: Value = serde_json::from_str(&said).expect("JSON stays JSON");
        let wanted =
            json!({"user": "me and you", "password": "<secret-1>", "note": "kept as it is"});
        assert_eq!(said, wanted);
        let text = all_text(folder.path());
        assert!(!text.contains("an ordinary word"), "{text}");
    }
}

#[test]
fn a_secret_a_model_says_in_pieces_is_taken_out_of_every_piece() {
    let key = format!("sk-ant-{}", "k3y".repeat(10));
    let said = format!("The key is {key}, keep it.");
    let call = json!({"command": format!("curl -H 'x-api-key: {key}'")});
    for chunk in [1, 2, 3, 7, 20] {
        let folder = tempfile::tempdir().expect("a folder");
        let answer = ScriptedAnswer::text(said.clone()).tool("Bash", call.clone()).chunk(chunk);
        let rehearsal = play(Script::new().answer(answer));
        let recorder = recorder(&rehearsal.url(), folder.path());
        let live = Client::connect(recorder.address()).ask(&prompt("hello"));
        assert_eq!(live.said(), said);
        all_recorded(&recorder.finish_blocking(), 1);
        let again = Client::connect(replay(folder.path()).address()).ask(&prompt("hello"));
        assert_eq!(again.said(), "The key is <secret-1>, keep it.");
        let pieces = again.payloads();
        let pieces = pieces.iter().filter_map(|one| one.pointer("/delta/partial_json"));
        let input: String = pieces.filter_map(Value::as_str).collect();
        let input: Value = serde_json::from_str(&input).expect("JSON stays JSON");
        assert_eq!(input, json!({"command": "curl -H 'x-api-key: <secret-1>'"}));
        assert_eq!(live.payloads().len(), again.payloads().len(), "no event is lost");
    }
}

#[test]
fn what_is_owed_stays_owed_when_secrets_are_taken_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = format!("it is sk-{}", "k3y".repeat(10));
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len() + 7);
    let upstream = Upstream::new(vec![vec![Do::Send(format!("{head}{body}").into())]]);
    let recorder = recorder(&upstream.url, folder.path());
    let live = Client::connect(recorder.address()).post("/a", &[], "");
    assert_eq!((live.text(), live.end), (body, End::Closed));
    all_recorded(&recorder.finish_blocking(), 1);
    let again = Client::connect(replay(folder.path()).address()).post("/a", &[], "");
    assert_eq!((again.text().as_str(), again.end), ("it is <secret-1>", End::Closed));
    assert_eq!(again.header("content-length"), Some("23"), "seven bytes are missing");
}

#[test]
fn what_cannot_be_cleaned_is_not_written() {
    // Escaped three times over, it is no longer found by who reads the body as it is meant.
    let secret = "with \"quotes\" and \\";
    let nested = json!(json!(json!(secret).to_string()).to_string()).to_string();
    let body = json!({"a": nested}).to_string();
    let headers = [("x-api-key", secret)];
    let (written, summary) = written(ScrubOptions::default(), "/a", &headers, &body, "ok");
    assert_eq!(summary.exchanges, 0);
    assert_eq!(summary.reasons[0].reason, UnrecordedReason::StillSecret);
    assert_eq!(written, "");
}

#[test]
fn more_secrets_than_can_be_looked_for_are_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let rehearsal = play(Script::new().answer(ScriptedAnswer::text("hi").repeat(0)));
    let recorder = recorder(&rehearsal.url(), folder.path());
    let mut client = Client::connect(recorder.address());
    for number in 0..260 {
        let key = format!("credential-{number}");
        client.post("/v1/messages", &[("x-api-key", &key)], &prompt("hello").to_string());
    }
    let summary = recorder.finish_blocking();
    assert!(summary.unrecorded > 0 && summary.exchanges + summary.unrecorded == 260);
    assert!(summary.reasons.iter().all(|one| one.reason == UnrecordedReason::TooManySecrets));
}

#[test]
fn stand_ins_and_addresses_are_taken_out_when_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = "I see /home/me/project/a.rs and /home/merlin; write to me@example.org.";
    let rehearsal = play(Script::new().answer(ScriptedAnswer::text(said).chunk(5)));
    let scrub = ScrubOptions {
        emails: true,
        ..ScrubOptions::default().with_home("/home/me").with_stand_in("project", "/home/me/project")
    };
    let options = RecordOptions::new(rehearsal.url(), folder.path()).with_scrub(scrub);
    let recorder = Recorder::start_blocking(options).expect("record");
    Client::connect(recorder.address()).ask(&prompt("look at /home/me/project, me@example.org"));
    all_recorded(&recorder.finish_blocking(), 1);
    let text = all_text(folder.path());
    assert!(!text.contains("/home/me/") && !text.contains("me@example.org"), "{text}");
    let scrub =
        ScrubOptions::default().with_home("/somewhere/else").with_stand_in("project", "/builds/7");
    let options = ReplayOptions { scrub, ..ReplayOptions::default() };
    let replay = replay_with(folder.path(), options);
    let seen = Client::connect(replay.address()).ask(&prompt("look at /builds/7, you@example.com"));
    let wanted = "I see /builds/7/a.rs and /home/merlin; write to <email-1>.";
    assert_eq!(seen.said(), wanted);
}

#[test]
fn known_secrets_need_no_header_and_no_option_shows_them() {
    let scrub = ScrubOptions::default().with_secret("from the environment");
    let shown = format!("{scrub:?}");
    assert!(!shown.contains("environment"), "{shown}");
    let body = json!({"a": "it is from the environment"}).to_string();
    let (written, summary) = written(scrub.clone(), "/a", &[], &body, "ok");
    all_recorded(&summary, 1);
    assert!(!written.contains("environment"), "{written}");
    let folder = tempfile::tempdir().expect("a folder");
    let options = RecordOptions::new("http://127.0.0.1:1", folder.path()).with_scrub(scrub);
    let recorder = Recorder::start_blocking(options).expect("record");
    assert!(!format!("{recorder:?}").contains("environment"));
}

#[test]
fn headers_are_kept_when_asked_for_but_never_credentials() {
    let folder = tempfile::tempdir().expect("a folder");
    let head = "HTTP/1.1 200 OK\r\nx-mine: kept\r\nset-cookie: a=b\r\nx-other: lost\r\n";
    let upstream = Upstream::answering(head, b"ok");
    let mut options = RecordOptions::new(&upstream.url, folder.path());
    options.keep_headers =
        ["X-Mine", "Set-Cookie", "X-Api-Key", "Content-Length"].map(str::to_owned).to_vec();
    let recorder = Recorder::start_blocking(options).expect("record");
    let headers = [("x-mine", "asked"), ("x-api-key", "k"), ("anthropic-beta", "a")];
    Client::connect(recorder.address()).post("/a", &headers, "");
    all_recorded(&recorder.finish_blocking(), 1);
    let cassette = Cassette::load(folder.path()).expect("a cassette");
    let exchange = &cassette.exchanges()[0];
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(exchange.request.headers, [pair("x-mine", "asked"), pair("anthropic-beta", "a")]);
    let head = exchange.head.as_ref().expect("a head");
    assert_eq!((head.status, &head.headers[..]), (200, &[pair("x-mine", "kept")][..]));
}
