//! How to run a session, as JSON: written by clients, read by workers.

use serde::{Deserialize, Serialize};

/// Options of a session. For every absent one the worker's own configuration applies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Deny calls that would need a permission answer, instead of waiting for one.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub deny_questions: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disallowed_tools: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_budget_usd: Option<f64>,
    /// How often it is started again after a failure of its provider; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append_system_prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceSpec>,
}

/// The repository a session works in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceSpec {
    /// URL of the repository: `https://…`, `ssh://…`, `git@host:path` or `file:///…`.
    pub git: String,
    /// A commit, branch or tag; absent for the default branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The branch that the worker pushes the session's changes to, as one commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_branch: Option<String>,
}

impl SessionSpec {
    /// Parses a spec and checks what does not need a worker.
    pub fn parse(text: &str) -> Result<Self, String> {
        let spec: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        spec.check()?;
        Ok(spec)
    }

    pub fn check(&self) -> Result<(), String> {
        const MODES: &[&str] = &["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"];
        if let Some(mode) = &self.permission_mode
            && !MODES.contains(&mode.as_str())
        {
            return Err(format!("permission_mode `{mode}` is not one of {}", MODES.join(", ")));
        }
        self.max_budget_usd.map_or(Ok(0), to_micro_usd)?;
        if self.retries.is_some_and(|retries| retries > RETRIES_MAX) {
            return Err(format!("retries must be at most {RETRIES_MAX}"));
        }
        let words = self.allowed_tools.iter().chain(&self.disallowed_tools);
        let words = words.chain(&self.model).chain(&self.append_system_prompt);
        if let Some(word) = words.into_iter().find(|word| word.contains('\0')) {
            return Err(format!("`{}` contains a null byte", word.replace('\0', "?")));
        }
        self.workspace.as_ref().map_or(Ok(()), WorkspaceSpec::check)
    }

    /// The provider part of `model`; empty if there is none.
    #[must_use]
    pub fn provider(&self) -> &str {
        self.model.as_deref().and_then(|model| model.split_once('/')).map_or("", |(name, _)| name)
    }

    /// The repository as limits name it; empty if there is none.
    #[must_use]
    pub fn repository(&self) -> &str {
        self.workspace.as_ref().map_or("", |workspace| trim_repository(&workspace.git))
    }

    /// The budget in millionths of a dollar.
    #[must_use]
    pub fn budget_micro(&self) -> Option<u64> {
        self.max_budget_usd.and_then(|most| to_micro_usd(most).ok())
    }

    /// How often it is started again after a failure of its provider.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.retries.unwrap_or(RETRIES_DEFAULT)
    }

    /// The equivalent command line flags of `windlass`.
    #[must_use]
    pub fn to_flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut push = |flag: &str, value: &str| flags.push(format!("{flag}={value}"));
        if let Some(model) = &self.model {
            push("--model", model);
        }
        if let Some(mode) = &self.permission_mode {
            push("--permission-mode", mode);
        }
        if let Some(turns) = self.max_turns {
            push("--max-turns", &turns.to_string());
        }
        if let Some(most) = self.max_budget_usd {
            push("--max-budget-usd", &most.to_string());
        }
        if let Some(words) = &self.append_system_prompt {
            push("--append-system-prompt", words);
        }
        for rule in &self.allowed_tools {
            push("--allowedTools", rule);
        }
        for rule in &self.disallowed_tools {
            push("--disallowedTools", rule);
        }
        match self.deny_questions {
            true => push("--permission-prompts", "none"),
            false => push("--permission-prompt-tool", "stdio"),
        }
        flags
    }
}

impl WorkspaceSpec {
    fn check(&self) -> Result<(), String> {
        let schemes = ["https://", "http://", "ssh://", "git://", "file://", "git@"];
        if !schemes.iter().any(|scheme| self.git.starts_with(scheme)) {
            return Err(format!(
                "workspace.git `{}` is not a repository's URL; write https://…, ssh://… or git@…",
                self.git
            ));
        }
        let is_plain = |text: &str| !text.starts_with('-') && !text.chars().any(char::is_control);
        let is_reference = |text: &str| {
            is_plain(text) && !text.contains([' ', ':', '?', '*', '[', '\\', '^', '~'])
        };
        if !is_plain(&self.git) || !self.commit.as_deref().is_none_or(is_reference) {
            return Err("workspace.git and workspace.commit must be plain names".to_owned());
        }
        if let Some(branch) = self.push_branch.as_deref().filter(|branch| !is_branch_name(branch)) {
            return Err(format!("workspace.push_branch `{branch}` is not the name of a branch"));
        }
        let host = self.git.split_once("://").map_or(self.git.as_str(), |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or_default();
        let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
        if host.starts_with('-') {
            return Err(format!("workspace.git names the host `{host}`, which is none"));
        }
        // It would be stored in the database and appear on the worker's command lines.
        let has_secret = user.contains(':') || (self.git.starts_with("http") && !user.is_empty());
        match has_secret {
            true => {
                Err("workspace.git contains a name or password; give the worker's user the right \
                         to fetch instead, and leave it out"
                    .to_owned())
            }
            false => Ok(()),
        }
    }

    /// The only protocol git may use for this repository.
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        let known = ["https", "http", "ssh", "git", "file"];
        let scheme = self.git.split_once("://").map(|(scheme, _)| scheme);
        known.into_iter().find(|known| scheme == Some(known)).unwrap_or("ssh")
    }
}

/// A budget in millionths of a dollar.
pub fn to_micro_usd(usd: f64) -> Result<u64, String> {
    if !(usd > 0.0 && usd < 1e9) {
        return Err("max_budget_usd must be a number above 0".to_owned());
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    Ok((usd * 1e6).round() as u64)
}

/// The URL without what two ways to write the same repository differ in.
#[must_use]
pub fn trim_repository(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    url.strip_suffix(".git").unwrap_or(url).trim_end_matches('/')
}

/// Whether git takes this as the name of a branch, and so does every file system and web page.
fn is_branch_name(name: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "-_./+=@".contains(c);
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && !part.ends_with(".lock")
    };
    let is_reserved = name == "HEAD" || name == "@" || name.starts_with("refs/");
    name.len() <= 200
        && !is_reserved
        && !name.starts_with('-')
        && !name.contains("..")
        && !name.contains("@{")
        && name.chars().all(is_known)
        && name.split('/').all(is_part)
}

/// An outage of a quarter of an hour is outlasted.
const RETRIES_DEFAULT: u32 = 3;
const RETRIES_MAX: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_branches_are_pushed_to() {
        for name in ["windlass/1", "a", "night-7/x_y.z", "user@site"] {
            assert!(is_branch_name(name), "{name}");
        }
        let long = "x".repeat(201);
        for name in [
            "",
            "/",
            "a/",
            "/a",
            "a//b",
            "-d",
            "--force",
            "a..b",
            "a b",
            "a:b",
            "+a:b c",
            "HEAD",
            "@",
            "refs/heads/a",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a@{1}",
            "a\n",
            "a~1",
            "a^",
            "a*",
            "ü",
            &long,
        ] {
            assert!(!is_branch_name(name), "{name}");
        }
        assert_eq!(trim_repository("https://a/b.git/"), "https://a/b");
        assert_eq!(trim_repository("https://a/b"), "https://a/b");
    }
}
