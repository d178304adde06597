//! Few descriptors, few threads, a small stack: the run ends with its answer, or with a line that says
//! what is missing; it neither hangs nor breaks down, and the session goes on when there are more.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use super::SESSION;
use crate::fixture::{TestDirs, play, run};

#[test]
fn few_descriptors_end_in_an_answer_or_a_line() {
    let mut answers = 0;
    for limit in [6, 8, 10, 11, 12, 13, 14, 15, 16, 18, 20, 24, 32, 64] {
        let dirs = TestDirs::new();
        let script = Script::new()
            .answer(ScriptedAnswer::empty().tool("Bash", json!({"command": "echo here"})))
            .answer(ScriptedAnswer::text("ok").repeat(0));
        let server = play(script);
        let flags = ["-p", "go", "--session-id", SESSION, "--dangerously-skip-permissions"];
        let plain = dirs.asking(&server.url(), &flags);
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--nofile={limit}")).arg("--").arg(plain.get_program());
        limited.args(plain.get_args()).env_clear().current_dir(dirs.work());
        limited.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        limited.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let finished = run(&mut limited);
        assert!(!finished.stderr.contains("panicked"), "{limit}: {finished:?}");
        match finished.code {
            Some(0) => {
                assert_eq!(finished.stdout, "ok\n", "{limit}: {finished:?}");
                answers += 1;
            }
            Some(1 | 2 | 127) => assert!(!finished.stderr.is_empty(), "{limit}: {finished:?}"),
            _ => panic!("{limit}: {finished:?}"),
        }
        let known = run(&mut dirs.windlass(&["sessions", "list", "--json"]));
        if known.stdout.contains(SESSION) {
            let on = ["-r", SESSION, "-p", "on", "--dangerously-skip-permissions"];
            let on = run(&mut dirs.asking(&server.url(), &on));
            assert_eq!(on.code, Some(0), "{limit}: {on:?}");
        }
    }
    assert!(answers >= 1, "not one answer");
}

/// The command under a limit of the shell.
fn limited(plain: &Command, limit: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")]).arg(plain.get_program());
    command.args(plain.get_args()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(plain.get_current_dir().expect("a folder"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Root has no such limit, so it is another user where it can be: one that has no process yet. Elsewhere
/// nobody knows how many processes the user has, but one is too few in any case.
#[test]
fn few_threads_end_in_an_answer_or_a_line() {
    let is_root = rustix::process::geteuid().is_root();
    let limits: &[u32] = if is_root { &[1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 64] } else { &[1] };
    let mut answers = 0;
    for limit in limits {
        let dirs = TestDirs::new();
        let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
        let mut command =
            limited(&dirs.asking(&server.url(), &["-p", "go"]), &format!("ulimit -u {limit}"));
        if is_root {
            let number = 1_700_000 + std::process::id() % 100_000;
            let base = dirs.work().parent().expect("a folder").to_owned();
            for folder in [base, dirs.work(), dirs.home(), dirs.work().join("../tmp")] {
                chown(folder, Some(number), Some(number)).expect("an owner");
            }
            command.uid(number).gid(number);
        }
        let finished = run(&mut command);
        assert!(!finished.stderr.contains("panicked"), "{limit}: {finished:?}");
        match finished.code {
            Some(0) => {
                assert_eq!(finished.stdout, "ok\n", "{limit}: {finished:?}");
                answers += 1;
            }
            Some(1) => assert!(finished.error_line(1).contains("ulimit -u"), "{finished:?}"),
            _ => panic!("{limit}: {finished:?}"),
        }
    }
    assert!(answers >= 1 || !is_root, "not one answer");
}

#[test]
fn a_small_stack_is_no_matter() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    for kilobytes in [128, 512] {
        let plain = dirs.asking(&server.url(), &["-p", "go"]);
        let finished = run(&mut limited(&plain, &format!("ulimit -s {kilobytes}")));
        assert_eq!(finished.answer(), "ok\n", "{kilobytes}");
    }
}
