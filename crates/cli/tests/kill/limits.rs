//! Few descriptors: the run ends with its answer, or with a line that says what is missing; it neither
//! hangs nor breaks down, and the session goes on when there are more.

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
