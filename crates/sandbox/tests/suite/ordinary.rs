//! Ordinary work goes on as if there were no sandbox.

use std::fs;

use crate::sandbox_fixture::{Backend, everywhere};

#[test]
fn ordinary_commands_work() {
    everywhere(|fixture| {
        for (script, expected) in [
            ("pwd", format!("{}\n", fixture.project.display())),
            ("echo a | cat | tr a b", "b\n".into()),
            ("diff <(echo a) <(echo a) && echo same", "same\n".into()),
            ("cat <<< here", "here\n".into()),
            ("f=$(mktemp) && echo t > $f && cat $f && rm $f", "t\n".into()),
            ("mkdir -p d/e && echo x > d/e/f && mv d/e/f d/g && cat d/g && rm -r d", "x\n".into()),
            ("(echo x > /dev/null; echo y > /dev/stdout) | cat", "y\n".into()),
            ("(exit 7); echo $?", "7\n".into()),
            ("bash -c 'kill -SEGV $$'; echo $?", "139\n".into()),
            ("sleep 0 & wait; echo done", "done\n".into()),
            ("head -c 3 /dev/zero | wc -c", "3\n".into()),
            ("ls / > /dev/null && ls /etc/passwd", "/etc/passwd\n".into()),
            ("ln -s a b && readlink b && rm b", "a\n".into()),
            ("cat; echo eof", "eof\n".into()),
            ("perl -e 'print \"ok\\n\"'", "ok\n".into()),
        ] {
            let ended = fixture.run(script);
            assert_eq!(ended.stdout, expected, "{}: {script}: {ended:?}", fixture.name());
        }
    });
}

#[test]
fn exit_codes_come_back() {
    everywhere(|fixture| {
        for (script, code) in [("exit 0", 0), ("exit 3", 3), ("kill -KILL $$", 137)] {
            let ended = fixture.run(script);
            assert_eq!(ended.code, Some(code), "{}: {script}: {ended:?}", fixture.name());
        }
        let mut command = fixture.sandboxed(&["/nonexistent/program"]);
        let ended = fixture.end(command.spawn().unwrap());
        assert_ne!(ended.code, Some(0));
        assert!(ended.stderr.contains("nonexistent"), "{}: {ended:?}", fixture.name());
    });
}

#[test]
fn modes_change_inside_the_roots_where_there_is_leave() {
    everywhere(|fixture| {
        let script = "echo 'echo ran' > s && chmod +x s && ./s";
        let held = fixture.run(script);
        let is_free = fixture.backend == Backend::Bubblewrap;
        assert_eq!(held.stdout == "ran\n", is_free, "{}: {held:?}", fixture.name());
        let fixture = fixture.with(&["--metadata", "yes"]);
        let held = fixture.run(script);
        assert_eq!(held.stdout, "ran\n", "{}: {held:?}", fixture.name());
    });
}

#[test]
fn temporary_files_are_the_commands_own_and_gone_afterwards() {
    everywhere(|fixture| {
        let ended = fixture.run("f=$(mktemp -d) && echo x > $f/y && ls $f && echo $f");
        let mut lines = ended.stdout.lines();
        assert_eq!(lines.next(), Some("y"), "{}: {ended:?}", fixture.name());
        assert!(fs::metadata(lines.next().unwrap()).is_err(), "{}: {ended:?}", fixture.name());
    });
}
