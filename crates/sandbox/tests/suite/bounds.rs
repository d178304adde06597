//! How much a command may use.

use crate::host::{is_gone, observer};
use crate::sandbox_fixture::{SandboxFixture, everywhere};

/// Counts how many children it can have at one time.
const BOMB: &str = "perl -e 'my $n = 0; while ($n < 600 && defined(my $p = fork)) {
    unless ($p) { sleep 1000; exit } push @p, $p; $n++ } kill 9, @p; print $n'";

#[test]
fn the_number_of_processes_is_bounded() {
    everywhere(|fixture| {
        let free = fixture.free(BOMB);
        assert_eq!(free.stdout, "600", "{free:?}");
        let fixture = fixture.with(&["--processes", "100", "--report", "yes"]);
        // Limits are set by our own entry, or by the shell where there is one.
        for program in [&["/bin/bash", "-c", BOMB][..], &["bash", "-c", BOMB]] {
            is_bounded(&fixture, program);
        }
    });
}

fn is_bounded(fixture: &SandboxFixture, program: &[&str]) {
    let held = fixture.end(fixture.sandboxed(program).spawn().unwrap());
    let count: u32 = held.stdout.parse().unwrap_or(u32::MAX);
    let is_said = held.stderr.contains("Not covered: the number of processes");
    // Without namespaces of its own, what others of this person end meanwhile is free again.
    assert!(is_said || count < 400, "{}: {held:?}", fixture.name());
    assert!(
        !is_said || std::env::var_os("CI").is_none(),
        "{}: CI must be able to bound root: {held:?}",
        fixture.name()
    );
}

#[test]
fn a_bomb_is_gone_with_its_call() {
    everywhere(|fixture| {
        let alive = observer(&fixture);
        let fixture = fixture.with(&["--processes", "40"]);
        // One that would stop by itself, at a few hundred, if nobody stopped it. The shell starts
        // nothing more: there may be no room left for it.
        let held = fixture.run(
            "exec 9>alive; perl -e 'fork for 1..9; sleep 1000' >/dev/null 2>&1 &
             for ((i = 0; i < 1000; i++)); do :; done; echo over",
        );
        assert_eq!(held.stdout.trim(), "over", "{}: {held:?}", fixture.name());
        assert_eq!(held.code, Some(0), "{}: {held:?}", fixture.name());
        assert!(is_gone(alive), "{}: {held:?}", fixture.name());
    });
}

#[test]
fn memory_is_bounded() {
    everywhere(|fixture| {
        let script = "perl -e 'my $x = \"a\" x (100 * 1024 * 1024); print length $x'";
        let free = fixture.free(script);
        assert_eq!(free.stdout, "104857600", "{free:?}");
        let fixture = fixture.with(&["--memory", "60000000"]);
        let held = fixture.run(script);
        assert_ne!(held.code, Some(0), "{}: {held:?}", fixture.name());
        assert_eq!(held.stdout, "", "{}: {held:?}", fixture.name());
    });
}

#[test]
fn a_command_that_never_ends_is_ended_with_all_it_started() {
    everywhere(|fixture| {
        let fixture: SandboxFixture = fixture.with(&["--seconds", "0"]);
        // Killed at whatever moment of its start this happens to be.
        for _ in 0..10 {
            let held = fixture.run("trap '' TERM; while :; do :; done");
            assert_eq!(held.code, Some(124), "{}: {held:?}", fixture.name());
        }
    });
}
