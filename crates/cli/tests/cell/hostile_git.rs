//! A stranger's repository that names a program wherever git takes one. None of them ever starts.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use rustix::fs::inotify;
use serde_json::json;

use crate::held_session::{HeldSession, for_each_user, last_tool_result};

/// Keys that name a program, and the ending of the program that each one names.
pub(crate) const NAMING_KEYS: &[&str] = &[
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "credential.helper",
    "credential.https://example.org.helper",
    "sequence.editor",
    "gpg.program",
    "gpg.ssh.program",
    "pager.log",
    "pager.diff",
    "pager.status",
    "interactive.diffFilter",
    "uploadpack.packObjectsHook",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "merge.evil.driver",
    "alias.status",
    "alias.log",
    "diff.tool",
    "difftool.evil.cmd",
    "trailer.sign.command",
    "browser.evil.cmd",
];

/// Those that no setting of ours can take back: git must not run at all.
pub(crate) const LASTING_KEYS: &[&str] =
    &["diff.external", "diff.evil.textconv", "diff.evil.command"];

const LINES: &[&str] = &[
    "git status",
    "git status --short --branch",
    "git diff",
    "git diff --stat HEAD",
    "git diff --cached",
    "git log -p -1",
    "git log --oneline --graph",
    "git show HEAD",
    "git blame a.json",
    "git grep a",
    "git ls-files -m",
    "git describe --always --dirty",
    "git stash list",
    "git branch -a",
    "git tag --list",
    "git for-each-ref",
    "git reflog",
    "git rev-parse HEAD",
    "git cat-file -p HEAD",
    "git shortlog -s HEAD",
    "git remote -v",
    "git config --get core.pager",
    "git describe --always --broken",
    "git diff --submodule",
    "git grep --recurse-submodules a",
    "git ls-files --recurse-submodules",
    "git cat-file --batch-all-objects --batch",
    "git check-attr -a a.json",
    "git status --porcelain=2 --branch -uall",
    "git diff | head -5",
    "cat a.json && git status",
    "g\"i\"t diff",
    "gi\\t diff",
    "$'\\x67it' diff",
    "command git diff",
    "for f in a.json; do git diff $f; done",
];

/// Sees every program of a directory that is opened, as starting one does.
pub(crate) struct CanaryWatch(OwnedFd);

impl CanaryWatch {
    pub(crate) fn new(session: &HeldSession) -> Self {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let watch = inotify::init(flags).expect("a watch");
        let folder = session.base().join("canaries");
        inotify::add_watch(&watch, folder, inotify::WatchFlags::OPEN).expect("a folder");
        Self(watch)
    }

