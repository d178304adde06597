//! Protected names at the top of a root: git goes on working, and nothing is planted.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::sandbox_fixture::{Backend, SandboxFixture, everyone, everywhere};

fn repository(fixture: &SandboxFixture) {
    let made = fixture.free(
        "git init -q . && git config user.email a@example.org && git config user.name A && \
         echo one > a && git add a && git commit -q -m one",
    );
    assert_eq!(made.code, Some(0), "{made:?}");
}

fn planted(fixture: &SandboxFixture, name: &str) -> bool {
    let text = fs::read_to_string(fixture.project.join(name)).unwrap_or_default();
    text.contains("evil")
}

#[test]
fn a_commit_works() {
    everywhere(|fixture| {
        repository(&fixture);
        let ended =
            fixture.run("echo two >> a && git commit -qam two && git log --oneline | wc -l");
        assert_eq!(ended.code, Some(0), "{}: {ended:?}", fixture.name());
        assert_eq!(ended.stdout.trim(), "2", "{}: {ended:?}", fixture.name());
        let seen = fixture.free("git status --porcelain; git log --format=%s");
        assert_eq!(seen.stdout, "two\none\n", "{}: {seen:?}", fixture.name());
    });
}

#[test]
fn nothing_is_planted_in_the_directory_of_git() {
    // Each with the file that must not be there, or not say so, afterwards.
    let attacks = [
        ("echo evil > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("echo evil >> .git/config", ".git/config"),
        ("echo evil > .git/config.worktree", ".git/config.worktree"),
        ("echo evil > .git/info/attributes", ".git/info/attributes"),
        ("echo evil > .git/commondir", ".git/commondir"),
        ("mkdir -p .git/modules/m && echo evil > .git/modules/m/config", ".git/modules/m/config"),
        (
            "mv .git x && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
            ".git/hooks/pre-commit",
        ),
        (
            "mv .git/hooks x; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
            ".git/hooks/pre-commit",
        ),
        (
            "rm -rf .git/hooks; ln -s $OUT .git/hooks; echo evil > pre-commit",
            ".git/hooks/pre-commit",
        ),
        ("cp -r .git y; echo evil > y/config; mv .git x; mv y .git", ".git/config"),
        ("cp -r .git y; echo evil > y/config; mv .git x; ln -s y .git", ".git/config"),
        ("git config core.fsmonitor evil", ".git/config"),
        (
            "rm -f .git/HEAD; mkdir -p objects refs; echo 'ref: evil' > HEAD; echo evil > config",
            "HEAD",
        ),
    ];
    everywhere(|fixture| {
        for (script, file) in attacks {
            let fresh = SandboxFixture::new(fixture.backend, fixture.person);
            repository(&fresh);
            let config = fs::read(fresh.project.join(".git/config")).unwrap();
            let ended = fresh.run(script);
            let name = fixture.name();
            assert!(!planted(&fresh, file), "{name}: {script}: {ended:?}");
            let now = fs::read(fresh.project.join(".git/config")).unwrap();
            assert_eq!(now, config, "{name}: {script}: {ended:?}");
            let kind = fresh.project.join(".git").symlink_metadata().unwrap();
            assert!(kind.is_dir(), "{name}: {script}: {ended:?}");
        }
    });
}

#[test]
fn what_did_not_exist_yet_is_held_or_taken_back() {
    // Where mounts hold a name, it is never there; elsewhere it is kept aside.
    let attacks = [
        ("echo evil > .mcp.json", ".mcp.json", ".mcp.json.refused", true),
        ("echo evil > .envrc", ".envrc", ".envrc.refused", true),
        ("rmdir .envrc; echo evil > t; mv -T t .envrc", ".envrc", ".envrc.refused", true),
        (
            "mkdir -p .claude; echo evil > .claude/settings.json",
            ".claude/settings.json",
            ".claude.refused",
            true,
        ),
        (
            "chmod 755 .vscode; mkdir -p .vscode; echo evil > .vscode/tasks.json",
            ".vscode/tasks.json",
            ".vscode.refused",
            true,
        ),
        ("mkdir -p .git; echo evil > .git/config", ".git/config", ".git.refused", true),
        ("echo evil > t; ln -s t .npmrc", ".npmrc", ".npmrc.refused", true),
    ];
    everywhere(|fixture| {
        for (script, file, kept, is_held) in attacks {
            let fresh = SandboxFixture::new(fixture.backend, fixture.person);
            let free = SandboxFixture::new(fixture.backend, fixture.person);
            free.free(script);
            assert!(planted(&free, file), "free, it did nothing: {script}");
            let before = fresh.free("ls -A").stdout;
            let ended = fresh.run(script);
            let name = fixture.name();
            assert!(!planted(&fresh, file), "{name}: {script}: {ended:?}");
            if is_held && fixture.backend == Backend::Bubblewrap {
                assert!(!ended.stderr.contains("taken back"), "{name}: {script}: {ended:?}");
                let after = fresh.free("rm -f t; ls -A").stdout;
                assert_eq!(after, before, "{name}: {script}: {ended:?}");
            } else {
                assert!(fresh.project.join(kept).symlink_metadata().is_ok(), "{name}: {script}");
                assert!(ended.stderr.contains("taken back"), "{name}: {script}: {ended:?}");
            }
        }
    });
}

/// While the command runs, too, nobody outside sees what it tried to make.
#[test]
fn a_held_name_is_never_seen_outside() {
    everyone(Backend::Bubblewrap, |fixture| {
        let child = fixture.start(
            "for d in .git .vscode .claude .cargo .cursor .windsurf .zed .idea .fleet; do mkdir -p $d; chmod 777 $d; \
             echo evil > $d/config; done; echo evil > .envrc; echo evil > .mcp.json; \
             echo up > up; until [ -e down ]; do read -t 0.01 x <> <(:); done",
        );
        let deadline = std::time::Instant::now() + crate::sandbox_fixture::DEADLINE;
        while !fixture.project.join("up").exists() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        let seen = fixture.free("cat .*/config .envrc .mcp.json 2>/dev/null; touch down");
        let ended = fixture.end(child);
        let name = fixture.name();
        assert_eq!(seen.stdout, "", "{name}: {ended:?}");
        let left = fixture.free("rm -f up down; ls -A").stdout;
        assert_eq!(left, "", "{name}: {ended:?}");
    });
}

#[test]
fn what_exists_stays_as_it_is() {
    everywhere(|fixture| {
        let (file, directory) = (fixture.project.join(".envrc"), fixture.project.join(".vscode"));
        fs::write(&file, "mine").unwrap();
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("tasks.json"), "mine").unwrap();
        fs::write(fixture.project.join("kept"), "mine").unwrap();
        fixture.give(&fixture.project.clone());
        let kept = fixture.project.join("kept").to_str().unwrap().to_owned();
        let fixture = fixture.with(&["--protect", &kept]);
        let ended = fixture.run(
            "echo evil > .envrc; rm -f .envrc; mv .vscode x; mkdir -p .vscode
             echo evil > .vscode/tasks.json; echo evil > .vscode/more; echo evil > kept",
        );
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        let name = fixture.name();
        assert_eq!(read(&file), "mine", "{name}: {ended:?}");
        assert_eq!(read(&directory.join("tasks.json")), "mine", "{name}: {ended:?}");
        assert_eq!(read(Path::new(&kept)), "mine", "{name}: {ended:?}");
        assert!(!directory.join("more").exists(), "{name}: {ended:?}");
        if fixture.backend == Backend::Bubblewrap {
            assert!(!ended.stderr.contains("taken back"), "mounts hold it: {ended:?}");
        }
    });
}

