//! A match over one of our own enums names every variant.
//!
//! `_ =>` takes a variant that is added later without anybody having thought about it. Recognised
//! by text: an arm that starts with a path through the name of an enum of the workspace, or with
//! `Self::Variant`, beside an arm that takes everything. What is wrapped (`Some(Kind::A)`), a tuple or
//! a slice is left alone, because there the rest is also the wrapper's; so is an enum whose name
//! the file imports from elsewhere.

use std::collections::BTreeSet;

use super::declarations::{TypeKind, find_type_declarations};
use super::source::{blank_tests, braced_bytes, is_word_char, split_source};
use super::words::parse_module_declaration;
use super::{Finding, RepositoryTree};

/// What a path to a type of the same crate starts with.
const OWN_PATH_ROOTS: &[&str] = &["crate", "super", "self", "Self"];

/// Looks at every match of every crate.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let sources: Vec<(&str, String)> = tree
        .crate_sources()
        .map(|(_, file)| (file.path.as_str(), blank_tests(&split_source(&file.text).code)))
        .collect();
    let mut enums = BTreeSet::new();
    for (_, code) in &sources {
        let declared = find_type_declarations(code);
        enums.extend(
            declared.iter().filter(|one| one.kind == TypeKind::Enum).map(|one| one.name.to_owned()),
        );
    }
    let mut findings = Vec::new();
    for (path, code) in &sources {
        let foreign = find_foreign_imports(code);
        for block in find_matches(code) {
            let patterns = split_arms(block.body);
            let named = patterns.iter().find_map(|pattern| {
                find_enum_name(pattern)
                    .filter(|name| enums.contains(*name) || *name == "Self")
                    .filter(|name| !foreign.contains(name))
            });
            let is_caught = patterns.iter().any(|pattern| is_catch_all(pattern));
            if let Some(name) = named.filter(|_| is_caught) {
                let problem = format!("a match over `{name}` has a catch-all; name every variant");
                findings.push(Finding::on_line(path, block.line, problem));
            }
        }
    }
    findings
}

/// One `match`: where it stands, and the text between its braces.
struct MatchBlock<'a> {
    line: usize,
    body: &'a str,
}

fn find_matches(code: &str) -> Vec<MatchBlock<'_>> {
    let mut blocks = Vec::new();
    for (at, _) in code.match_indices("match ") {
        let (before, after) = code.split_at_checked(at).unwrap_or((code, ""));
        if before.ends_with(|c: char| is_word_char(c) || c == '.') {
            continue;
        }
        let Some(open) = find_outside_brackets(after, "{") else {
            continue;
        };
        let (_, block) = after.split_at_checked(open).unwrap_or((after, ""));
        let body = block.get(1..braced_bytes(block).saturating_sub(1)).unwrap_or("");
        blocks.push(MatchBlock { line: before.matches('\n').count(), body });
    }
    blocks
}

/// Where this text first stands outside every bracket.
fn find_outside_brackets(code: &str, text: &str) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, character) in code.char_indices() {
        if depth == 0 && code.get(at..).is_some_and(|rest| rest.starts_with(text)) {
            return Some(at);
        }
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The pattern of every arm, with its guard.
fn split_arms(body: &str) -> Vec<&str> {
    let mut patterns = Vec::new();
    let mut rest = body;
    while let Some(arrow) = find_outside_brackets(rest, "=>") {
        let (pattern, after) = rest.split_at_checked(arrow).unwrap_or((rest, ""));
        patterns.push(strip_attributes(pattern.trim()));
        let result = after.strip_prefix("=>").unwrap_or(after).trim_start();
        let end = match result.starts_with('{') {
            true => braced_bytes(result),
            false => expression_bytes(result),
        };
        rest = result.get(end..).unwrap_or("").trim_start().trim_start_matches(',');
    }
    patterns
}

/// Bytes up to the comma that ends an arm's expression. `<` opens only after `::`, since it compares
/// elsewhere.
fn expression_bytes(code: &str) -> usize {
    let mut brackets = 0_i32;
    let mut generics = 0_i32;
    let mut previous = ' ';
    for (at, character) in code.char_indices() {
        match character {
            '(' | '[' | '{' => brackets += 1,
            ')' | ']' | '}' => brackets -= 1,
            '<' if previous == ':' || generics > 0 => generics += 1,
            '>' if generics > 0 && previous != '-' => generics -= 1,
            ',' if brackets == 0 && generics == 0 => return at,
            _ => {}
        }
        previous = character;
    }
    code.len()
}

fn strip_attributes(pattern: &str) -> &str {
    let mut pattern = pattern;
    while let Some((_, after)) = pattern.strip_prefix("#[").and_then(|rest| rest.split_once(']')) {
        pattern = after.trim_start();
    }
    pattern
}

/// Does this arm take every variant that no arm above it took?
fn is_catch_all(pattern: &str) -> bool {
    let name = pattern.split(" if ").next().unwrap_or(pattern).trim();
    let is_binding = name.starts_with(|c: char| c.is_lowercase() || c == '_')
        && name.chars().all(is_word_char)
        && !["true", "false"].contains(&name);
    is_binding && (name == "_" || name == pattern)
}

/// The enum whose variant an arm names: `Kind` of `Kind::A`, `kind::Kind::A(_)`, `&Kind::A { .. }`.
fn find_enum_name(pattern: &str) -> Option<&str> {
    let pattern = pattern.trim_start_matches(['|', '&', ' ', '\n']);
    let path = pattern.split(|c: char| !(is_word_char(c) || c == ':')).next()?;
    let mut names = path.rsplit("::");
    let variant = names.next()?;
    let owner = names.next()?;
    // A constant is written in capitals, a variant is not.
    let is_variant = variant.starts_with(char::is_uppercase)
        && (variant.len() == 1 || variant.contains(char::is_lowercase));
    let root = path.split("::").next().unwrap_or(owner);
    let is_ours = root == owner || OWN_PATH_ROOTS.contains(&root) || root.starts_with("windlass");
    (is_variant && is_ours).then_some(owner)
}

/// The names a file imports from packages that are not ours, and from the standard library. A module
/// that the file declares is ours.
fn find_foreign_imports(code: &str) -> BTreeSet<&str> {
    let own_modules: BTreeSet<&str> = code.lines().filter_map(parse_module_declaration).collect();
    let mut names = BTreeSet::new();
    for statement in code.split(';') {
        let Some((_, import)) = statement.rsplit_once("use ") else {
            continue;
        };
        let root = import.split("::").next().unwrap_or(import).trim();
        let is_ours = OWN_PATH_ROOTS.contains(&root)
            || root.starts_with("windlass")
            || own_modules.contains(root);
        if !is_ours && root.chars().all(|c| c.is_lowercase() || c == '_' || c.is_numeric()) {
            names.extend(import.split(|c: char| !is_word_char(c)));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_told_apart() {
        let body = "\n A::B { c, .. } if d(|e| { f }) => g::<H, I>(j),\n #[cfg(k)] L::M | L::N => {\n match o { _ => p }\n }\n q => r,\n";
        assert_eq!(split_arms(body), ["A::B { c, .. } if d(|e| { f })", "L::M | L::N", "q"]);
    }
}
