//! The shell tool with real processes: every way to end, every way to misbehave.

use crate::world::{World, structured, text};

#[tokio::test]
async fn shows_output_and_exit_code() {
    let world = World::new();
    let cases: &[(&str, bool, &str)] = &[
        ("echo ok", false, "ok"),
        ("echo out; echo err >&2", false, "out\nerr"),
        ("true", false, "[The command wrote nothing]"),
        ("echo no; exit 3", true, "Exit code 3\nno"),
        ("kill -SEGV $$", true, "Killed by SIGSEGV (signal 11)"),
        ("kill -KILL $$", true, "Killed by SIGKILL (signal 9)"),
        ("kill 0", true, "Killed by SIGTERM (signal 15)"),
        (
            "bash -c 'kill -9 $$'; exit $?",
            true,
            "Exit code 137 (as after SIGKILL)",
        ),
        ("printf 'a\\0b\\xff\\n'", false, "a\u{fffd}b\u{fffd}"),
    ];
    for (command, is_error, expected) in cases {
        let outcome = world.bash(command).await;
        assert_eq!(outcome.is_error, *is_error, "{command}: {outcome:?}");
        let shown = text(&outcome);
        assert!(shown.starts_with(expected), "{command}: {shown}");
    }
    assert_eq!(
        structured(&world.bash("echo a; echo b >&2").await)["stderr"],
        "b\n"
    );
}
