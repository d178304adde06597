//! Of the home directory, a command that runs unasked sees toolchains and what the session works on.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::fixture::run;
use crate::held_session::{
    HeldSession, SECRET, for_each_machine, for_each_user, last_tool_result, serve,
};

fn git(directory: &Path, words: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(directory)
        .env_remove("GIT_DIR")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("git");
    assert!(status.success(), "{words:?}");
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

fn commit_all(directory: &Path) {
    fs::create_dir_all(directory).expect("a folder");
    git(directory, &["init", "-q", "."]);
    git(directory, &["add", "."]);
    git(directory, &["commit", "-q", "-m", "first"]);
}

/// Runs a session in another directory than usual; what its last command came to.
fn run_in(session: &HeldSession, directory: &Path, flags: &[&str], command: &str) -> String {
    let server = serve(&[json!({ "command": command })]);
    let mut started = session.command(&server, flags);
    let finished = run(started.current_dir(directory));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let requests = server.requests();
    last_tool_result(requests.last().expect("a request").body.as_ref())
}

/// A stranger's tree leads to files of the home wherever a program or git follows it.
fn plant_ways_home(session: &HeldSession) {
    let home = session.dirs.home();
    let work = session.dirs.work();
    write(&home.join("notes.txt"), &format!("{SECRET}\n"));
    write(&home.join("patterns"), "*.zzz\n");
    write(&home.join("settings"), &format!("[x]\n\ty = {SECRET}\n"));
    write(&home.join("private/file"), &format!("{SECRET}\n"));
    commit_all(&home.join("private"));
    commit_all(&work);
    let notes = home.join("notes.txt");
    let link = |name: &str| {
        let place = work.join(name);
        fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
        let _ = fs::remove_file(&place);
        symlink(&notes, place).expect("a link");
    };
    for name in ["l", ".git/BISECT_LOG", ".git/worktrees/x/gitdir", ".git/rebase-merge/done"] {
        link(name);
    }
    write(&work.join(".git/worktrees/x/HEAD"), "ref: refs/heads/main\n");
    write(&work.join(".git/worktrees/x/commondir"), "../..\n");
    write(&work.join(".git/rebase-merge/git-rebase-todo"), "");
    write(&work.join(".git/rebase-merge/head-name"), "refs/heads/main\n");
    let exclude = work.join(".git/info/exclude");
    let _ = fs::remove_file(&exclude);
    symlink(home.join("patterns"), exclude).expect("a link");
    let objects = format!("{}\n", home.join("private/.git/objects").display());
    write(&work.join(".git/objects/info/alternates"), &objects);
    git(&work, &["config", "include.path", &home.join("settings").display().to_string()]);
}

#[test]
fn no_link_of_a_strangers_tree_leads_home() {
    for_each_machine(|session| {
        plant_ways_home(&session);
        let lines = [
            "find . -name l -exec cat {} +",
            "find . -name l -exec grep -h canary {} +",
            "ls | xargs cat",
            "grep -r canary l",
            "git bisect log",
            "git worktree list",
            "git status",
            "git check-ignore -v a.zzz",
            "git cat-file --batch-all-objects --batch",
            "git config --list",
            "git config --get x.y",
            "git ls-files -o -i --exclude-from=l",
        ];
        let calls: Vec<Value> = lines.iter().map(|line| json!({ "command": line })).collect();
        let (told, _) = session.run(&[], &calls);
        let who = (session.user, session.machine);
        assert!(!told.contains(SECRET), "{who:?}: {told}");
        assert!(!told.contains("exclude:1:"), "{who:?}: {told}");
    });
}

#[test]
fn a_command_that_fails_so_is_told_what_to_ask_for() {
    for_each_user(|session| {
        plant_ways_home(&session);
        let told = session.run_bash(&[], "find . -name l -exec cat {} +");
        let who = session.user;
        assert!(told.contains("home directory"), "{who:?}: {told}");
        assert!(told.contains("dangerouslyDisableSandbox"), "{who:?}: {told}");
    });
}

#[test]
fn what_people_work_with_is_still_seen() {
    for_each_user(|session| {
        let home = session.dirs.home();
        let own = home.join("w/own");
        write(&home.join(".gitconfig"), "[include]\n\tpath = ~/dot/git\n[safe]\n\tdirectory = *\n");
        write(&home.join("dot/git"), "[user]\n\tname = Included\n");
        write(&home.join(".cargo/config.toml"), "# a toolchain\n");
        write(&home.join("notes/a.md"), "a note\n");
        write(&home.join("notes/b.txt"), SECRET);
        write(&own.join("top.txt"), "one\n");
        write(&own.join("deep/file"), "two\n");
        commit_all(&own);
        let tree = home.join("w/tree");
        git(&own, &["worktree", "add", "-q", &tree.display().to_string()]);
        fs::write(own.join("top.txt"), "six\n").expect("a file");
        let deep = own.join("deep");
        symlink(home.join(".cargo/config.toml"), deep.join("toolchain")).expect("a link");
        let note = home.join("notes/a.md");
        let read = format!("cat {}", note.display());
        for (directory, flags, command, expected) in [
            (&deep, &[][..], "git status --short", "M ../top.txt"),
            (&deep, &[], "git diff", "+six"),
            (&deep, &[], "git config --get user.name", "Included"),
            (&deep, &[], "find . -name toolchain -exec cat {} +", "a toolchain"),
            (&tree, &[], "git log --oneline", "first"),
            (&tree, &[], "git status", "nothing to commit"),
            (&home, &[], "cat w/own/deep/file", "two"),
            (&home, &[], "cat notes/a.md", "a note"),
            (&deep, &["--allowedTools", "Read(~/notes/*.md)"], &read, "a note"),
        ] {
            let told = run_in(&session, directory, flags, command);
            assert!(told.contains(expected), "{:?} {command}: {told}", session.user);
        }
        let told = run_in(&session, &home, &[], "find . -type f -not -name b.txt -exec cat {} +");
        assert!(told.contains("two") && !told.contains(SECRET), "{:?}: {told}", session.user);
        let flags = ["--allowedTools", "Read(~/notes/*.md)"];
        symlink(home.join("notes/b.txt"), deep.join("other")).expect("a link");
        let line = format!("{read}; find . -name other -exec cat {{}} +");
        let told = run_in(&session, &deep, &flags, &line);
        assert!(told.contains("a note") && !told.contains(SECRET), "{:?}: {told}", session.user);
    });
}

/// The sandbox hides the home by the same list.
#[test]
fn a_sandboxed_command_sees_the_repository_it_works_in() {
    for_each_machine(|session| {
        let home = session.dirs.home();
        let own = home.join("w/own");
        write(&home.join(".gitconfig"), "[include]\n\tpath = ~/dot/git\n[safe]\n\tdirectory = *\n");
        write(&home.join("dot/git"), "[user]\n\tname = Included\n");
        write(&home.join("dot/other"), SECRET);
        write(&home.join("w/beside/file"), SECRET);
        write(&own.join("deep/file"), "two\n");
        commit_all(&own);
        let tree = home.join("w/tree");
        git(&own, &["worktree", "add", "-q", &tree.display().to_string()]);
        for directory in [own.join("deep"), tree] {
            let line = "git log --oneline; git config --get user.name; \
                        cat ~/dot/other ~/w/beside/file; echo end";
            let told = run_in(&session, &directory, &["--sandbox=required"], line);
            let who = (session.user, session.machine, &directory);
            assert!(told.contains("first") && told.contains("Included"), "{who:?}: {told}");
            assert!(told.contains("end") && !told.contains(SECRET), "{who:?}: {told}");
        }
    });
}
