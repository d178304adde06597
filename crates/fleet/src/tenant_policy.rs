//! What the sessions of a tenant may do on a worker's host.
//!
//! Who holds a token of a tenant need not be anybody whom the worker's user knows. Without trust a
//! session gets what its working directory and the sandbox hold: no mode that asks nobody, no rule that
//! reaches further, no file of the host by its name in a prompt, and repositories of public hosts or
//! below those that the administrator named.

use crate::session_spec::SessionSpec;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantPolicy {
    /// Its sessions may do what the worker's user may.
    pub is_trusted: bool,
    /// Repositories it may use besides those of public hosts: whole URLs, or beginnings that end in `/`.
    pub repositories: Vec<String>,
}

impl TenantPolicy {
    /// Refuses what the tenant may not choose, in one line.
    pub fn check(&self, spec: &SessionSpec) -> Result<(), String> {
        if self.is_trusted {
            return Ok(());
        }
        if spec.permission_mode.as_deref() == Some("bypassPermissions") {
            return Err(format!("permission_mode `bypassPermissions` is {NEEDS_TRUST}"));
        }
        if let Some(rule) = spec.allowed_tools.iter().find(|rule| !is_confined_rule(rule)) {
            return Err(format!(
                "the rule `{rule}` in allowed_tools is {NEEDS_TRUST}; without it there are `Bash(…)` \
                 and, within the working directory, `Edit(src/**)` and the like, one rule each"
            ));
        }
        let Some(workspace) = &spec.workspace else { return Ok(()) };
        let url = &workspace.git;
        match is_public_repository(url) || self.repositories.iter().any(|it| covers(it, url)) {
            true => Ok(()),
            false => Err(format!(
                "the repository {url} is not open to this tenant; use https:// and a public host, or \
                 ask the administrator for `windlass store tenant … --repository`"
            )),
        }
    }

    /// What the session's process is sent for a message. Without trust it is taken as it is: `@path`
    /// would attach files of the host, and a command of the repository could do as much.
    #[must_use]
    pub fn takes_as_it_is(&self, message: &str) -> bool {
        let first = message.split_whitespace().next().unwrap_or_default();
        let is_harmless = ["/cost", "/context", "/compact"].contains(&first);
        !self.is_trusted && (!is_harmless || message.contains('@'))
    }
}

/// Is this one rule for something that the sandbox or the working directory holds?
fn is_confined_rule(rule: &str) -> bool {
    let Some((tool, words)) = rule.split_once('(') else { return rule == "Bash" };
    let Some(words) = words.strip_suffix(')') else { return false };
    // Anything else might be read as several rules.
    if words.contains(['(', ')', ',']) || words.chars().any(char::is_control) {
        return false;
    }
    match tool {
        "Bash" => true,
        "Read" | "Edit" | "Write" | "NotebookEdit" | "Glob" | "Grep" => {
            let is_outside = words.starts_with(['/', '~', '$']) || words.contains('\\');
            !words.is_empty() && !is_outside && !words.split('/').any(|part| part == "..")
        }
        _ => false,
    }
}

/// A host that anybody could reach, as far as its name tells. Names that lead to addresses of a private
/// network are not known here; a worker that stands in one is fenced by its network.
fn is_public_repository(url: &str) -> bool {
    let Some((host, path)) = url.strip_prefix("https://").and_then(|it| it.split_once('/')) else {
        return false;
    };
    let (name, port) = host.split_once(':').unwrap_or((host, "443"));
    let name = name.to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_known = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !label.is_empty() && !label.starts_with('-') && label.chars().all(is_known)
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    // A last label that begins with a digit makes it an address in one of its many forms.
    let is_name = name.contains('.') && !last.starts_with(|c: char| c.is_ascii_digit());
    let is_local =
        ["localhost", "local", "internal", "lan", "home", "corp", "intranet"].contains(&last);
    let is_port = port == "443" || port == "8443";
    is_name && !is_local && is_port && name.split('.').all(is_label) && is_plain_path(path)
}

/// Is the URL this one, or below it?
fn covers(allowed: &str, url: &str) -> bool {
    url == allowed
        || (allowed.ends_with('/') && url.strip_prefix(allowed).is_some_and(is_plain_path))
}

/// Nothing that leads elsewhere than it says.
fn is_plain_path(path: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "-_.~/+@".contains(c);
    let leads_away = path.split('/').any(|part| part == "." || part == "..");
    !path.is_empty() && !leads_away && path.chars().all(is_known)
}

const NEEDS_TRUST: &str = "only for a tenant that is trusted with the workers' hosts \
    (`windlass store tenant … --trusted yes`)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rules_that_something_holds_are_confined() {
        for rule in ["Bash", "Bash(cargo test:*)", "Edit(src/**)", "Read(notes.md)"] {
            assert!(is_confined_rule(rule), "{rule}");
        }
        for rule in [
            "Read",
            "Read(//**)",
            "Read(/etc)",
            "Edit(~/.ssh/**)",
            "Edit(a/../../b)",
            "Edit()",
            "*",
            "WebFetch(domain:169.254.169.254)",
            "mcp__all",
            "Bash(ls),Read(//**)",
            "Bash(ls) Read",
            "Bash(a, Read(//**))",
            "Bash(ls",
            "Bash(ls)\nRead",
            "Edit($HOME/x)",
            "bash(x)",
            "",
        ] {
            assert!(!is_confined_rule(rule), "{rule}");
        }
    }

    #[test]
    fn words_of_a_stranger_stay_words() {
        let (stranger, friend) = (TenantPolicy::default(), trusted());
        for message in ["@/etc/hosts", "/peek", "/ cost @x", "/cost @x", "/costs", "cost", ""] {
            assert!(stranger.takes_as_it_is(message), "{message}");
            assert!(!friend.takes_as_it_is(message), "{message}");
        }
        assert!(!stranger.takes_as_it_is("/cost") && !stranger.takes_as_it_is("/compact names"));
    }

    fn trusted() -> TenantPolicy {
        TenantPolicy { is_trusted: true, ..TenantPolicy::default() }
    }

    #[test]
    fn repositories_are_public_or_named() {
        let policy = TenantPolicy {
            repositories: vec!["file:///srv/git/".to_owned(), "ssh://git@host/one.git".to_owned()],
            ..TenantPolicy::default()
        };
        let is_open = |url: &str| {
            is_public_repository(url) || policy.repositories.iter().any(|it| covers(it, url))
        };
        for url in [
            "https://example.org/team/one.git",
            "https://git.example.org:8443/one",
            "file:///srv/git/team/one",
            "ssh://git@host/one.git",
        ] {
            assert!(is_open(url), "{url}");
        }
        for url in [
            "file:///srv/git/../../etc",
            "file:///srv/git",
            "file:///srv/gitx/one",
            "file:///srv/git/%2e%2e/x",
            "ssh://git@host/one.git/x",
            "ssh://git@host/two.git",
            "http://example.org/one",
            "https://localhost/one",
            "https://127.0.0.1/one",
            "https://2130706433/one",
            "https://0x7f.1/one",
            "https://[::1]/one",
            "https://metadata.internal/one",
            "https://example.org./one",
            "https://a@example.org/one",
            "https://example.org:22/one",
            "https://example.org/a/../b",
            "https://example.org/",
            "https://example.org",
            "git@example.org:one",
        ] {
            assert!(!is_open(url), "{url}");
        }
    }
}
