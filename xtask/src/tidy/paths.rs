//! Nothing of the machine it was written on, and no secret.
//!
//! A path of one machine is wrong on every other; a private registry's name in a lock file breaks
//! every build but one; a key in the tree is a key published. The tables below are spelled in
//! pieces so that they do not find themselves.

use super::{Finding, RepositoryTree};

/// Folders of particular machines.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/tmp/ba", "sh_jobs"),
    concat!(".cargo/re", "gistry"),
    concat!("/github/wo", "rkspace"),
];

/// Parts of the names of registries and mirrors.
const PACKAGE_HOSTS: &[&str] = &[
    concat!("arti", "factory"),
    concat!("jf", "rog"),
    concat!("index.cra", "tes.io"),
    concat!("static.cra", "tes.io"),
    concat!("pypi.", "org"),
    concat!("registry.np", "mjs.org"),
];

/// How keys begin, and how many letters and digits must follow before it is one.
const KEY_PREFIXES: &[(&str, usize)] = &[
    ("sk-", 20),
    ("AIza", 30),
    ("ghp_", 30),
    ("github_pat_", 30),
    ("AKIA", 16),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("glpat-", 20),
    ("Bearer ", 30),
];

/// How private keys in text form begin.
const PRIVATE_KEY_MARKERS: &[&str] =
    &[concat!("-----BEGIN PRIVATE K", "EY"), concat!("RSA PRIVATE K", "EY-----")];

/// A key that says of itself that it is none.
const FAKE_KEY_MARKERS: &[&str] = &["test", "example", "fake", "dummy", "demo", "not-a-", "secret"];

/// The only place a locked package may come from, by the end of its name.
const LOCKED_SOURCE: &str = "/crates.io-index\"";

/// Looks at every line of every text file.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(problem) = find_problem(line) {
                findings.push(Finding::on_line(&file.path, index, problem));
            }
            let is_source = file.path == "Cargo.lock" && line.starts_with("source = ");
            if is_source && !line.ends_with(LOCKED_SOURCE) {
                let problem = "locked to a place strangers cannot reach; unlock and lock again";
                findings.push(Finding::on_line(&file.path, index, problem));
            }
        }
    }
    findings
}

fn find_problem(line: &str) -> Option<String> {
    if let Some(path) = MACHINE_PATHS.iter().find(|path| line.contains(**path)) {
        return Some(format!("`{path}` is a path of one machine"));
    }
    if let Some(host) = PACKAGE_HOSTS.iter().find(|host| line.contains(**host)) {
        return Some(format!("`{host}` names a package host; leave that to each machine"));
    }
    if PRIVATE_KEY_MARKERS.iter().any(|armour| line.contains(armour)) {
        return Some("a private key".to_owned());
    }
    let prefix =
        KEY_PREFIXES.iter().find(|(prefix, letters)| contains_key(line, prefix, *letters))?.0;
    Some(format!("something that begins with `{prefix}` and looks like a key"))
}

fn contains_key(line: &str, prefix: &str, letters: usize) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
        let (before, after) = line.split_at_checked(at).unwrap_or((line, ""));
        let starts_here = !before.chars().next_back().is_some_and(char::is_alphanumeric);
        let body: String = after
            .strip_prefix(prefix)
            .unwrap_or(after)
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_' || *c == '-')
            .collect();
        let has_digit = body.chars().any(|c| c.is_ascii_digit());
        let lowered = body.to_lowercase();
        let is_pretended = FAKE_KEY_MARKERS.iter().any(|word| lowered.contains(word));
        starts_here && body.len() >= letters && has_digit && !is_pretended
    })
}
