//! What the sessions of a tenant may do on a worker's host.
//!
//! A tenant's token holders may be unknown to the worker's user. Without trust a session is
//! confined to its working directory and the sandbox: no mode that skips permission questions, no
//! rule that reaches further, no host file mentioned in a prompt, and only repositories of public
//! hosts or those that the administrator allowed.

use std::path::{Component, Path};

use serde_json::Value;

use crate::session_spec::SessionSpec;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantPolicy {
    /// Its sessions may do everything the worker's user may.
    pub is_trusted: bool,
    /// Allowed repositories besides those of public hosts: whole URLs, or prefixes that end in `/`.
    pub repositories: Vec<String>,
    /// Branches that its sessions may push begin like this. Without trust only to `repositories`, because
    /// the worker's own keys are used.
    pub push_prefix: Option<String>,
}

impl TenantPolicy {
    /// Returns an error of one line if the tenant may not use this spec.
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
        let is_named = self.repositories.iter().any(|it| covers(it, url));
        if !is_named && !is_public_repository(url) {
            return Err(format!(
                "the repository {url} is not open to this tenant; use https:// and a public host, or \
                 ask the administrator for `windlass store tenant … --repository`"
            ));
        }
        let Some(branch) = &workspace.push_branch else { return Ok(()) };
        let prefix = self.push_prefix.as_deref().filter(|prefix| !prefix.is_empty());
        match prefix.is_some_and(|prefix| branch.starts_with(prefix)) && is_named {
            true => Ok(()),
            false => Err(format!(
                "this tenant may not push the branch {branch} to {url}; ask the administrator for \
                 `windlass store tenant … --push-prefix` and `--repository`"
            )),
        }
    }

    /// Whether an approver may allow this call. Without trust only what the sandbox or the working
    /// directory confines: the tenant's rules allow no more either.
    #[must_use]
    pub fn may_allow(&self, tool: &str, input: &Value, workspace: &Path) -> bool {
        if self.is_trusted {
            return true;
        }
        let is_inside = |name: &str| {
            let path = input.get(name).and_then(Value::as_str);
            path.is_none_or(|path| resolves_inside(workspace, Path::new(path)))
        };
        match tool {
            "Bash" => {
                let flag = input.get("dangerouslyDisableSandbox").and_then(Value::as_bool);
                flag != Some(true)
            }
            "Read" | "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "Glob" | "Grep" | "LS" => {
                is_inside("file_path") && is_inside("notebook_path") && is_inside("path")
            }
            "Task" | "Agent" | "TodoWrite" | "ExitPlanMode" => true,
            _ => false,
        }
    }

    /// Whether a message is passed on literally. Without trust it is: `@path` would attach files of
    /// the host, and a slash command of the repository could do the same.
    #[must_use]
    pub fn takes_as_it_is(&self, message: &str) -> bool {
        let first = message.split_whitespace().next().unwrap_or_default();
        let is_harmless = ["/cost", "/context", "/compact"].contains(&first);
        !self.is_trusted && (!is_harmless || message.contains('@'))
    }
}

/// Whether a path, with its links followed as far as it exists, lies in this directory.
fn resolves_inside(directory: &Path, path: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    let path = directory.join(path);
    if path.components().any(|part| part == Component::ParentDir) {
        return false;
    }
    let found = path.ancestors().find_map(|parent| {
        // A link that leads nowhere yet must not count as a name that is missing.
        parent.symlink_metadata().is_ok().then(|| parent.canonicalize())
    });
    matches!(found, Some(Ok(real)) if real.starts_with(&directory))
}

/// Whether this is a single rule whose effect is confined by the sandbox or the working directory.
fn is_confined_rule(rule: &str) -> bool {
    let Some((tool, words)) = rule.split_once('(') else { return rule == "Bash" };
    let Some(words) = words.strip_suffix(')') else { return false };
    // Anything else might be parsed as several rules.
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

/// Whether the host looks public by its name. Names that resolve to private addresses are not
/// detected; a worker inside a private network must be protected by that network.
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
    // A last label that begins with a digit is an IP address in one of its forms.
    let is_name = name.contains('.') && !last.starts_with(|c: char| c.is_ascii_digit());
    let is_local =
        ["localhost", "local", "internal", "lan", "home", "corp", "intranet"].contains(&last);
    let is_port = port == "443" || port == "8443";
    is_name && !is_local && is_port && name.split('.').all(is_label) && is_plain_path(path)
}

/// Whether `url` is allowed: the same, or below an allowed prefix.
fn covers(allowed: &str, url: &str) -> bool {
    url == allowed
        || (allowed.ends_with('/') && url.strip_prefix(allowed).is_some_and(is_plain_path))
}

/// Whether the path has no parts that change its meaning.
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
    fn an_approver_allows_no_more_than_the_tenant_may() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("workspace");
        std::fs::create_dir_all(workspace.join("src")).unwrap();
        std::fs::write(folder.path().join("secret"), "").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), workspace.join("link")).unwrap();
        std::os::unix::fs::symlink("/none/at/all", workspace.join("loose")).unwrap();
        let (stranger, friend) = (TenantPolicy::default(), trusted());
        let file = |path: &Path| serde_json::json!({ "file_path": path });
        let secret = folder.path().join("secret");
        for (tool, input, may) in [
            ("Write", file(&workspace.join("src/new/one.rs")), true),
            ("Read", file(&workspace), true),
            ("Read", file(&secret), false),
            ("Read", file(&workspace.join("../secret")), false),
            ("Read", file(&workspace.join("link")), false),
            ("Write", file(&workspace.join("loose")), false),
            ("Grep", serde_json::json!({ "pattern": "x" }), true),
            ("Grep", serde_json::json!({ "pattern": "x", "path": "/etc" }), false),
            ("Bash", serde_json::json!({ "command": "make" }), true),
            ("Bash", serde_json::json!({ "dangerouslyDisableSandbox": true }), false),
            ("WebFetch", serde_json::json!({ "url": "http://10.0.0.1/" }), false),
            ("mcp__x__y", serde_json::json!({}), false),
        ] {
            assert_eq!(stranger.may_allow(tool, &input, &workspace), may, "{tool} {input}");
            assert!(friend.may_allow(tool, &input, &workspace), "{tool} {input}");
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
