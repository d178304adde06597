//! Parses the head of a proxy request, and rewrites it for the host.

use super::allowed_host::{normalize_host, split_host_port};

/// The destination of a request, and what to send there first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) host: String,
    pub(super) port: u16,
    /// Empty for a tunnel; otherwise the rewritten head.
    pub(super) forwarded_head: Vec<u8>,
    pub(super) is_tunnel: bool,
}

/// Parses a head that ends with an empty line.
pub(super) fn parse_request(head: &[u8]) -> Result<ProxyRequest, &'static str> {
    let text = std::str::from_utf8(head).map_err(|_| "not text")?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("not a request");
    };
    if version != "HTTP/1.1" && version != "HTTP/1.0" {
        return Err("not a version of HTTP that is spoken here");
    }
    if method == "CONNECT" {
        let (host, port) = split_host_port(target).ok_or("not a host and a port")?;
        let host = normalize_host(host).ok_or("not a host")?;
        let port = port.ok_or("no port")?;
        return Ok(ProxyRequest { host, port, forwarded_head: Vec::new(), is_tunnel: true });
    }
    let rest = target.strip_prefix("http://").ok_or("only http:// addresses and tunnels")?;
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let (host, port) = split_host_port(authority).ok_or("not a host")?;
    let host = normalize_host(host).ok_or("not a host")?;
    let port = port.unwrap_or(80);
    let slash = if path.starts_with('/') { "" } else { "/" };
    // The `Host` header is set to the checked name; each connection carries one request.
    let mut first =
        format!("{method} {slash}{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n");
    for line in lines.filter(|line| !line.is_empty()) {
        if line.starts_with([' ', '\t']) {
            return Err("a header that goes on in the next line");
        }
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        let is_ours = ["host", "connection", "keep-alive"].contains(&name.trim());
        if !is_ours && !name.starts_with("proxy-") {
            first.push_str(line);
            first.push_str("\r\n");
        }
    }
    first.push_str("\r\n");
    Ok(ProxyRequest { host, port, forwarded_head: first.into_bytes(), is_tunnel: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunnels_and_plain_requests_are_read() {
        let tunnel =
            parse_request(b"CONNECT Example.org:443 HTTP/1.1\r\nHost: other\r\n\r\n").unwrap();
        assert_eq!(
            (tunnel.host.as_str(), tunnel.port, tunnel.is_tunnel),
            ("example.org", 443, true)
        );
        let plain = parse_request(
            b"GET http://a.test:81/x?y HTTP/1.1\r\nHost: b.test\r\nAccept: */*\r\n\
              Proxy-Authorization: secret\r\nConnection: keep-alive\r\n\r\n",
        )
        .unwrap();
        assert_eq!((plain.host.as_str(), plain.port), ("a.test", 81));
        let first = String::from_utf8(plain.forwarded_head).unwrap();
        let expected =
            "GET /x?y HTTP/1.1\r\nHost: a.test:81\r\nConnection: close\r\nAccept: */*\r\n\r\n";
        assert_eq!(first, expected);
        assert_eq!(parse_request(b"GET http://a.test?q HTTP/1.0\r\n\r\n").unwrap().port, 80);
    }

    #[test]
    fn anything_else_is_refused() {
        for wrong in [
            "GET / HTTP/1.1",
            "GET https://a.test/ HTTP/1.1",
            "GET ftp://a.test/ HTTP/1.1",
            "CONNECT a.test HTTP/1.1",
            "CONNECT a.test:443:1 HTTP/1.1",
            "CONNECT u@a.test:443 HTTP/1.1",
            "GET http://u:p@a.test/ HTTP/1.1",
            "GET http://a.test/ HTTP/2",
            "GET  http://a.test/ HTTP/1.1",
            "GET http://a.test/ HTTP/1.1\r\nA: b\r\n Host: c",
            "\u{0}",
        ] {
            assert!(parse_request(format!("{wrong}\r\n\r\n").as_bytes()).is_err(), "{wrong}");
        }
    }
}