#[test]
fn worktrees_inside_a_protected_directory_are_written() {
    everywhere(|fixture| {
        for is_there in [true, false] {
            let fresh = SandboxFixture::new(fixture.backend, fixture.person);
            if is_there {
                fs::create_dir_all(fresh.project.join(".claude/worktrees")).unwrap();
                fs::write(fresh.project.join(".claude/settings.json"), "mine").unwrap();
                fresh.give(&fresh.project.clone());
            }
            let ended = fresh.run("mkdir -p .claude/worktrees && echo x > .claude/worktrees/file");
            let name = fixture.name();
            // Without the directory around it, it is held like the rest of what is not there.
            let is_held = !is_there && fixture.backend == Backend::Bubblewrap;
            let is_written = fresh.project.join(".claude/worktrees/file").exists();
            assert_eq!(is_written, !is_held, "{name}: {ended:?}");
        }
    });
}

#[test]
fn what_goes_on_running_leaves_no_protected_files() {
    everywhere(|fixture| {
        fs::write(fixture.project.join(".envrc"), "mine").unwrap();
        fixture.give(&fixture.project.clone());
        let fixture = fixture.with(&["--lasting", "yes"]);
        let ended = fixture.run("echo evil > .envrc; echo late > .npmrc; echo ran");
        let name = fixture.name();
        assert_eq!(fs::read_to_string(fixture.project.join(".envrc")).unwrap(), "mine", "{name}");
        if fixture.backend == Backend::Bubblewrap {
            assert!(!fixture.project.join(".npmrc").exists(), "{name}: {ended:?}");
            assert!(!fixture.project.join(".npmrc.refused").exists(), "{name}: {ended:?}");
            assert!(!ended.stderr.contains("taken back: "), "{name}: {ended:?}");
            assert_eq!(ended.stdout, "ran\n", "{name}: {ended:?}");
        } else {
            assert_eq!(ended.stdout, "", "it ran: {ended:?}");
            assert!(ended.stderr.contains("goes on running"), "{ended:?}");
        }
    });
}

