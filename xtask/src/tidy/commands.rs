//! Pages and help name commands and flags that exist. What exists is on the pages that are generated from the
//! definitions of the command lines.

use std::collections::BTreeSet;

use super::{Finding, RepositoryTree, TextFile};

/// Generated from the two programs' definitions.
const REFERENCES: &[&str] = &["docs/commands.md", "docs/fleet_commands.md"];
/// Flags of other agents: those that work, and those that are refused.
const FLAGS_OF_OTHERS: &str = "docs/wire/flags.md";
const PROGRAMS: &[&str] = &["windlass", "windlass-fleet"];
const HELP: &str = "crates/cli/src/text/help/";
/// Flags of `cargo xtask dist`, which a page names without it.
const FLAGS_OF_DIST: &[&str] = &["--only", "--binary", "--twice"];
const ALWAYS_THERE: &[&str] = &["--help", "--version"];

/// What can be typed.
struct KnownCommands {
    flags: BTreeSet<String>,
    /// With the commands above them: `sessions list`.
    commands: BTreeSet<String>,
}

/// Looks at code in the pages of the root and of `docs`, and at the examples of the help.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let known = KnownCommands::read(tree);
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| is_read(&file.path)) {
        let pieces = match file.path.starts_with(HELP) {
            true => find_examples(file),
            false => find_code(file),
        };
        for (line, piece) in pieces {
            for problem in known.find_problems(&piece) {
                findings.push(Finding::on_line(&file.path, line, problem));
            }
        }
    }
    findings
}

/// Decisions and the changelog are history.
fn is_read(path: &str) -> bool {
    let is_page = path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'));
    let is_history = path.starts_with("docs/decisions/") || path == "CHANGELOG.md";
    let is_reference = REFERENCES.contains(&path) || path == FLAGS_OF_OTHERS;
    (is_page && !is_history && !is_reference) || path.starts_with(HELP)
}

impl KnownCommands {
    fn read(tree: &RepositoryTree) -> Self {
        let mut known = Self {
            flags: ALWAYS_THERE
                .iter()
                .chain(FLAGS_OF_DIST)
                .map(|flag| (*flag).to_owned())
                .collect(),
            commands: BTreeSet::new(),
        };
        let pages = REFERENCES.iter().chain([&FLAGS_OF_OTHERS]);
        for line in pages.filter_map(|path| tree.file(path)).flat_map(|file| file.text.lines()) {
            if let Some(command) = line.strip_prefix("## windlass ") {
                known.commands.insert(command.to_owned());
            }
            // The first cell of a row names the flag.
            let cell = line.strip_prefix("| `").and_then(|rest| rest.split('`').next());
            known.flags.extend(cell.into_iter().flat_map(find_flags));
        }
        known
    }

    /// A line for each flag and command of a piece of code that is not there.
    fn find_problems(&self, piece: &str) -> Vec<String> {
        let segments = piece.split(['|', ';', '&']).flat_map(|part| part.split(" -- "));
        segments.flat_map(|segment| self.check_segment(segment)).collect()
    }

    fn check_segment(&self, segment: &str) -> Vec<String> {
        let words: Vec<&str> = segment
            .split_whitespace()
            .skip_while(|word| is_prefix(word))
            .map(|word| word.trim_start_matches("$("))
            .collect();
        let Some((first, rest)) = words.split_first() else {
            return Vec::new();
        };
        let is_ours = PROGRAMS.contains(first);
        // `sessions list` alone, or flags alone, as text names them.
        let is_part = first.starts_with("--") || self.commands.contains(*first);
        if !is_ours && !is_part {
            return Vec::new();
        }
        let mut problems = Vec::new();
        let command = rest.first().filter(|word| is_ours && is_command_like(word));
        if let Some(word) = command.filter(|word| !self.commands.contains(**word)) {
            problems.push(format!("there is no command `{first} {word}`"));
        }
        let flags = find_flags(segment).into_iter().filter(|flag| !self.flags.contains(flag));
        problems.extend(flags.map(|flag| format!("there is no flag `{flag}`")));
        problems
    }
}

/// What may stand before a program.
fn is_prefix(word: &str) -> bool {
    let is_variable = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    });
    (is_variable && !word.contains("$(")) || ["sudo", "export", "env", "(", "$"].contains(&word)
}

fn is_command_like(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && word.starts_with(|c: char| c != '-')
}

fn find_flags(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let is_flag = |word: &&str| {
        word.strip_prefix("--")
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    words.filter(is_flag).map(str::to_owned).collect()
}

/// Commands in shell blocks, joined where a line ends in a backslash, and what stands between backticks.
fn find_code(file: &TextFile) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut is_continued = false;
    for (index, line) in file.text.lines().enumerate() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(kind) };
            continue;
        }
        match fence {
            Some("sh" | "") => {
                let code = line.split(" #").next().unwrap_or_default();
                let plain = code.trim_end_matches('\\');
                match found.last_mut().filter(|_| is_continued) {
                    Some((_, before)) => before.push_str(plain),
                    None => found.push((index, plain.to_owned())),
                }
                is_continued = code.ends_with('\\');
            }
            Some(_) => {}
            None => {
                let spans = line.split('`').skip(1).step_by(2);
                found.extend(spans.map(|span| (index, span.to_owned())));
            }
        }
    }
    found
}

/// The lines of help that show a command, without what is said of it.
fn find_examples(file: &TextFile) -> Vec<(usize, String)> {
    let lines = file.text.lines().enumerate();
    let examples = lines.filter_map(|(index, line)| {
        let example = line.strip_prefix("  ")?;
        let command = example.split("  ").next().unwrap_or_default();
        command.contains("windlass ").then(|| (index, command.to_owned()))
    });
    examples.collect()
}
