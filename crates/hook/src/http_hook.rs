//! Runs an HTTP hook: the JSON input as the body of a POST, the answer in the response body.
//!
//! Redirects are not followed, because the headers are meant for the configured address only.
//! Environment variables are expanded in headers only if both the hook and the settings list them.

use std::sync::OnceLock;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use windlass_tool::http_client::{client_builder_for, is_loopback};

use crate::raw_hook_output::{HookCompletion, RawHookOutput};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpHook {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    /// Variables that may be expanded in headers.
    pub(crate) allowed_env_vars: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookHttpPolicy {
    /// URLs that may be called, where `*` matches any text; `None` means all.
    pub allowed_urls: Option<Vec<String>>,
    /// Variables that may be sent; `None` means those that each hook lists.
    pub allowed_env_vars: Option<Vec<String>>,
}

/// Sends the request. The caller enforces the deadline.
pub(crate) async fn run_http(
    http: &HttpHook,
    policy: &HookHttpPolicy,
    input: Vec<u8>,
) -> RawHookOutput {
    match send_request(http, policy, input).await {
        Ok(raw) => raw,
        Err(problem) => RawHookOutput::from_completion(HookCompletion::Failed(problem)),
    }
}

async fn send_request(
    http: &HttpHook,
    policy: &HookHttpPolicy,
    input: Vec<u8>,
) -> Result<RawHookOutput, String> {
    if let Some(allowed) = &policy.allowed_urls
        && !allowed.iter().any(|pattern| matches_url_pattern(pattern, &http.url))
    {
        return Err("names an address that settings do not allow".to_owned());
    }
    let url = Url::parse(&http.url).map_err(|error| format!("has no usable address: {error}"))?;
    let client = build_client(&url)?;
    let headers = build_headers(http, policy)?;
    let request = client.post(url).headers(headers).header(CONTENT_TYPE, "application/json");
    let sent = request.body(input).send().await;
    let mut response =
        sent.map_err(|error| format!("cannot be reached: {}", root_cause(&error)))?;
    let status = response.status();
    let mut body = Vec::new();
    while body.len() <= BODY_BYTES_MAX {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(error) => return Err(format!("broke off its reply: {}", root_cause(&error))),
        }
    }
    let text = String::from_utf8_lossy(&body).replace('\0', "\u{fffd}");
    let end = if body.len() > BODY_BYTES_MAX {
        HookCompletion::Failed(format!("wrote more than the {BODY_BYTES_MAX} bytes that are read"))
    } else if !status.is_success() {
        HookCompletion::Failed(format!("answered with status {}", status.as_u16()))
    } else if text.trim().is_empty() {
        HookCompletion::NoOutput
    } else {
        match serde_json::from_slice(&body) {
            Ok(value) => HookCompletion::Value(value),
            Err(error) => HookCompletion::Failed(format!("did not answer with JSON: {error}")),
        }
    };
    let exit_code = Some(i32::from(status.as_u16()));
    Ok(RawHookOutput { end, exit_code, stdout: text, ..RawHookOutput::default() })
}

fn build_headers(http: &HttpHook, policy: &HookHttpPolicy) -> Result<HeaderMap, String> {
    let may_send = |name: &str| {
        http.allowed_env_vars.iter().any(|allowed| allowed == name)
            && policy.allowed_env_vars.as_ref().is_none_or(|all| all.iter().any(|one| one == name))
    };
    let mut headers = HeaderMap::new();
    for (name, value) in &http.headers {
        let wrong = |_| format!("has a header `{name}` that cannot be sent");
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong(()))?;
        let value = expand_variables(value, may_send);
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong(()))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// Expands `$NAME` and `${NAME}`; a variable that may not be sent becomes empty.
fn expand_variables(text: &str, may_send: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let braced = after.strip_prefix('{');
        let source = braced.unwrap_or(after);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = source.find(|c| !is_name(c)).unwrap_or(source.len());
        let (name, tail) = source.split_at_checked(end).unwrap_or((source, ""));
        let tail = match braced {
            Some(_) => tail.strip_prefix('}'),
            None => Some(tail),
        };
        match tail.filter(|_| !name.is_empty()) {
            Some(tail) => {
                if may_send(name) {
                    out.push_str(&std::env::var(name).unwrap_or_default());
                }
                rest = tail;
            }
            None => {
                out.push('$');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Matches a pattern in which `*` stands for any text.
fn matches_url_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn build_client(url: &Url) -> Result<Client, String> {
    /// Loading certificates takes milliseconds, so one client is shared. It has no state that
    /// belongs to one server.
    static SECURE: OnceLock<Client> = OnceLock::new();
    let scheme = url.scheme();
    if !matches!(scheme, "http" | "https") {
        return Err(format!("has an address with `{scheme}:`; only http and https are supported"));
    }
    let is_shared = scheme == "https" && !is_loopback(url);
    if is_shared && let Some(client) = SECURE.get() {
        return Ok(client.clone());
    }
    let client = client_builder_for(url)
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| format!("cannot be asked: {}", root_cause(&error)))?;
    if is_shared {
        let _ = SECURE.set(client.clone());
    }
    Ok(client)
}

/// The innermost error, without the address: its query may contain a secret.
fn root_cause(error: &reqwest::Error) -> String {
    let first = std::error::Error::source(error);
    let last = std::iter::successors(first, |error| error.source()).last();
    last.map_or_else(|| "the cause is unknown".to_owned(), ToString::to_string)
}

const BODY_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::{expand_variables, matches_url_pattern};

    #[test]
    fn patterns_cover_addresses() {
        let table = [
            ("https://a.example/*", "https://a.example/hook", true),
            ("https://a.example/*", "https://a.example.evil/hook", false),
            ("https://*.example/hook", "https://a.example/hook", true),
            ("https://*.example/hook", "https://a.example/hook2", false),
            ("http://localhost:*", "http://localhost:8080/x", true),
            ("https://a.example/hook", "https://a.example/hook", true),
            ("https://a.example/hook", "https://a.example/hook/", false),
            ("*", "anything", true),
        ];
        for (pattern, url, expected) in table {
            assert_eq!(matches_url_pattern(pattern, url), expected, "{pattern} {url}");
        }
    }

    #[test]
    fn only_named_variables_are_sent() {
        let path = std::env::var("PATH").unwrap();
        let table = [
            ("Bearer $PATH", format!("Bearer {path}")),
            ("${PATH}x$HOME", format!("{path}x")),
            ("a $ b ${ c $", "a $ b ${ c $".to_owned()),
        ];
        for (text, expected) in table {
            assert_eq!(expand_variables(text, |name| name == "PATH"), expected, "{text}");
        }
    }
}