/// Directories that did not exist cannot be made, and nothing is left of what keeps them from it.
#[test]
fn what_goes_on_running_cannot_make_protected_directories() {
    everyone(Backend::Bubblewrap, |fixture| {
        // As a killed process leaves it.
        let leftover = fixture.project.join(".zed");
        fs::create_dir(&leftover).unwrap();
        fs::set_permissions(&leftover, fs::Permissions::from_mode(0o1755)).unwrap();
        fixture.give(&fixture.project.clone());
        let before = fixture.free("ls -A").stdout.replace(".zed\n", "");
        let fixture = fixture.with(&["--lasting", "yes"]);
        let ended = fixture.run(
            "for d in .vscode .idea .cargo .git/hooks .zed .claude; do \
             mkdir -p $d; echo evil > $d/tasks.json; mv $d elsewhere; ln -s elsewhere $d; done; \
             git status 2>&1 | head -1; cat $PWD/.*/tasks.json; echo ran",
        );
        let name = fixture.name();
        assert!(ended.stdout.ends_with("ran\n"), "{name}: {ended:?}");
        assert!(!ended.stdout.contains("evil"), "{name}: {ended:?}");
        assert_eq!(fixture.free("ls -A").stdout, before, "{name}: {ended:?}");
    });
}

/// What the user puts there meanwhile stays.
#[test]
fn a_directory_that_the_user_makes_beside_a_running_command_stays() {
    everyone(Backend::Bubblewrap, |fixture| {
        let fixture = fixture.with(&["--lasting", "yes"]);
        let child =
            fixture.start("echo up > up; until [ -e down ]; do read -t 0.01 x <> <(:); done");
        let deadline = std::time::Instant::now() + crate::sandbox_fixture::DEADLINE;
        while !fixture.project.join("up").exists() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        let made =
            fixture.free("mkdir -p .vscode && echo mine > .vscode/settings.json; touch down");
        assert_eq!(made.code, Some(0), "{made:?}");
        let ended = fixture.end(child);
        let name = fixture.name();
        let text = fs::read_to_string(fixture.project.join(".vscode/settings.json"));
        assert_eq!(text.unwrap(), "mine\n", "{name}: {ended:?}");
        let mode = fs::metadata(fixture.project.join(".vscode")).unwrap().permissions().mode();
        assert_eq!(mode & 0o1000, 0, "{name}");
        assert!(!fixture.project.join(".idea").exists(), "{name}: {ended:?}");
    });
}

/// Where nothing holds a name, it is gone again while the command still runs, not only at its end.
#[test]
fn a_protected_name_that_is_made_is_gone_at_once() {
    everyone(Backend::Landlock, |fixture| {
        let ended = fixture.run(
            "for made in 1 2; do echo evil > .npmrc; mkdir .husky; echo evil > t; mv t .bashrc; \
             while [ -e .npmrc ] || [ -e .husky ] || [ -e .bashrc ]; do \
             read -t 0.01 x <> <(:); done; done; echo gone",
        );
        let name = fixture.name();
        assert_eq!(ended.stdout, "gone\n", "{name}: {ended:?}");
        for kept in [".npmrc.refused", ".npmrc.refused-2", ".husky.refused", ".bashrc.refused"] {
            assert!(fixture.project.join(kept).exists(), "{name}: {kept}: {ended:?}");
        }
        assert!(ended.stderr.contains("taken back"), "{name}: {ended:?}");
    });
}

