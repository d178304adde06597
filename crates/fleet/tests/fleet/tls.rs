//! HTTPS without a proxy, and clients that hold connections.

use std::io::{Read, Write};
use std::net::TcpStream;

use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::fixture::{TestFleet, until};
use crate::gateway::{call, printed, token};

/// Writes a new certificate for 127.0.0.1 and its key.
fn write_certificate(fleet: &TestFleet) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(fleet.path("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(fleet.path("key.pem"), made.signing_key.serialize_pem()).unwrap();
}

/// Commands speak to a gateway with TLS if they know its certificate. A new certificate is used without
/// a restart.
#[test]
fn a_gateway_serves_https() {
    let script = Script::new().answer(ScriptedAnswer::text("Rope.").repeat(0));
    let Some(fleet) = TestFleet::start(script) else { return };
    write_certificate(&fleet);
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| fleet.path(name).display().to_string());
    let serve = ["--listen", "127.0.0.1:0", "--tls-cert", &cert, "--tls-key", &key];
    let (mut gateway, url) = fleet.start_gateway_with(&serve);
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let _worker = fleet.start_worker("one", &[]);
    let submitter = token(&fleet, "sam", "team", "submit");
    let client = |arguments: &[&str]| {
        let mut command = fleet.command(arguments);
        command.env("WINDLASS_SERVER", &url).env("WINDLASS_TOKEN", &submitter);
        command.env("NODE_EXTRA_CA_CERTS", &cert);
        command.output().unwrap()
    };
    assert_eq!(printed(&client(&["submit", "rope or chain", "--wait"])), "Rope.");
    // Who does not know the certificate, or speaks without TLS, gets nothing.
    assert!(!fleet.client(&url, &submitter, &["ps"]).status.success());
    let plain = call(&url.replace("https://", "http://"), "GET /v1/health HTTP/1.1", "");
    assert_eq!(plain.0, 0, "{plain:?}");

    // Files that do not belong together change nothing; a new pair does.
    std::fs::write(&key, "not a key").unwrap();
    until("the old one stays", || {
        assert!(client(&["ps"]).status.success());
        gateway.has_line("the old certificate stays")
    });
    write_certificate(&fleet);
    until("the new one is used", || {
        let is_used = client(&["ps"]).status.success();
        gateway.has_line("was read again") && is_used
    });

    for (arguments, words) in [
        (["--tls-cert", "/none", "--tls-key", &key], "/none"),
        (["--tls-cert", &key, "--tls-key", &cert], "--tls-"),
    ] {
        let mut command = fleet.command(&["serve", "--listen", "127.0.0.1:0"]);
        let output = command.args(arguments).output().unwrap();
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && line.contains(words), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

/// A tenant that follows as many sessions as it may gets no more, and others are served.
#[test]
fn one_tenant_does_not_hold_all_streams() {
    let Some(fleet) = TestFleet::start(Script::new()) else { return };
    let (_gateway, url) = fleet.start_gateway_with(&["--listen", "127.0.0.1:0", "--streams", "3"]);
    printed(&fleet.run(&["store", "tenant", "other"]));
    let session = fleet.submit(1, "wait");
    let [wes, wim] = ["wes", "wim"].map(|name| token(&fleet, name, "team", "watch"));
    let other = token(&fleet, "oda", "other", "submit");
    let address = url.trim_start_matches("http://");
    let request = |token: &str| {
        let path = format!("/v1/sessions/{session}/events");
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n")
    };
    let mut streams: Vec<TcpStream> = (0..3)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request(&wes).as_bytes()).unwrap();
            let mut status = [0; 12];
            stream.read_exact(&mut status).unwrap();
            assert_eq!(&status, b"HTTP/1.1 200");
            stream
        })
        .collect();
    // Another token of the same tenant is no way around it.
    let follow = |token: &str, session: &str| {
        let head = format!("GET /v1/sessions/{session}/events?follow=false HTTP/1.1");
        call(&url, &format!("{head}\r\nAuthorization: Bearer {token}"), "")
    };
    for token in [&wes, &wim] {
        let (status, words) = follow(token, &session);
        assert!(status == 429 && words.contains("too_many_streams"), "{status} {words}");
    }
    let list = format!("GET /v1/sessions HTTP/1.1\r\nAuthorization: Bearer {wes}");
    assert_eq!(call(&url, &list, "").0, 200);
    let own = printed(&fleet.client(&url, &other, &["submit", "x"]));
    assert_eq!(follow(&other, &own).0, 200);
    // A place is free as soon as its client is gone.
    drop(streams.pop());
    until("a place is free", || follow(&wim, &session).0 == 200);
}
