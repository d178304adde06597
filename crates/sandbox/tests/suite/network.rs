//! Listed hosts through the proxy, and nobody else.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use windlass_sandbox::{AllowedHost, Proxy, ProxyHostRules, ProxyThread};

use crate::sandbox_fixture::{Backend, DEADLINE, SandboxFixture, everyone, is_ready};

fn allowed(entry: &str, reaches_private: bool) -> AllowedHost {
    let mut allowed: AllowedHost = entry.parse().unwrap();
    allowed.reaches_private = reaches_private;
    allowed
}

/// Says something to the proxy, and prints the first line of the answer and the last.
fn say(request: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}; printf '{request}' >&3
         a=$(cat <&3); echo \"$a\" | head -1; echo \"$a\" | tail -1"
    )
}

fn with_proxy(
    fixture: SandboxFixture,
    allowed: Vec<AllowedHost>,
    test: impl FnOnce(SandboxFixture, &Proxy),
) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let place = fixture.project.with_file_name("proxy");
    fs::create_dir(&place).unwrap();
    let proxy = runtime.block_on(async { Proxy::start(&place, allowed).unwrap() });
    fixture.give(&place);
    let socket = proxy.socket().to_str().unwrap().to_owned();
    test(fixture.with(&["--network", &socket]), &proxy);
    drop(proxy);
    runtime.shutdown_timeout(DEADLINE);
}

#[test]
fn a_listed_host_is_reached() {
    everyone(Backend::Bubblewrap, |fixture| {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let answers = std::thread::spawn(move || {
            let mut heads = Vec::new();
            for _ in 0..2 {
                assert!(is_ready(&server, DEADLINE), "nobody came");
                let (mut stream, _) = server.accept().unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    head.extend(byte);
                }
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").unwrap();
                heads.push(String::from_utf8(head).unwrap());
            }
            heads
        });
        let list = vec![allowed(&format!("127.0.0.1:{port}"), true)];
        with_proxy(fixture, list, |fixture, proxy| {
            let name = fixture.name();
            let request =
                format!("GET http://127.0.0.1:{port}/x HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n");
            let plain = fixture.run(&say(&request));
            assert_eq!(plain.stdout, "HTTP/1.1 200 OK\r\nhello\n", "{name}: {plain:?}");
            let request = format!(
                "CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\nGET /y HTTP/1.1\\r\\nA: b\\r\\n\\r\\n"
            );
            let tunnel = fixture.run(&say(&request));
            assert!(tunnel.stdout.contains("200 Connection established"), "{name}: {tunnel:?}");
            assert!(tunnel.stdout.ends_with("hello\n"), "{name}: {tunnel:?}");
            assert_eq!(proxy.refusals(), [""; 0]);
        });
        let heads = answers.join().unwrap();
        assert!(heads[0].starts_with("GET /x HTTP/1.1\r\nHost: 127.0.0.1:"), "{heads:?}");
        assert!(!heads[0].contains("other.test"), "{heads:?}");
        assert_eq!(heads[1], "GET /y HTTP/1.1\r\nA: b\r\n\r\n");
    });
}

/// The same on a thread of its own, with a host that is listed and denied.
#[test]
fn a_gate_leads_to_listed_hosts_and_not_to_denied_ones() {
    everyone(Backend::Bubblewrap, |fixture| {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let place = fixture.project.with_file_name("gate");
        let allowed_hosts =
            vec![allowed(&format!("127.0.0.1:{port}"), true), allowed("127.0.0.2:80", true)];
        let hosts =
            ProxyHostRules { allowed: allowed_hosts, denied: vec![allowed("127.0.0.2", false)] };
        let gate = ProxyThread::start(&place, hosts).unwrap();
        fixture.give(&place);
        let socket = gate.socket().to_str().unwrap().to_owned();
        let fixture = fixture.with(&["--network", &socket]);
        let name = fixture.name();
        let open = fixture.run(&say_and_leave(&format!("CONNECT 127.0.0.1:{port}")));
        assert!(open.stdout.contains("200 Connection established"), "{name}: {open:?}");
        let denied = fixture.run(&say_and_leave("CONNECT 127.0.0.2:80"));
        assert!(denied.stdout.starts_with("HTTP/1.1 403"), "{name}: {denied:?}");
        assert_eq!(gate.refusals().len(), 1, "{name}");
        drop(gate);
        assert!(!place.exists(), "{name}: it leaves nothing behind");
    });
}

/// Says something to the proxy, and prints the first line of the answer.
fn say_and_leave(request: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}
         printf '{request} HTTP/1.1\\r\\n\\r\\n' >&3; read -r line <&3; echo \"$line\""
    )
}

#[test]
fn nobody_else_is() {
    everyone(Backend::Bubblewrap, |fixture| {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        let port = server.local_addr().unwrap().port();
        let list = vec![
            // Says nothing of this machine.
            allowed(&format!("localhost:{port}"), false),
            // Said, and refused nevertheless.
            allowed("169.254.169.254:80", true),
            allowed("127.0.0.1:9", true),
        ];
        with_proxy(fixture, list, |fixture, proxy| {
            let name = fixture.name();
            for host in [
                format!("127.0.0.1:{port}"),
                format!("localhost:{port}"),
                "169.254.169.254:80".into(),
            ] {
                let held = fixture.run(&say(&format!("CONNECT {host} HTTP/1.1\\r\\n\\r\\n")));
                assert!(held.stdout.starts_with("HTTP/1.1 403"), "{name}: {host}: {held:?}");
                assert_eq!(proxy.refusals().len(), 1, "{name}: {host}");
            }
            let direct = fixture.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo through"));
            assert_eq!(direct.stdout, "", "{name}: {direct:?}");
            let wrong = fixture.run(&say("nonsense\\r\\n\\r\\n"));
            assert!(wrong.stdout.starts_with("HTTP/1.1 400"), "{name}: {wrong:?}");
        });
        assert!(server.accept().is_err(), "somebody came");
    });
}
