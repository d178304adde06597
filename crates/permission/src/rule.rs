//! The rule grammar: `Tool` or `Tool(text)`.

use std::fmt;

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The tool it speaks of.
    pub tool: String,
    /// What of the tool's input it speaks of; `None` means all of it.
    pub content: Option<String>,
}

/// The rules in force, by what they do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// These run without a question.
    pub allow: Vec<Rule>,
    /// These always ask.
    pub ask: Vec<Rule>,
    /// These never run.
    pub deny: Vec<Rule>,
}

/// A rule that cannot be read.
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
    /// Reads one rule.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let fail = |problem| {
            Err(RuleError {
                rule: text.to_owned(),
                problem,
            })
        };
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
        if !tool
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.*".contains(c))
        {
            return fail("a tool's name is letters, digits, `_`, `-`");
        }
        let content = content.filter(|content| !content.is_empty() && *content != "*");
        Ok(Self {
            tool: tool.to_owned(),
            content: content.map(str::to_owned),
        })
    }
}
