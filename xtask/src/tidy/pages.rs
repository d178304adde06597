//! The pages people add to keep their form: decisions, glossary, changelog, help, tables.
//!
//! A decision nobody can find is taken again, differently; a noun defined twice means two things; a cell too many is
//! shown by no renderer.

use super::{Finding, RepositoryTree, TextFile};

const DECISIONS: &str = "docs/decisions";

/// Every decision page answers these, in this order.
const DECISION_HEADINGS: &[&str] =
    &["## Context", "## Decision", "## Road not taken", "## Consequence"];

/// What a line of the changelog starts with.
const CHANGELOG_PREFIXES: &[&str] = &["Added:", "Changed:", "Fixed:", "Removed:", "Security:"];

const HELP: &str = "crates/cli/src/text/help";

/// Wider lines are wrapped by the terminal, in the middle of an example.
const HELP_WIDTH_MAX: usize = 80;

/// Looks at each kind of page.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_decisions(tree, &mut findings);
    match tree.file("docs/glossary.md") {
        Some(file) => check_glossary(file, &mut findings),
        None => findings.push(Finding::new("docs/glossary.md", "is missing")),
    }
    match tree.file("CHANGELOG.md") {
        Some(file) => check_changelog(file, &mut findings),
        None => findings.push(Finding::new("CHANGELOG.md", "is missing")),
    }
    for file in tree.files_below(HELP) {
        check_help(file, &mut findings);
    }
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        check_tables(file, &mut findings);
    }
    findings
}

fn check_help(file: &TextFile, findings: &mut Vec<Finding>) {
    for (index, line) in file.text.lines().enumerate() {
        if line.chars().count() > HELP_WIDTH_MAX {
            let problem = format!("a line of help is at most {HELP_WIDTH_MAX} wide");
            findings.push(Finding::on_line(&file.path, index, problem));
        }
    }
}

/// A row has as many cells as the head of its table: what is beyond is not shown.
fn check_tables(file: &TextFile, findings: &mut Vec<Finding>) {
    let mut is_fenced = false;
    let mut head = None;
    for (index, line) in file.text.lines().enumerate() {
        is_fenced ^= line.trim_start().starts_with("```");
        if is_fenced || !line.starts_with('|') {
            head = None;
            continue;
        }
        let bars = line.matches('|').count() - line.matches("\\|").count();
        if bars != *head.get_or_insert(bars) {
            let problem =
                "the row has another number of cells than its head; write `\\|` for a bar";
            findings.push(Finding::on_line(&file.path, index, problem));
        }
    }
}

fn check_decisions(tree: &RepositoryTree, findings: &mut Vec<Finding>) {
    let index_path = format!("{DECISIONS}/README.md");
    let index = tree.file(&index_path).map_or("", |file| file.text.as_str());
    let pages = tree.files_below(DECISIONS).filter(|file| file.path != index_path);
    for (position, page) in pages.enumerate() {
        let name = page.path.rsplit('/').next().unwrap_or(&page.path);
        if !name.starts_with(&format!("{:04}-", position + 1)) || !name.ends_with(".md") {
            let problem =
                format!("decision pages are numbered without gaps; {:04} was due", position + 1);
            findings.push(Finding::new(&page.path, problem));
        }
        if !index.contains(&format!("({name})")) {
            findings.push(Finding::new(&index_path, format!("does not link {name}")));
        }
        let headings: Vec<&str> =
            page.text.lines().filter(|line| line.starts_with("## ")).collect();
        if headings != DECISION_HEADINGS {
            let problem =
                format!("must have exactly the headings {}", DECISION_HEADINGS.join(", "));
            findings.push(Finding::new(&page.path, problem));
        }
    }
}

fn check_glossary(file: &TextFile, findings: &mut Vec<Finding>) {
    let mut last = String::new();
    for (index, line) in file.text.lines().enumerate() {
        let Some(entry) = line.strip_prefix("- **") else {
            continue;
        };
        let noun = entry.split("**").next().unwrap_or(entry).to_lowercase();
        if noun == last {
            findings.push(Finding::on_line(
                &file.path,
                index,
                format!("`{noun}` is defined twice"),
            ));
        } else if noun < last {
            let problem = format!("`{noun}` comes before `{last}` in the alphabet");
            findings.push(Finding::on_line(&file.path, index, problem));
        }
        last = noun;
    }
}

fn check_changelog(file: &TextFile, findings: &mut Vec<Finding>) {
    for (index, line) in file.text.lines().enumerate() {
        let Some(entry) = line.strip_prefix("- ") else {
            continue;
        };
        if !CHANGELOG_PREFIXES.iter().any(|kind| entry.starts_with(kind)) {
            let problem = format!("a line starts with one of {}", CHANGELOG_PREFIXES.join(" "));
            findings.push(Finding::on_line(&file.path, index, problem));
        }
    }
}
