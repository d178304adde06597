//! Matchers: compare the name of a tool, a source or a reason with a pattern.
//!
//! A missing or empty pattern and `*` match everything. A pattern of letters, digits, `_`, `-`,
//! commas, bars and spaces is a list of exact names. Anything else is a regular expression in
//! JavaScript syntax, searched anywhere in the name.

use fancy_regex::{Regex, RegexBuilder};

#[derive(Clone, Debug)]
pub(crate) enum HookMatcher {
    Everything,
    Names(Vec<String>),
    Pattern(Box<Regex>),
}

impl HookMatcher {
    /// Parses a matcher. The error describes what is wrong with the expression.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Ok(Self::Everything);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-,| ".contains(c);
        if text.chars().all(is_plain) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            return Ok(Self::Names(names.map(str::to_owned).collect()));
        }
        let mut builder = RegexBuilder::new(text);
        builder.backtrack_limit(BACKTRACK_MAX);
        match builder.build() {
            Ok(pattern) => Ok(Self::Pattern(Box::new(pattern))),
            Err(error) => Err(error.to_string()),
        }
    }

    /// An expression that exceeds the backtracking limit matches: running a hook too often is the
    /// safe side.
    pub(crate) fn matches(&self, target: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Names(names) => names.iter().any(|name| name == target),
            Self::Pattern(pattern) => pattern.is_match(target).unwrap_or(true),
        }
    }
}

/// Limit on backtracking steps for one name.
const BACKTRACK_MAX: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::HookMatcher;

    #[test]
    fn matchers_mean_what_the_sheet_says() {
        #[rustfmt::skip]
        let table = [
            ("", "Bash", true), ("*", "Bash", true), ("  ", "Bash", true),
            ("Bash", "Bash", true), ("Bash", "BashOutput", false), ("Bash", "bash", false),
            ("Edit|Write", "Write", true), ("Edit, Write", "Write", true), ("Edit|Write", "MultiEdit", false),
            ("Edit |Read,Glob", "Glob", true), ("mcp__memory", "mcp__memory__read", false),
            ("mcp__my-server__x", "mcp__my-server__x", true),
            ("mcp__.*", "mcp__memory__read", true), ("mcp__memory__.*", "mcp__other__read", false),
            ("Notebook.*", "NotebookEdit", true), ("Edit.?", "MultiEdit", true), ("^Edit$", "MultiEdit", false),
            ("^(?!Bash$).*", "Bash", false), ("^(?!Bash$).*", "Read", true),
            (r"(\w)\1", "Gloob", true), (r"(\w)\1", "Glob", false),
            ("(?<tool>Ba)sh", "Bash", true), ("[A-Z]ash", "Bash", true), ("a{2}", "Baash", true),
            ("startup|resume", "resume", true), ("Bash.", "Bash", false),
        ];
        for (matcher, name, expected) in table {
            assert_eq!(
                HookMatcher::parse(matcher).unwrap().matches(name),
                expected,
                "{matcher} {name}"
            );
        }
        for broken in ["(", "[z-a]", "(?<x", "*x"] {
            assert!(HookMatcher::parse(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn an_expression_that_runs_wild_means_it() {
        let wild = HookMatcher::parse(r"^(?:(x+)(x+))+(?=y)\1").unwrap();
        assert!(wild.matches(&"x".repeat(60)));
    }
}
