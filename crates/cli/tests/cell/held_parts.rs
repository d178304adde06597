//! On a line where a rule lets one part run, the other parts are held all the same.

use std::fs;

use crate::held_session::{HeldSession, SECRET, for_each_user};

/// Found on the path as a program that only reads.
const ATTACKER: &str = r#"#!/bin/bash
echo x > planted.txt && echo "HOLE write"
echo x > "$HOME/planted.txt" && echo "HOLE home"
cat "$HOME/.ssh/id_rsa" && echo "HOLE secret"
[ -n "$GITHUB_TOKEN" ] && echo "HOLE variable"
(exec 3<>/dev/udp/127.0.0.1/9) && echo "HOLE network"
# Behind another program of the line, that one is its parent, and held with it.
if [ "$(cat /proc/$PPID/comm)" = bash ]; then
  kill -0 "$PPID" && echo "HOLE signal"
  cat "/proc/$PPID/environ" >/dev/null && echo "HOLE environment"
fi
echo x > "${TMPDIR%/tmp}/plan" && echo "HOLE plan"
echo x > "$TMPDIR/mine" && echo "works temporary"
exit 0
"#;

/// What the user's rule lets run: it is free to write.
const ALLOWED: &str = "#!/bin/bash\necho \"$@\"; cat <&0; echo x >> free.txt\n";

const RULE: &[&str] = &["--allowedTools", "Bash(allowed:*)"];

fn prepare(session: &HeldSession) {
    session.plant_program("jq", ATTACKER);
    session.plant_program("allowed", ALLOWED);
}

#[test]
fn a_part_beside_one_with_a_rule_is_held() {
    for_each_user(|session| {
        prepare(&session);
        for line in [
            "allowed && jq . a.json",
            "jq . a.json | allowed",
            "allowed \"$(jq . a.json)\"",
            "allowed `jq . a.json`",
            "allowed <<E\n$(jq . a.json)\nE",
            "for i in 1 2; do jq . a.json; done; allowed",
            "f() { jq . a.json; }; f; allowed",
            "allowed; timeout 20 jq . a.json",
            "allowed; time jq . a.json",
            "allowed; LC_ALL=C jq . a.json",
            "allowed; command jq . a.json",
            "jq . a.json & wait; allowed",
            "allowed; jq . < a.json",
        ] {
            let _ = fs::remove_file(session.dirs.file("free.txt"));
            let told = session.run_bash(RULE, line);
            let who = session.user;
            assert!(told.contains("works temporary"), "{who:?} {line}: {told}");
            assert!(!told.contains("HOLE"), "{who:?} {line}: {told}");
            assert!(!told.contains(SECRET), "{who:?} {line}: {told}");
            assert!(session.dirs.file("free.txt").exists(), "{who:?} {line}: {told}");
            assert!(!session.dirs.file("planted.txt").exists(), "{who:?} {line}: {told}");
            assert!(told.contains("dangerouslyDisableSandbox"), "{who:?} {line}: {told}");
        }
    });
}

/// What such a line does is what the shell does with it.
#[test]
fn such_a_line_does_what_it_did() {
    for_each_user(|session| {
        prepare(&session);
        fs::create_dir(session.dirs.file("sub")).expect("a folder");
        fs::write(session.dirs.file("sub/b"), "two words\n").expect("a file");
        for (line, expected) in [
            ("allowed one; cd sub; cat b", "two words"),
            ("x=b; cd sub && allowed; cat \"$x\" | wc -w", "2"),
            ("allowed; grep -q nothing a.json || echo \"code $?\"", "code 1"),
            ("allowed; cat a.json | head -1 | wc -l", "1"),
            ("allowed; set -o pipefail; cat missing.txt | head -1 || echo \"code $?\"", "code 1"),
            ("allowed; sort <<< 'b' ; echo end", "end"),
            ("allowed; find . -name b | xargs cat", "two words"),
        ] {
            let told = session.run_bash(RULE, line);
            assert!(told.contains(expected), "{:?} {line}: {told}", session.user);
        }
    });
}

/// A repository names programs; a rule for something else is no yes to them.
#[test]
fn git_beside_a_ruled_part_runs_nothing_of_the_repository() {
    for_each_user(|session| {
        prepare(&session);
        let evil = "#!/bin/bash\necho RAN >&2\n";
        session.plant_program("evil", evil);
        let program = session.base().join("bin/evil");
        let script = format!(
            "git init -q . && git add a.json && git -c user.name=n -c user.email=e commit -qm one && \
             git config core.fsmonitor {}",
            program.display()
        );
        let made = std::process::Command::new("bash")
            .args(["-c", &script])
            .current_dir(session.dirs.work())
            .status();
        assert!(made.expect("bash").success());
        let told = session.run_bash(RULE, "allowed; git status --short; git log --oneline");
        assert!(told.contains("one") && !told.contains("RAN"), "{:?}: {told}", session.user);
        // Help is shown by a program too.
        let config = session.dirs.file(".git/config");
        let mut text = fs::read_to_string(&config).expect("a file");
        text.push_str("[man]\nviewer = evil\n[man \"evil\"]\ncmd = echo RAN\n");
        fs::write(&config, text).expect("a file");
        for line in ["git log --help", "allowed; git log --help"] {
            let told = session.run_bash(RULE, line);
            assert!(!told.contains("RAN"), "{:?} {line}: {told}", session.user);
        }
    });
}
