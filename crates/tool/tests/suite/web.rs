//! Fetching from a real server on this machine: what is followed, what is refused, what is shown.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use windlass_tool::NetworkAccess;
use windlass_vocabulary::ToolOutcome;

use crate::test_project::{TestProject, structured, text};

/// Answers each request by its path, and remembers what it was asked.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answer: fn(&str) -> Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let heard = Arc::clone(&heard);
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    let request = String::from_utf8(request).unwrap();
                    let path = request.split(' ').nth(1).unwrap().to_owned();
                    heard.lock().unwrap().push(request);
                    let _ = socket.write_all(&answer(&path)).await;
                    let _ = socket.shutdown().await;
                });
            }
        });
        Self { address, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn page(kind: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nset-cookie: a=b\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn moved(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

fn site(path: &str) -> Vec<u8> {
    match path {
        "/" => page("text/html; charset=utf-8", "<title>A &amp; B</title><h1>Hello</h1><p>World"),
        "/plain" => page("text/plain", "just <b>text</b>"),
        "/json" => page("application/json", "{\"a\":1}"),
        "/latin" => page("text/html; charset=iso-8859-1", b"<p>caf\xe9"),
        "/binary" => page("application/octet-stream", b"\0\x01\x02"),
        "/moved" => moved("/moved/again"),
        "/moved/again" => moved("/plain"),
        "/round" => moved("/round"),
        "/elsewhere" => moved("http://example.org/x"),
        "/metadata" => moved("http://169.254.169.254/latest/"),
        "/file" => moved("file:///etc/passwd"),
        "/user" => moved("http://u:p@example.org/"),
        "/long" => page("text/plain", "0123456789\n".repeat(20_000)),
        "/huge" => page("text/plain", "x".repeat(6 * 1024 * 1024)),
        _ => b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\ncontent-type: text/plain\r\n\r\ngone"
            .to_vec(),
    }
}

async fn fetch(project: &TestProject, url: &str) -> ToolOutcome {
    project.call("WebFetch", json!({"url": url, "prompt": "what is there?"})).await
}

fn open_world() -> TestProject {
    TestProject::with(|context| {
        context.network = NetworkAccess { loopback: true, private: false };
        context.processes.environment.push(("HTTP_PROXY".into(), "http://127.0.0.1:9".into()));
    })
}

#[tokio::test]
async fn pages_are_shown_as_text_and_hops_are_looked_at() {
    let project = open_world();
    let server = Server::start(site).await;
    // (path, is an error, what is shown)
    let cases = [
        ("/", false, "Title: A & B\n\n# Hello\n\nWorld"),
        ("/plain", false, "just <b>text</b>"),
        ("/json", false, "{\"a\":1}"),
        ("/latin", false, "café"),
        ("/moved", false, "just <b>text</b>"),
        ("/nowhere", true, "The server answered 404 Not Found.\ngone"),
    ];
    for (path, is_error, expected) in cases {
        let outcome = fetch(&project, &server.url(path)).await;
        assert_eq!((text(&outcome), outcome.is_error), (expected, is_error), "{path}");
    }
    let outcome = fetch(&project, &server.url("/elsewhere")).await;
    assert!(text(&outcome).ends_with("To follow it, fetch http://example.org/x"));
    assert_eq!(structured(&outcome)["code"], 302);
    let refused = [
        ("/binary", "`application/octet-stream`, which is not text"),
        ("/round", "More than 10 redirects"),
        ("/file", "only http and https"),
        ("/user", "user name or password"),
    ];
    for (path, why) in refused {
        let outcome = fetch(&project, &server.url(path)).await;
        assert!(outcome.is_error && text(&outcome).contains(why), "{path}: {}", text(&outcome));
    }
    // Another host, even a forbidden one, is never asked.
    let outcome = fetch(&project, &server.url("/metadata")).await;
    assert!(text(&outcome).contains("redirects to another host"));
    for request in server.asked.lock().unwrap().iter() {
        let request = request.to_lowercase();
        for header in ["cookie:", "authorization:", "referer:"] {
            assert!(!request.contains(header), "{request}");
        }
    }
}

#[tokio::test]
async fn addresses_are_checked_when_they_are_connected_to() {
    let server = Server::start(site).await;
    let port = server.address.port();
    let closed = TestProject::new();
    let open = TestProject::with(|context| {
        context.network = NetworkAccess { loopback: true, private: true };
    });
    for url in ["http://169.254.169.254/", "http://[fe80::1]/", "http://0.0.0.0/"] {
        for project in [&open, &closed] {
            let outcome = fetch(project, url).await;
            assert!(outcome.is_error && text(&outcome).contains("is not fetched"), "{url}");
        }
    }
    // Private addresses disguised by NAT64, 6to4, Teredo and IPv4-compatible forms.
    for address in [
        "64:ff9b::7f00:1",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2001:0:1:2:3:4:80ff:fffe",
        "::127.0.0.1",
    ] {
        let outcome = fetch(&closed, &format!("http://[{address}]:{port}/")).await;
        let shown = text(&outcome);
        assert!(outcome.is_error && shown.contains("needs a permission of its own"), "{shown}");
    }
    for address in ["::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::"] {
        let outcome = fetch(&open, &format!("http://[{address}]/")).await;
        assert!(text(&outcome).contains("is never fetched"), "{}", text(&outcome));
    }
    assert_eq!(server.asked.lock().unwrap().len(), 0);
    // The user who approved the call saw that it names this machine, however it is spelled.
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"] {
        let outcome = fetch(&closed, &format!("http://{host}:{port}/")).await;
        assert!(!outcome.is_error, "{host}: {}", text(&outcome));
    }
    for (url, why) in [
        ("ftp://example.org/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("http://user:secret@example.org/", "user name or password"),
        ("example.org", "relative URL"),
    ] {
        let input = json!({"url": url, "prompt": ""});
        let problem = closed.inspect("WebFetch", &input).problem.unwrap();
        assert!(problem.contains("field `url`") && problem.contains(why), "{problem}");
    }
}

#[tokio::test]
async fn long_pages_come_in_parts_and_endless_ones_are_cut() {
    let project = open_world();
    let server = Server::start(site).await;
    let outcome = fetch(&project, &server.url("/long")).await;
    assert!(text(&outcome).ends_with("\n[220000 bytes in all; the next is offset 60000]"));
    let input = json!({"url": server.url("/long"), "prompt": "", "offset": 219_989});
    assert_eq!(text(&project.call("WebFetch", input).await), "0123456789\n");
    let input = json!({"url": server.url("/huge"), "prompt": "", "offset": 5 * 1024 * 1024 - 3});
    let outcome = project.call("WebFetch", input).await;
    assert!(text(&outcome).starts_with("xxx\n[The page is longer"), "{}", text(&outcome));
}

#[tokio::test]
async fn a_fetch_can_be_interrupted() {
    let project = open_world();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let call = project.call_context();
    let cancel = call.cancel.clone();
    let began = Instant::now();
    let input = json!({"url": url, "prompt": ""});
    let (outcome, _socket) = tokio::join!(project.call_in("WebFetch", input, call), async {
        let socket = listener.accept().await;
        cancel.cancel();
        socket
    });
    assert!(outcome.is_error && began.elapsed() < Duration::from_secs(120));
}

/// What a page looks like, through the tool and a server of its own.
async fn shown(html: &'static str) -> String {
    static PAGE: Mutex<&'static str> = Mutex::new("");
    static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _alone = ONE_AT_A_TIME.lock().await;
    *PAGE.lock().unwrap() = html;
    let project = open_world();
    let server = Server::start(|_| page("text/html", *PAGE.lock().unwrap())).await;
    let outcome = fetch(&project, &server.url("/a/b")).await;
    let host = format!("http://{}", server.address);
    text(&outcome).replace(&host, "http://host")
}

#[tokio::test]
async fn html_becomes_markdown() {
    let cases = [
        ("<h2>One</h2>two<h3>Three</h3>", "## One\n\ntwo\n\n### Three"),
        ("<p>a <b>b</b> <i>c</i> <code>d</code></p>", "a **b** *c* `d`"),
        ("<ul><li>a<li>b<ol><li>c</li><li>d</li></ol></ul>e", "- a\n- b\n  1. c\n  2. d\n\ne"),
        ("<a href='c?x=1&amp;y'>go</a> <a href='#here'>no</a>", "[go](http://host/a/c?x=1&y) no"),
        ("<a href=/top><img src=x></a><a href=javascript:x()>j</a>", "j"),
        ("<img alt='a cat' src=x>", "![a cat]"),
        ("<pre>a\n  b &lt; c</pre>after", "```\na\n  b < c\n```\n\nafter"),
        ("<blockquote>wise<br>words</blockquote>", "> wise\n> words"),
        ("<table><tr><th>a<th>b<tr><td>1<td><p>2</table>", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("a<script>if (1 < 2) {}</script><style>b{}</style><!-- <p>x --> c", "a c"),
        ("<nav>menu <nav>x</nav> y</nav>text", "text"),
        ("&#65;&#x42;&hellip;&nbsp;&unknown; & &amp;", "AB… &unknown; & &"),
        ("1 < 2 and <a", "1 < 2 and"),
        ("<p title=\"a > b\">c", "c"),
    ];
    for (html, expected) in cases {
        let page = shown(html).await;
        assert_eq!(page, expected, "{html}");
    }
}

#[tokio::test]
async fn no_page_is_too_deep_or_too_odd() {
    let project = open_world();
    let server = Server::start(|path| {
        let piece = match path {
            "/b" => "<b>",
            "/ul" => "<ul><li>",
            "/quote" => "<blockquote><p>",
            "/entity" => "&",
            "/open" => "<a href=\"",
            "/comment" => "<!--",
            "/raw" => "<title></titl",
            _ => "<table><tr><td>",
        };
        page("text/html", piece.repeat(200_000))
    })
    .await;
    for path in ["/b", "/ul", "/quote", "/entity", "/open", "/comment", "/raw", "/table"] {
        let began = Instant::now();
        let outcome = fetch(&project, &server.url(path)).await;
        assert!(!outcome.is_error, "{path}");
        assert!(began.elapsed() < Duration::from_secs(120), "{path}: {:?}", began.elapsed());
    }
}
