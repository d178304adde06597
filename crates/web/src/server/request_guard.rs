//! Authorises requests: the right host, no foreign origin, and the token for API paths. Checked
//! before routing.

use windlass_http_request::HttpRequest;

use super::access_token::AccessToken;

#[derive(Debug)]
pub(crate) struct RequestGuard {
    /// Accepted values of `Host`.
    hosts: [String; 3],
    token: AccessToken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GuardRefusal {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
}

impl RequestGuard {
    pub(crate) fn new(port: u16, token: AccessToken) -> Self {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
        Self { hosts, token }
    }

    pub(crate) fn check(&self, request: &HttpRequest) -> Result<(), GuardRefusal> {
        // DNS rebinding resolves a foreign name to this server, but `Host` still has that name.
        if !request.single_header("host").is_some_and(|host| self.is_own_host(host)) {
            return Err(FOREIGN_HOST);
        }
        if request.has_header("origin")
            && !request.single_header("origin").is_some_and(|origin| self.is_own_origin(origin))
        {
            return Err(FOREIGN_ORIGIN);
        }
        if request.has_header("sec-fetch-site")
            && !matches!(request.single_header("sec-fetch-site"), Some("same-origin" | "none"))
            && !is_opened_page(request)
        {
            return Err(FOREIGN_ORIGIN);
        }
        if request.path().starts_with("/api/") && !self.has_token(request) {
            return Err(NO_TOKEN);
        }
        Ok(())
    }

    fn is_own_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    fn is_own_origin(&self, origin: &str) -> bool {
        origin.strip_prefix("http://").is_some_and(|host| self.is_own_host(host))
    }

    fn has_token(&self, request: &HttpRequest) -> bool {
        let given =
            request.single_header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        given.is_some_and(|given| self.token.matches(given))
    }
}

/// The page itself, opened in a new tab by our redirect file. It contains no data before its script
/// has sent the token.
fn is_opened_page(request: &HttpRequest) -> bool {
    request.method == "GET"
        && request.path() == "/"
        && request.single_header("sec-fetch-mode") == Some("navigate")
        && request.single_header("sec-fetch-dest") == Some("document")
}

const FOREIGN_HOST: GuardRefusal = GuardRefusal {
    status: 403,
    code: "forbidden",
    message: "this server answers only to its own address; open the address that it printed",
};
const FOREIGN_ORIGIN: GuardRefusal = GuardRefusal {
    status: 403,
    code: "forbidden",
    message: "requests of other sites are not answered",
};
const NO_TOKEN: GuardRefusal = GuardRefusal {
    status: 401,
    code: "unauthorized",
    message: "the token is missing or wrong; open the address that `windlass view` printed",
};
