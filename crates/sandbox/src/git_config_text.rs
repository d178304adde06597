//! Finds settings in a git configuration that a clone or a new repository would not have, and files
//! that it names.
//!
//! Pure. Lists harmless settings instead of dangerous ones: any other key may name a program, now
//! or in another version of git. A line that cannot be parsed counts as dangerous.

use std::collections::BTreeSet;

/// All lines that may make git run or read something, with their sections.
pub(crate) fn list_influential_lines(text: &[u8]) -> BTreeSet<String> {
    let lines = parse_lines(text).into_iter().filter(|line| match line {
        ConfigLine::Setting { section, key, value } => !is_harmless(section, key, value),
        ConfigLine::Unclear(_) => true,
    });
    lines
        .map(|line| match line {
            ConfigLine::Setting { section, key, value } => format!("[{section}] {key}={value}"),
            ConfigLine::Unclear(text) => text,
        })
        .collect()
}

/// A path in a configuration, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamedPlace {
    /// Relative to the working tree.
    Hooks(String),
    /// Relative to the file that names it.
    Include(String),
}

pub(crate) fn list_named_places(text: &[u8]) -> Vec<NamedPlace> {
    let named = parse_lines(text).into_iter().filter_map(|line| match line {
        ConfigLine::Setting { section, key, value } => match (section.as_str(), key.as_str()) {
            ("core", "hookspath") => Some(NamedPlace::Hooks(unquote(&value))),
            ("include" | "includeif", "path") => Some(NamedPlace::Include(unquote(&value))),
            _ => None,
        },
        ConfigLine::Unclear(_) => None,
    });
    named.collect()
}

/// Files that a user's configuration names, as written: further configuration, and lists of
/// patterns, names and keys.
pub(crate) fn list_named_files(text: &[u8]) -> Vec<NamedFile> {
    let named = parse_lines(text).into_iter().filter_map(|line| match line {
        ConfigLine::Setting { section, key, value } => {
            let path = unquote(strip_remark(&value));
            match (section.as_str(), key.as_str()) {
                ("include" | "includeif", "path") => Some(NamedFile::Configuration(path)),
                ("core", "excludesfile" | "attributesfile")
                | ("mailmap", "file")
                | ("blame", "ignorerevsfile")
                | ("gpg", "allowedsignersfile") => Some(NamedFile::Other(path)),
                _ => None,
            }
        }
        ConfigLine::Unclear(_) => None,
    });
    named.collect()
}

/// A file that a configuration names, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamedFile {
    Configuration(String),
    Other(String),
}

/// The work tree that the configuration of a submodule's repository names.
pub(crate) fn find_work_tree(text: &[u8]) -> Option<String> {
    parse_lines(text).into_iter().find_map(|line| match line {
        ConfigLine::Setting { section, key, value } if section == "core" && key == "worktree" => {
            Some(unquote(strip_remark(&value)))
        }
        ConfigLine::Setting { .. } | ConfigLine::Unclear(_) => None,
    })
}

/// The value without a remark behind it.
fn strip_remark(value: &str) -> &str {
    match value.starts_with('"') {
        true => value,
        false => value.split(['#', ';']).next().unwrap_or_default().trim_end(),
    }
}

fn unquote(value: &str) -> String {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(value).replace("\\\\", "\\")
}

enum ConfigLine {
    /// Section and key in lower case.
    Setting { section: String, key: String, value: String },
    /// A section header with text after it, which may be a setting.
    Unclear(String),
}

fn parse_lines(text: &[u8]) -> Vec<ConfigLine> {
    let text = String::from_utf8_lossy(text);
    let mut section = String::new();
    let mut lines = Vec::new();
    for line in join_continued_lines(&text) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('[') {
            section = match parse_header(line) {
                Some(name) => name.to_ascii_lowercase(),
                None => {
                    lines.push(ConfigLine::Unclear(line.to_owned()));
                    line.to_owned()
                }
            };
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let key = key.trim().to_ascii_lowercase();
        let value = value.trim().to_owned();
        lines.push(ConfigLine::Setting { section: section.clone(), key, value });
    }
    lines
}

/// Joins lines that end in a backslash. The backslash stays in the joined line, which makes it
/// dangerous for any key whose value matters.
fn join_continued_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_continued = false;
    for line in text.lines() {
        match lines.last_mut().filter(|_| is_continued) {
            Some(last) => last.push_str(line),
            None => lines.push(line.to_owned()),
        }
        is_continued = line.ends_with('\\');
    }
    lines
}

/// The section, unless text follows: git accepts a key on the same line.
fn parse_header(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(inner.len());
    let (name, rest) = inner.split_at(end);
    if rest.is_empty() {
        return Some(name);
    }
    let quoted = rest.trim_start_matches([' ', '\t']).strip_prefix('"')?.strip_suffix('"')?;
    (!quoted.contains(['"', '\\', '\n'])).then_some(name)
}

fn is_harmless(section: &str, key: &str, value: &str) -> bool {
    let is_switch = ["true", "false", "yes", "no", "on", "off", "1", "0"]
        .contains(&value.to_ascii_lowercase().as_str());
    match (section, key) {
        // Git's own monitor, or none.
        ("core", "fsmonitor") => is_switch,
        ("core", "worktree") => is_path_below(value),
        ("remote" | "submodule", "url") | ("remote", "pushurl") => is_plain_address(value),
        ("submodule", "update") => ["checkout", "rebase", "merge", "none"].contains(&value),
        _ => HARMLESS.iter().any(|(name, keys)| {
            *name == section && (keys.is_empty() || keys.contains(&key)) && !value.ends_with('\\')
        }),
    }
}

