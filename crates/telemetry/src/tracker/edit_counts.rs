//! Counts what calls changed: lines, commits and pull requests.

use std::path::Path;

use serde_json::Value;
use windlass_vocabulary::{ToolCall, ToolOutcome};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChangedLines {
    pub(super) added: u64,
    pub(super) removed: u64,
}

pub(super) fn is_edit(tool: &str) -> bool {
    matches!(tool, "Edit" | "MultiEdit" | "Write" | "NotebookEdit")
}

/// Counts the lines of the patch that the tool reports, or of a new file, which has no patch.
pub(super) fn count_lines(call: &ToolCall, outcome: &ToolOutcome) -> ChangedLines {
    let structured = outcome.structured.as_ref().filter(|_| is_edit(call.name.as_str()));
    let Some(report) = structured.and_then(|json| serde_json::from_str(json.as_str()).ok()) else {
        return ChangedLines::default();
    };
    let report: Value = report;
    let hunks = report.get("structuredPatch").and_then(Value::as_array);
    let lines = hunks.into_iter().flatten().filter_map(|hunk| hunk.get("lines")?.as_array());
    let mut changed = ChangedLines::default();
    for line in lines.flatten().filter_map(Value::as_str) {
        match line.as_bytes().first() {
            Some(b'+') => changed.added += 1,
            Some(b'-') => changed.removed += 1,
            Some(_) | None => {}
        }
    }
    let is_new = report.get("type").and_then(Value::as_str) == Some("create");
    if is_new && changed == ChangedLines::default() {
        let content = report.get("content").and_then(Value::as_str).unwrap_or_default();
        changed.added = content.lines().count() as u64;
    }
    changed
}

pub(super) fn creates_commit(command: &str) -> bool {
    starts_with_words(command, "git", &["commit"])
}

pub(super) fn creates_pull_request(command: &str) -> bool {
    starts_with_words(command, "gh", &["pr", "create"])
        || starts_with_words(command, "glab", &["mr", "create"])
}

/// Whether any command of a line runs this program with these words. Heuristic, because it is only
/// counted: quotes are ignored.
fn starts_with_words(line: &str, program: &str, words: &[&str]) -> bool {
    line.split(['\n', ';', '&', '|', '(', ')']).any(|command| {
        let mut rest = command.split_whitespace().skip_while(|word| word.contains('='));
        if rest.next() != Some(program) {
            return false;
        }
        let mut rest = rest.peekable();
        // Skips options: `git -C folder commit`, `git -c name=value commit`.
        while rest.peek().is_some_and(|word| word.starts_with('-')) {
            let takes_value = matches!(rest.next(), Some("-C" | "-c" | "-R"));
            if takes_value {
                rest.next();
            }
        }
        words.iter().all(|word| rest.next() == Some(word))
    })
}

/// The language of a file, by its extension.
pub(super) fn guess_language(path: &str) -> &'static str {
    let ending = Path::new(path).extension().unwrap_or_default().to_string_lossy();
    let ending = ending.to_ascii_lowercase();
    LANGUAGES
        .iter()
        .find(|(_, endings)| endings.contains(&ending.as_str()))
        .map_or("unknown", |it| it.0)
}

const LANGUAGES: &[(&str, &[&str])] = &[
    ("Rust", &["rs"]),
    ("TypeScript", &["ts", "tsx", "mts", "cts"]),
    ("JavaScript", &["js", "jsx", "mjs", "cjs"]),
    ("Python", &["py", "pyi"]),
    ("Go", &["go"]),
    ("Java", &["java"]),
    ("Kotlin", &["kt", "kts"]),
    ("Swift", &["swift"]),
    ("C", &["c", "h"]),
    ("C++", &["cc", "cpp", "cxx", "hpp", "hh"]),
    ("C#", &["cs"]),
    ("Ruby", &["rb"]),
    ("PHP", &["php"]),
    ("Shell", &["sh", "bash", "zsh"]),
    ("SQL", &["sql"]),
    ("HTML", &["html", "htm"]),
    ("CSS", &["css", "scss"]),
    ("JSON", &["json"]),
    ("YAML", &["yaml", "yml"]),
    ("TOML", &["toml"]),
    ("Markdown", &["md", "markdown"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_and_pull_requests_are_seen_in_command_lines() {
        for line in [
            "git commit -m x",
            "cd a && git -C b -c user.name=x commit",
            "A=1 git commit --amend; ls",
        ] {
            assert!(creates_commit(line), "{line}");
        }
        for line in ["git commit-tree x", "echo git commit", "git status", "gitcommit"] {
            assert!(!creates_commit(line), "{line}");
        }
        assert!(creates_pull_request("git push && gh pr create --fill"));
        assert!(!creates_pull_request("gh pr list"));
    }
}
