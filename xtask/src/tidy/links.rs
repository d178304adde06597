//! Every link of a page leads somewhere: to a file that is there and, behind `#`, to a heading it has.
//! Addresses of the web are not asked: a rule gives the same answer without a network.

use std::collections::BTreeSet;

use super::{Finding, RepositoryTree};

/// Looks at every Markdown page of the root and of `docs`.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_page =
        |path: &str| path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'));
    for file in tree.files.iter().filter(|file| is_page(&file.path)) {
        for (index, line) in plain_lines(&file.text) {
            for target in find_targets(&line) {
                if let Some(problem) = find_problem(tree, &file.path, &target) {
                    findings.push(Finding::on_line(&file.path, index, problem));
                }
            }
        }
    }
    findings
}

/// The lines outside of code blocks, without what stands between backticks.
fn plain_lines(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut is_fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        (!is_fenced && !is_fence).then_some((index, plain))
    })
}

/// What the links and pictures of a line lead to.
fn find_targets(line: &str) -> Vec<String> {
    let between = |open: &str, close: char| {
        let rests = line.split(open).skip(1);
        rests.filter_map(|rest| rest.split(close).next()).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut targets = between("](", ')');
    targets.extend(between("src=\"", '"'));
    targets.extend(between("srcset=\"", '"'));
    targets
}

fn find_problem(tree: &RepositoryTree, page: &str, target: &str) -> Option<String> {
    let target = target.split_whitespace().next().unwrap_or_default();
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let Some(path) = resolve(page, path) else {
        return Some(format!("`{target}` leads out of the repository"));
    };
    if tree.file(&path).is_none() && !tree.root.join(&path).exists() {
        return Some(format!("`{target}` leads to {path}, which is not there"));
    }
    if anchor.is_empty() {
        return None;
    }
    let has_heading = tree.file(&path).is_some_and(|file| anchors(&file.text).contains(anchor));
    (!has_heading).then(|| format!("`{target}`: {path} has no heading for `#{anchor}`"))
}

/// The path from the root; the page itself for an empty one.
fn resolve(page: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return Some(page.to_owned());
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The anchors of a page, as GitHub and mdBook make them from headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_fenced = false;
    for line in text.lines() {
        is_fenced ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_fenced || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let slug: String = heading
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let count = (1..).find(|count| !found.contains(&numbered(&slug, count - 1))).unwrap_or(1);
        found.insert(numbered(&slug, count - 1));
    }
    found
}

fn numbered(slug: &str, number: usize) -> String {
    match number {
        0 => slug.to_owned(),
        number => format!("{slug}-{number}"),
    }
}
