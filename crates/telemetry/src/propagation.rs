//! Decides which servers receive the trace context.

/// Whether this is a provider's own address. Other gateways get no trace context unless the user
/// enables it.
#[must_use]
pub(crate) fn is_vendor(base_url: &str) -> bool {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = host.split(':').next().unwrap_or(host).to_ascii_lowercase();
    VENDORS.iter().any(|vendor| {
        host == *vendor || host.strip_suffix(vendor).is_some_and(|rest| rest.ends_with('.'))
    })
}

const VENDORS: &[&str] = &["anthropic.com", "openai.com", "googleapis.com"];

#[cfg(test)]
mod tests {
    use super::is_vendor;

    #[test]
    fn only_the_host_itself_is_the_vendor() {
        assert!(is_vendor("https://api.anthropic.com") && is_vendor("https://api.openai.com/v1"));
        for other in [
            "http://127.0.0.1:8080",
            "https://anthropic.com.evil.example",
            "https://notanthropic.com",
            "https://api.anthropic.com@evil.example/",
            "https://evil.example/?x=api.anthropic.com",
        ] {
            assert!(!is_vendor(other), "{other}");
        }
    }
}
