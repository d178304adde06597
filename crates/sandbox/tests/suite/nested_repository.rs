//! Repositories below a root: work in them goes on, and nothing in them runs afterwards.

use std::fs;

use crate::sandbox_fixture::{Backend, RunAs, SandboxFixture, everyone, everywhere, people};

/// A repository with two others in it, one of them with its directory elsewhere, and a second working tree.
const MAKE: &str = "set -e; export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=A \
     GIT_COMMITTER_EMAIL=a; git init -q .; echo one > a; git add a; git commit -q -m one
     mkdir -p sub deep/er/sub; cp -r .git sub; cp -r .git deep/er/git; cp a sub; cp a deep/er/sub
     echo 'gitdir: ../git' > deep/er/sub/.git; git worktree add -q tree
     printf '[alias]\nown = \"!true\"\n' >> sub/.git/config";

/// What a program outside does there later.
fn visit(fixture: &SandboxFixture, directory: &str) {
    fixture.free(&format!(
        "cd {directory}; export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=A \
         GIT_COMMITTER_EMAIL=a; git own; git commit -qm x --allow-empty"
    ));
}

/// Each has git run something, in this directory, that leaves a mark. `evil` puts it in a configuration,
/// `hook` in a directory.
const ATTACKS: &[(&str, &str)] = &[
    ("sub", "evil sub/.git/config"),
    ("deep/er/sub", "evil deep/er/git/config"),
    ("sub", "printf '[core] fsmonitor = %s\n' \"$EVIL\" >> sub/.git/config"),
    ("sub", "printf '[include]\npath = ../../more\n' >> sub/.git/config; evil more"),
    ("sub", "printf '[alias]\nown = \"!%s\"\n' \"$EVIL\" >> sub/.git/config"),
    ("sub", "hook sub/.git/hooks"),
    ("sub", "mv sub/.git/hooks away; mkdir h; hook h; ln -s ../../h sub/.git/hooks"),
    ("sub", "mv sub away; mkdir sub; cp -r away/. sub; evil sub/.git/config"),
    ("new", "git init -q new; evil new/.git/config"),
    ("new", "git init -q new; hook new/.git/hooks"),
    (
        "new/a/b",
        "git init -q new/a/b; mv new/a/b/.git x; evil x/config; ln -s ../../../x new/a/b/.git",
    ),
    ("new", "git init -q new; mv new/.git x; evil x/config; echo 'gitdir: ../x' > new/.git"),
    ("sub", "cp -r sub/.git x; evil x/config; rm -rf sub/.git; mv x sub/.git"),
    (
        "sub",
        "printf '[extensions]\nworktreeConfig = true\n' >> sub/.git/config; evil sub/.git/config.worktree",
    ),
    ("tree", "cp -r .git x; evil x/config; echo $PWD/x > .git/worktrees/tree/commondir"),
    ("sub", "cp -r sub/.git x; evil x/config; echo ../../x > sub/.git/commondir"),
    (
        "new",
        "cp -r sub/.git new; evil new/config; \
     printf '[core]\nbare = false\nworktree = ../sub\n' >> new/config",
    ),
];

fn prepare(backend: Backend, person: RunAs, script: &str) -> (SandboxFixture, String) {
    let fixture = SandboxFixture::new(backend, person);
    let made = fixture.free(MAKE);
    assert_eq!(made.code, Some(0), "{made:?}");
    let mark = fixture.outside.join("mark").display().to_string();
    let script = format!(
        "EVIL='touch {mark} #'; evil() {{ printf '[core]\nfsmonitor = \"%s\"\n' \"$EVIL\" >> $1; }}
         hook() {{ printf '#!/bin/sh\ntouch {mark}\n' > $1/t; chmod 755 $1/t; mv $1/t $1/pre-commit; }}
         {script}"
    );
    (fixture, script)
}

fn has_run(fixture: &SandboxFixture) -> bool {
    fixture.outside.join("mark").exists()
}

