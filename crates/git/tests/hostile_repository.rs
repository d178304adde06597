//! Our own git calls in a repository that names a program wherever git takes one.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is how a test says no"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use windlass_git::{GitError, GitRunner};

/// A repository with one commit and one change, and the place where anything it runs leaves word.
struct HostileRepository {
    _folder: TempDir,
    repository: PathBuf,
    words: PathBuf,
}

impl HostileRepository {
    fn set() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (repository, words) = (top.join("repository"), top.join("words"));
        std::fs::create_dir(&repository).unwrap();
        std::fs::create_dir(&words).unwrap();
        let hostile = Self { _folder: folder, repository, words };
        hostile.git(&["init", "-q", "-b", "main"]);
        std::fs::write(hostile.repository.join("a.txt"), "one\n").unwrap();
        std::fs::write(hostile.repository.join("b.bin"), "one\n").unwrap();
        hostile.git(&["add", "."]);
        hostile.git(&["commit", "-q", "-m", "first"]);
        std::fs::write(
            hostile.repository.join(".gitattributes"),
            "*.txt filter=bad\n*.bin diff=odd merge=odd\n",
        )
        .unwrap();
        hostile.arm();
        std::fs::write(hostile.repository.join("a.txt"), "two, and longer\n").unwrap();
        std::fs::write(hostile.repository.join("b.bin"), "two, and longer\n").unwrap();
        hostile
    }

    /// Every program leaves a file with its name, then does its duty as far as that is easy.
    fn arm(&self) {
        let words = self.words.display();
        for (key, name, then) in [
            ("core.fsmonitor", "fsmonitor", "false"),
            ("diff.external", "external", "true"),
            ("diff.odd.textconv", "textconv", "cat"),
            ("filter.bad.clean", "clean", "cat"),
            ("filter.bad.smudge", "smudge", "cat"),
            ("merge.odd.driver", "driver", "true"),
            ("core.pager", "pager", "cat"),
            ("core.editor", "editor", "true"),
            ("gpg.program", "gpg", "false"),
            ("core.sshCommand", "ssh", "false"),
            ("alias.unheard", "alias", "true"),
        ] {
            let bang = if key.starts_with("alias") { "!" } else { "" };
            let command = format!("{bang}touch {words}/{name}; {then}");
            let config = ["config", key, &command];
            self.git(&config);
        }
        self.git(&["config", "filter.bad.required", "true"]);
        self.git(&["config", "commit.gpgSign", "true"]);
        self.git(&["config", "log.showSignature", "true"]);
        let hooks = self.repository.join(".git/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        for hook in ["pre-commit", "post-checkout", "post-index-change", "reference-transaction"] {
            let text = format!("#!/bin/sh\ntouch {words}/{hook}\n");
            std::fs::write(hooks.join(hook), text).unwrap();
            use std::os::unix::fs::PermissionsExt;
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(hooks.join(hook), executable).unwrap();
        }
    }

    /// Git as a person would run it.
    fn git(&self, words: &[&str]) {
        let ran = Command::new("git")
            .args(["-c", "user.name=U", "-c", "user.email=u@example.org"])
            .args(words)
            .current_dir(&self.repository)
            .env("HOME", &self.repository)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    fn said(&self) -> Vec<String> {
        let listed = std::fs::read_dir(&self.words).unwrap();
        let mut names: Vec<String> =
            listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn ours(&self) -> GitRunner {
        GitRunner::in_directory(&self.repository).unwrap()
    }
}

#[test]
fn a_repository_that_names_programs_gets_none_of_them_run() {
    let hostile = HostileRepository::set();
    let changed = hostile.ours().run("diff", &["HEAD", "--", "a.txt"]).unwrap();
    assert!(String::from_utf8_lossy(&changed.stdout).contains("+two, and longer"));
    for (sub, words) in calls(&hostile.repository) {
        let end = hostile.ours().run(sub, &words).unwrap();
        assert_eq!(end.code, Some(0), "{sub} {words:?}: {}", end.stderr);
        assert_eq!(hostile.said(), Vec::<String>::new(), "git {sub} {words:?} ran a program");
    }
    assert_eq!(
        hostile.ours().first_line("rev-parse", &["--abbrev-ref", "HEAD"]).as_deref(),
        Some("main")
    );

    // The traps do go off when they are stepped on.
    hostile.git(&["status"]);
    std::fs::write(hostile.repository.join("a.txt"), "three, which is another length\n").unwrap();
    hostile.git(&["diff", "HEAD"]);
    let said = hostile.said();
    for name in ["fsmonitor", "external", "clean"] {
        assert!(said.iter().any(|said| said == name), "{name} is no trap: {said:?}");
    }
}

fn calls(repository: &Path) -> Vec<(&'static str, Vec<String>)> {
    let tree = repository.with_file_name("tree").to_string_lossy().into_owned();
    [
        ("status", vec!["--porcelain"]),
        ("diff", vec![]),
        ("diff", vec!["HEAD", "--", "b.bin"]),
        ("diff", vec!["--ext-diff", "--textconv", "HEAD"]),
        ("log", vec!["-p"]),
        ("show", vec!["HEAD"]),
        ("worktree", vec!["add", "-b", "side", &tree]),
        ("add", vec!["--renormalize", "."]),
        ("checkout", vec!["-f", "HEAD", "--", "a.txt"]),
        ("worktree", vec!["remove", "--force", &tree]),
    ]
    .into_iter()
    .map(|(sub, words)| (sub, words.into_iter().map(str::to_owned).collect()))
    .collect()
}

#[test]
fn only_listed_calls_within_bounds() {
    let hostile = HostileRepository::set();
    let alias = hostile.ours().run("unheard", &[""; 0]);
    assert!(matches!(alias, Err(GitError::UnknownSubcommand(_))), "{alias:?}");
    let mut short = hostile.ours();
    short.output_bytes_max = 30;
    let cut = short.run("log", &["-p"]);
    assert!(matches!(cut, Err(GitError::OutputTooLong(30))), "{cut:?}");
    let mut hurried = hostile.ours();
    hurried.timeout = Duration::ZERO;
    assert!(matches!(hurried.run("log", &["-p"]), Err(GitError::TimedOut(_))));
    assert_eq!(hostile.said(), Vec::<String>::new());
}

#[test]
fn a_folder_that_only_looks_like_a_repository_is_none() {
    let hostile = HostileRepository::set();
    let bare = hostile.repository.join("fixtures");
    hostile.git(&["init", "-q", "--bare", "fixtures"]);
    let end = GitRunner::in_directory(&bare).unwrap().run("status", &[""; 0]).unwrap();
    assert_ne!(end.code, Some(0));
}