/// The git directory of a submodule contains the path of its files.
fn is_path_below(value: &str) -> bool {
    !value.starts_with(['/', '~', '"']) && !value.contains('\\')
}

/// A plain address, not a transport with a command or an option.
fn is_plain_address(value: &str) -> bool {
    !value.contains("::") && !value.starts_with('-') && !value.contains(['\\', '"'])
}

/// Settings written by `clone`, `init`, `remote`, `branch` and `submodule`, and harmless switches.
/// An empty list of keys means the whole section.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
            "compression",
            "preloadindex",
            "sparsecheckout",
            "sparsecheckoutcone",
            "untrackedcache",
            "abbrev",
            "quotepath",
            "whitespace",
            "longpaths",
            "sharedrepository",
            "commitgraph",
            "multipackindex",
        ],
    ),
    ("extensions", &[]),
    ("remote", &["fetch", "push", "tagopt", "prune", "mirror", "promisor", "partialclonefilter"]),
    ("branch", &["remote", "merge", "rebase", "pushremote", "description", "autosetupmerge"]),
    ("submodule", &["active", "branch", "ignore", "shallow", "fetchrecursesubmodules", "recurse"]),
    ("user", &["name", "email", "useconfigonly"]),
    ("author", &["name", "email"]),
    ("committer", &["name", "email"]),
    ("advice", &[]),
    ("color", &[]),
    ("column", &[]),
    ("gc", &["auto", "autodetach", "autopacklimit", "pruneexpire", "reflogexpire"]),
    ("pack", &["threads", "windowmemory", "usebitmaps", "writebitmaphashcache"]),
    ("index", &["version", "threads", "sparse"]),
    ("feature", &[]),
    ("init", &["defaultbranch"]),
    ("fetch", &["prune", "prunetags", "parallel", "recursesubmodules"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    ("merge", &["conflictstyle", "ff"]),
    ("rebase", &["autostash", "autosquash"]),
    ("commit", &["verbose", "cleanup"]),
    ("diff", &["renames", "algorithm", "mnemonicprefix", "colormoved"]),
    ("log", &["date", "decorate", "follow"]),
    ("status", &["short", "branch", "showuntrackedfiles"]),
    ("rerere", &["enabled", "autoupdate"]),
    ("lfs", &["repositoryformatversion", "access", "locksverify"]),
];

#[cfg(test)]
mod tests {
    use super::{
        NamedFile, NamedPlace, find_work_tree, list_influential_lines, list_named_files,
        list_named_places,
    };

    #[test]
    fn places_are_found_as_they_are_written() {
        let text =
            b"[core]\n\thooksPath = .githooks\n[include]\n\tpath = \"../a b\"\n[other]\npath = x\n";
        let expected =
            [NamedPlace::Hooks(".githooks".to_owned()), NamedPlace::Include("../a b".to_owned())];
        assert_eq!(list_named_places(text), expected);
    }

    #[test]
    fn named_files_are_found_without_remarks() {
        let text = b"[include]\n\tpath = ~/dot/git # mine\n[includeIf \"gitdir:~/w/\"]\n\
            \tpath = \"work #1\"\n[core]\n\texcludesFile = ~/.ignore\n\teditor = vim\n";
        let expected = [
            NamedFile::Configuration("~/dot/git".to_owned()),
            NamedFile::Configuration("work #1".to_owned()),
            NamedFile::Other("~/.ignore".to_owned()),
        ];
        assert_eq!(list_named_files(text), expected);
        let text = b"[core]\n\tbare = false\n\tworktree = ../../../sub\n";
        assert_eq!(find_work_tree(text).as_deref(), Some("../../../sub"));
    }

    #[test]
    fn what_git_writes_itself_is_harmless() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
            \tlogallrefupdates = true\n[remote \"origin\"]\n\turl = https://example.org/a.git\n\
            \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\r\n\tremote = origin\n\
            \tmerge = refs/heads/main\n# a remark\n[submodule \"a/b\"]\n\tactive = true\n\
            \turl = git@example.org:a.git\n[user]\n\temail = a@example.org\n\
            [core]\n\tworktree = ../../../sub\n\tfsmonitor = true\n";
        assert!(list_influential_lines(text.as_bytes()).is_empty());
        assert!(list_influential_lines(b"").is_empty());
    }

    #[test]
    fn whatever_else_is_listed() {
        for text in [
            "[core]\n\tfsmonitor = ./evil\n",
            "[core] fsmonitor = ./evil\n",
            "[CORE]\nFsMonitor=./evil\n",
            "[core \"]\"]\nx = 1\n[core]\nfsmonitor = \"./evil\"\n",
            "[core]\n\thooksPath = .\n",
            "[core]\n\tsshCommand = evil\n",
            "[core.x]\n\tbare = true\n",
            "[include]\n\tpath = evil\n",
            "[includeIf \"gitdir:/\"]\n\tpath = evil\n",
            "[alias]\n\tst = !evil\n",
            "[filter \"x\"]\n\tclean = evil\n",
            "[diff \"x\"]\n\ttextconv = evil\n",
            "[diff]\n\texternal = evil\n",
            "[remote \"o\"]\n\turl = ext::sh -c evil\n",
            "[remote \"o\"]\n\turl = a\\\n::evil\n",
            "[remote \"o\"]\n\tuploadpack = evil\n",
            "[submodule \"s\"]\n\tupdate = !evil\n",
            "[core]\n\tworktree = /home/u\n",
            "[credential]\n\thelper = evil\n",
            "[gpg]\n\tprogram = evil\n",
            "\u{feff}[core]\n\tbare = false\n",
            "no section\n",
        ] {
            assert!(!list_influential_lines(text.as_bytes()).is_empty(), "{text}");
        }
    }
}