#[test]
fn nothing_planted_in_a_repository_below_runs() {
    for (place, attack) in ATTACKS {
        let (free, script) = prepare(Backend::Bubblewrap, RunAs::Oneself, attack);
        free.free(&script);
        visit(&free, place);
        assert!(has_run(&free), "free, it did nothing: {attack}");
        // Every other user and backend is in the tests below.
        let other = people().pop().unwrap();
        for (backend, person) in [(Backend::Bubblewrap, RunAs::Oneself), (Backend::Landlock, other)]
        {
            let (held, script) = prepare(backend, person, attack);
            // A hook needs a mode.
            let held = held.with(&["--metadata", "yes"]);
            let ended = held.run(&script);
            visit(&held, place);
            let name = held.name();
            assert!(!has_run(&held), "{name}: {attack}: {ended:?}");
            assert!(ended.stderr.contains("taken back"), "{name}: {attack}: {ended:?}");
        }
    }
}

/// The same in two commands, of which the first only prepares what no repository is.
#[test]
fn what_an_earlier_command_prepared_does_not_run() {
    everywhere(|fixture| {
        let (held, script) = prepare(
            fixture.backend,
            fixture.person,
            "mkdir x; evil x/config; mkdir x/hooks; hook x/hooks",
        );
        held.run(&script);
        let ended = held.run("rm -rf sub/.git/config sub/.git/hooks; mv x/* sub/.git/");
        visit(&held, "sub");
        let name = fixture.name();
        assert!(!has_run(&held), "{name}: {ended:?}");
        assert!(ended.stderr.contains("taken back"), "{name}: {ended:?}");
    });
}

/// What was there stays, also what the user had set, and what was changed is there again.
#[test]
fn a_repository_below_is_as_it_was() {
    everywhere(|fixture| {
        let (held, script) = prepare(
            fixture.backend,
            fixture.person,
            "evil sub/.git/config; echo evil > deep/er/git/config",
        );
        let read = |name: &str| fs::read_to_string(held.project.join(name)).unwrap();
        let before = [read("sub/.git/config"), read("deep/er/git/config")];
        let ended = held.run(&script);
        let after = [read("sub/.git/config"), read("deep/er/git/config")];
        assert_eq!(after, before, "{}: {ended:?}", fixture.name());
        assert!(read("sub/.git/config.refused").contains("fsmonitor"), "{}", fixture.name());
    });
}

#[test]
fn work_in_repositories_below_goes_on() {
    everywhere(|fixture| {
        let (held, _) = prepare(fixture.backend, fixture.person, "");
        // Git changes the modes of what it makes.
        let held = held.with(&["--metadata", "yes"]);
        let ended = held.run(
            "set -e; export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=A \
             GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=a@example.org
             cd sub; echo two > a; git commit -qam two; git remote add o https://example.org/a.git; \
             git branch -q more; git config user.name B; cd ..
             git clone -q sub copy; git -C copy checkout -q -b y; git -C copy branch -u origin/HEAD
             git init -q other; git -C other config core.autocrlf input; mkdir plain
             git -C sub worktree add -q ../more more; cd tree; echo t > t; git add t; cd ..
             rm -rf copy deep; mv other renamed; echo done",
        );
        let name = fixture.name();
        assert!(ended.stdout.ends_with("done\n"), "{name}: {ended:?}");
        assert!(!ended.stderr.contains("taken back"), "{name}: {ended:?}");
        let config = fs::read_to_string(held.project.join("sub/.git/config")).unwrap();
        assert!(config.contains("example.org") && config.contains("!true"), "{name}: {config}");
    });
}

/// A server that runs for hours is looked at when it ends.
#[test]
fn what_goes_on_running_plants_nothing_below() {
    everyone(Backend::Bubblewrap, |fixture| {
        let (held, script) = prepare(fixture.backend, fixture.person, "evil sub/.git/config");
        let held = held.with(&["--lasting", "yes"]);
        let ended = held.run(&script);
        visit(&held, "sub");
        assert!(!has_run(&held), "{}: {ended:?}", fixture.name());
        assert!(ended.stderr.contains("taken back"), "{}: {ended:?}", fixture.name());
    });
}