    pub(crate) fn started(&self) -> Vec<String> {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        let mut names = Vec::new();
        while let Ok(event) = reader.next() {
            names.extend(event.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
        names
    }
}

pub(crate) fn git(session: &HeldSession, folder: &str, words: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always"])
        .args(words)
        .current_dir(session.dirs.file(folder))
        .env_remove("GIT_DIR")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .expect("git");
    assert!(status.success(), "{words:?}");
}

/// A program of its own for everything that is named, so that a failure says which.
pub(crate) fn plant_canary(session: &HeldSession, name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let path = session.base().join("canaries").join(name);
    fs::write(&path, "#!/bin/sh\necho RAN >&2\ncat\n").expect("a program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    path.display().to_string()
}

pub(crate) fn create_hostile_repository(session: &HeldSession, keys: &[&str]) {
    fs::create_dir(session.base().join("canaries")).expect("a folder");
    fs::create_dir_all(session.dirs.file("sub")).expect("a folder");
    fs::write(session.dirs.file("sub/inner.txt"), "inner\n").expect("a file");
    git(session, "sub", &["init", "-q", "."]);
    git(session, "sub", &["add", "inner.txt"]);
    git(session, "sub", &["commit", "-q", "-m", "inner"]);
    git(session, ".", &["init", "-q", "."]);
    let attributes = "* filter=evil diff=evil merge=evil\n";
    fs::write(session.dirs.file(".gitattributes"), attributes).expect("a file");
    let modules = "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n";
    fs::write(session.dirs.file(".gitmodules"), modules).expect("a file");
    git(session, ".", &["add", ".gitattributes", ".gitmodules", "a.json", "sub"]);
    git(session, ".", &["commit", "-q", "-m", "first"]);
    for key in keys {
        let program = plant_canary(session, key);
        git(session, ".", &["config", key, &program]);
    }
    // In a submodule git runs itself, and forgets what its environment said.
    let inner = plant_canary(session, "submodule-fsmonitor");
    git(session, "sub", &["config", "core.fsmonitor", &inner]);
    git(session, ".", &["config", "submodule.sub.ignore", "none"]);
    git(session, ".", &["config", "diff.submodule", "diff"]);
    for hook in ["post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman"] {
        let program = plant_canary(session, &format!("hook {hook}"));
        let place = session.dirs.file(".git/hooks").join(hook);
        let _ = fs::remove_file(&place);
        std::os::unix::fs::symlink(program, place).expect("a link");
    }
    fs::write(session.dirs.file("a.json"), "{\"a\": 2}\n").expect("a file");
    fs::write(session.dirs.file("sub/inner.txt"), "changed\n").expect("a file");
}

fn run_lines(session: &HeldSession, flags: &[&str]) -> Vec<String> {
    let watch = CanaryWatch::new(session);
    let calls: Vec<_> = LINES.iter().map(|line| json!({ "command": line })).collect();
    let (told, _) = session.run(flags, &calls);
    let started = watch.started();
    assert!(started.is_empty(), "{:?} {:?} {flags:?}: {started:?}", session.user, session.machine);
    let request: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let messages = request["messages"].as_array().expect("messages").clone();
    let parts = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let results = parts.filter(|part| part["type"] == "tool_result").cloned();
    results.map(|part| part.to_string()).collect()
}

const RULES: &[&str] =
    &["--allowedTools", "Bash(git status:*)", "Bash(git diff:*)", "Bash(git log:*)", "Bash(cat:*)"];

#[test]
fn no_program_that_a_repository_names_starts() {
    for_each_user(|session| {
        create_hostile_repository(&session, NAMING_KEYS);
        let told = run_lines(&session, &[]);
        // The last five may be asked about.
        for (line, result) in LINES.iter().zip(&told).take(LINES.len() - 5) {
            assert!(!result.contains("\"is_error\":true"), "{line}: {result}");
        }
        assert!(told[0].contains("modified:") && told[2].contains("+{"), "{told:?}");
        run_lines(&session, RULES);
    });
}

#[test]
fn git_does_not_run_where_nothing_keeps_it_from_running_a_program() {
    for key in LASTING_KEYS {
        for_each_user(|session| {
            create_hostile_repository(&session, &[NAMING_KEYS, &[*key]].concat());
            let told = run_lines(&session, &[]);
            assert!(told[2].contains(key) && told[2].contains("dangerously"), "{told:?}");
            run_lines(&session, RULES);
        });
    }
}

#[test]
fn no_program_that_a_repository_names_starts_without_a_cell() {
    for_each_user(|session| {
        let session = session.without_landlock();
        create_hostile_repository(&session, &[NAMING_KEYS, LASTING_KEYS].concat());
        run_lines(&session, &[]);
        run_lines(&session, RULES);
    });
}

/// Git would show files of another place as if they belonged to the project.
#[test]
fn a_work_tree_elsewhere_is_not_read_by_git_unasked() {
    for_each_user(|session| {
        git(&session, ".", &["init", "-q", "."]);
        let home = session.dirs.home();
        fs::write(home.join("notes"), "a note of the user\n").expect("a file");
        git(&session, ".", &["config", "core.worktree", &home.display().to_string()]);
        let told = session.run_bash(&[], "git status");
        assert!(told.contains("core.worktree") && !told.contains("notes"), "{told}");
    });
}

/// What the user's own settings name is the user's affair, and the project is still looked at.
#[test]
fn the_users_own_filters_stay() {
    for_each_user(|session| {
        fs::create_dir(session.base().join("canaries")).expect("a folder");
        git(&session, ".", &["init", "-q", "."]);
        fs::write(session.dirs.file(".gitattributes"), "*.json diff=own\n").expect("a file");
        git(&session, ".", &["add", ".gitattributes", "a.json"]);
        git(&session, ".", &["commit", "-q", "-m", "first"]);
        fs::write(session.dirs.file("a.json"), "{\"a\": 2}\n").expect("a file");
        let config = "[diff \"own\"]\n\ttextconv = sed s/^/own:/\n";
        fs::write(session.dirs.home().join(".gitconfig"), config).expect("a file");
        let told = session.run(&[], &[json!({ "command": "git diff" })]).0;
        let told = last_tool_result(&told);
        assert!(told.contains("+own:{"), "{told}");
    });
}