/// Until a file that a program outside put there is held, the command can write to it. That is taken back,
/// or told where the machine was too busy to see it.
#[test]
fn a_protected_file_that_is_replaced_outside_is_put_back_or_told() {
    everyone(Backend::Bubblewrap, |fixture| {
        fs::write(fixture.project.join(".envrc"), "mine").unwrap();
        fixture.give(&fixture.project.clone());
        let child = fixture.start(
            "echo up > up; until [ -e down ]; do echo evil > .envrc; done 2>/dev/null; \
             for n in {1..300}; do echo evil > .envrc; done 2>/dev/null",
        );
        let deadline = std::time::Instant::now() + crate::sandbox_fixture::DEADLINE;
        while !fixture.project.join("up").exists() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        fixture.free("echo new > new; mv new .envrc; touch down");
        let ended = fixture.end(child);
        let name = fixture.name();
        let now = fs::read_to_string(fixture.project.join(".envrc")).unwrap();
        assert!(now == "new\n" || ended.stderr.contains("left alone: "), "{name}: {ended:?}");
        assert!(ended.stderr.contains(".envrc"), "{name}: {ended:?}");
    });
}

/// Hooks and further configuration under names that only the repository's own configuration says.
#[test]
fn what_the_configuration_names_is_held_too() {
    let attacks = [
        ("echo evil > scripts/git/pre-commit", "scripts/git/pre-commit"),
        ("mv scripts/git x; mkdir scripts/git; echo evil > scripts/git/more", "scripts/git/more"),
        ("mv scripts x; mkdir -p scripts/git; echo evil > scripts/git/more", "scripts/git/more"),
        ("echo evil >> deep/settings", "deep/settings"),
        ("mv deep x; mkdir deep; echo evil > deep/settings", "deep/settings"),
        ("echo evil > late", "late"),
    ];
    everywhere(|fixture| {
        for (script, file) in attacks {
            let fresh = SandboxFixture::new(fixture.backend, fixture.person);
            repository(&fresh);
            let made = fresh.free(
                "mkdir -p scripts/git deep; echo mine > scripts/git/pre-commit
                 git config core.hooksPath ./scripts/git; git config -f deep/settings user.name B
                 git config include.path \"$PWD/deep/settings\"
                 git config --add include.path ../late",
            );
            assert_eq!(made.code, Some(0), "{made:?}");
            let ended = fresh.run(&format!("echo x > scripts/other; {script}"));
            let name = fixture.name();
            assert!(!planted(&fresh, file), "{name}: {script}: {ended:?}");
            let there = ["scripts/git/pre-commit", "deep/settings"];
            for one in there {
                let text = fs::read_to_string(fresh.project.join(one)).unwrap_or_default();
                assert_ne!(text, "", "{name}: {script}: {one}: {ended:?}");
            }
        }
    });
}

/// The mount goes with the file that it held, and comes again for the file in its place.
#[test]
fn a_protected_file_that_is_replaced_outside_is_held_again() {
    everyone(Backend::Bubblewrap, |fixture| {
        for lasting in ["no", "yes"] {
            let fresh = SandboxFixture::new(fixture.backend, fixture.person);
            repository(&fresh);
            fs::write(fresh.project.join(".envrc"), "mine").unwrap();
            fresh.give(&fresh.project.clone());
            let fresh = fresh.with(&["--lasting", lasting]);
            // Nothing is written before it is held: what is written earlier is taken back or told.
            let child = fresh.start(
                "wait() { read -t 0.01 x <> <(:); }; echo up > up; until [ -e down ]; do wait; done
                 while [ -w .envrc ] || [ -w .git/config ]; do wait; done; chmod 777 .envrc
                 echo evil > .envrc; echo evil >> .git/config; rm -f .envrc; mv .git/config x; echo held",
            );
            let deadline = std::time::Instant::now() + crate::sandbox_fixture::DEADLINE;
            while !fresh.project.join("up").exists() {
                assert!(std::time::Instant::now() < deadline);
                std::thread::yield_now();
            }
            let outside = "echo new > new; mv new .envrc; git config user.name B; touch down";
            assert_eq!(fresh.free(outside).code, Some(0));
            let ended = fresh.end(child);
            let name = fixture.name();
            assert_eq!(ended.stdout, "held\n", "{name} {lasting}: {ended:?}");
            assert!(!planted(&fresh, ".envrc") && !planted(&fresh, ".git/config"), "{name}");
            assert_eq!(fs::read_to_string(fresh.project.join(".envrc")).unwrap(), "new\n");
            assert!(!ended.stderr.contains("taken back"), "{name} {lasting}: {ended:?}");
            // The user should look at it all the same.
            assert!(ended.stderr.contains("left alone"), "{name} {lasting}: {ended:?}");
        }
    });
}
