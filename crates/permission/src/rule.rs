//! The rule grammar: `Tool` or `Tool(text)`. Matching is in `rule_match`.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::path_pattern::{MatchSense, PathPattern};

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The tool it is for.
    pub tool: String,
    /// What it matches in the tool's input; `None` means everything.
    pub content: Option<String>,
}

/// The rules by their effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// These run without a question.
    pub allow: Vec<Rule>,
    /// These always ask.
    pub ask: Vec<Rule>,
    /// These never run.
    pub deny: Vec<Rule>,
}

/// Paths that must not be read, for tools that walk directories and find files that no call named.
#[derive(Debug, Default)]
pub struct HiddenPaths {
    patterns: Vec<PathPattern<'static>>,
    cwd: Option<String>,
}

impl Rules {
    /// The paths that deny rules hide.
    #[must_use]
    pub fn build_hidden_paths(&self, directories: &[String]) -> HiddenPaths {
        let pattern = |rule: &Rule| {
            let content = rule.content.as_deref().filter(|_| rule.tool == "Read")?;
            Some(PathPattern::new(content, MatchSense::Wide).into_owned())
        };
        HiddenPaths {
            patterns: self.deny.iter().filter_map(pattern).collect(),
            cwd: directories.first().cloned(),
        }
    }
}

impl HiddenPaths {
    /// Is nothing hidden?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Must this absolute path not be read?
    #[must_use]
    pub fn covers(&self, path: &Path) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(path, self.cwd.as_deref()))
    }
}

/// A malformed rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The text.
    pub rule: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "permission rule `{}`: {}", self.rule, self.problem)
    }
}

impl std::error::Error for RuleError {}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.content {
            None => f.write_str(&self.tool),
            Some(content) => write!(f, "{}({content})", self.tool),
        }
    }
}

impl Rule {
    /// Parses a rule.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let fail = |problem| Err(RuleError { rule: text.to_owned(), problem });
        let (tool, content) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => match rest.strip_suffix(')') {
                Some(content) => (tool, Some(content)),
                None => return fail("the closing parenthesis is missing"),
            },
        };
        if tool.is_empty() {
            return fail("the tool's name is missing");
        }
        if !tool.chars().all(|c| c.is_ascii_alphanumeric() || "_-.*".contains(c)) {
            return fail("a tool's name is letters, digits, `_`, `-`");
        }
        let content = content.filter(|content| !matches!(*content, "" | "*" | ":*"));
        Ok(Self { tool: tool.to_owned(), content: content.map(str::to_owned) })
    }

    /// The rule with `~/` replaced by the home directory.
    #[must_use]
    pub fn with_home(self, home: &str) -> Self {
        let below = |content: &str| -> Option<String> {
            let rest = content.strip_prefix("~/")?;
            Some(format!("/{}/{rest}", home.trim_end_matches('/')))
        };
        let is_path = matches!(self.tool.as_str(), "Read" | "Edit" | "Write" | "Glob" | "Grep");
        let content = match &self.content {
            Some(content) if is_path => below(content).or(self.content),
            _ => self.content,
        };
        Self { content, ..self }
    }

    /// Why this rule can never allow anything, as a warning for its author.
    #[must_use]
    pub fn explain_idle_allow(&self) -> Option<&'static str> {
        let (before_star, _) = self.tool.split_once('*').unwrap_or((&self.tool, ""));
        let is_glob = before_star.len() != self.tool.len();
        let names_server = before_star.strip_prefix("mcp__").is_some_and(|rest| {
            rest.split_once("__").is_some_and(|(server, _)| !server.is_empty())
        });
        if is_glob && !names_server {
            return Some("a star in an allow rule may only follow `mcp__<server>__`");
        }
        let is_path = matches!(self.tool.as_str(), "Write" | "Glob" | "Grep" | "NotebookEdit");
        if is_path && self.content.is_some() {
            return Some("paths are allowed with Edit(…) and Read(…) only");
        }
        let content = self.content.as_deref()?;
        match self.tool.as_str() {
            "WebFetch" => explain_idle_host(content),
            "Read" | "Edit" if content.split('/').any(|name| name == "..") => {
                Some("`..` is not resolved in a rule; give the path without it")
            }
            "Bash" if is_idle_command(content) => Some(
                "commands are compared one by one, so a star behind an operator never fits; write \
                 one rule for each command",
            ),
            tool if tool.starts_with("mcp__") => {
                Some("tools of a server are allowed by their name alone")
            }
            _ => None,
        }
    }
}

/// A host is compared alone, as it stands in an address.
fn explain_idle_host(content: &str) -> Option<&'static str> {
    match content.strip_prefix("domain:") {
        None => Some("hosts are allowed with WebFetch(domain:host)"),
        Some(host) if host.trim().is_empty() || host.contains(['/', ':', '@', '?', '#']) => {
            Some("after `domain:` stands a host alone, without scheme, port and path")
        }
        Some(_) => None,
    }
}

/// A line of several commands with a wildcard for more words. Without a star it is compared as a
/// whole.
fn is_idle_command(content: &str) -> bool {
    let has_operator =
        [" && ", " || ", "; ", " | "].iter().any(|operator| content.contains(operator));
    has_operator && content.ends_with('*')
}
