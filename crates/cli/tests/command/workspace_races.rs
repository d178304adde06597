//! Faults of files that change while a session looks at them (W in docs/faults.md), on the real binary.

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use windlass_rehearsal::{Script, ScriptedAnswer};

use crate::driven::{LINES, StreamJsonProcess};
use crate::fixture::{FinishedCommand, RunningCommand, TestDirs, play, run, wait_for_file};
use crate::recorded_session::{SESSION, find_call, record_session, rewind};
use crate::work_files::{bash, started_by, text, write};

const LOOK: [&str; 5] = ["--to", "1", "--files", "--dry-run", "--json"];

/// Does something again and again, until the work is done.
fn beside<T>(mut act: impl FnMut(u64) + Send, work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                act(round);
            }
        });
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

/// What a rewind would do according to the cache of looks is what it would do without it.
fn check_cache(dirs: &TestDirs) {
    let cached = rewind(dirs, &LOOK);
    let stores = dirs.work().with_file_name("state").join("windlass/workspaces");
    let store = stores.read_dir().expect("stores").flatten().next().expect("a store").path();
    std::fs::remove_file(store.join("look-cache")).expect("a cache");
    assert_eq!(cached, rewind(dirs, &LOOK));
}

/// A session of one command, whose messages are printed too.
fn run_verbosely(dirs: &TestDirs, command: &str) -> FinishedCommand {
    let server =
        play(Script::new().answer(bash(command)).answer(ScriptedAnswer::text("Done.").repeat(0)));
    let mut asking = dirs.asking(&server.url(), &["--dangerously-skip-permissions", "--verbose"]);
    let ended = run(asking.args(["-p", "go"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

#[test]
fn w1_a_file_that_changes_all_the_time_holds_nothing_up() {
    const BYTES: usize = 4 << 20;
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let busy = dirs.file("busy");
    std::fs::write(&busy, vec![b'a'; BYTES]).expect("a file");
    let file = std::fs::File::options().write(true).open(&busy).expect("a file");
    let fill = |round: u64| {
        let letter = b'a' + u8::try_from(round % 26).expect("a letter");
        // In place and in pieces, so that a reader sees a mixture.
        for place in (0..BYTES).step_by(64 << 10) {
            file.write_all_at(&[letter; 64 << 10], place as u64).expect("written");
        }
    };
    let _server = beside(fill, || record_session(&dirs, &[&["echo two > a", "echo three > a"]]));
    check_cache(&dirs);
    let last = std::fs::read(&busy).expect("a file");
    rewind(&dirs, &["--to", "1", "--files", "--overwrite"]);
    assert_eq!(text(&dirs.file("a")), "one\n");
    let now = std::fs::read(&busy).expect("a file");
    assert!(now.len() == BYTES && now.iter().all(u8::is_ascii_lowercase), "no bytes of others");
    if now != last {
        rewind(&dirs, &["--undo"]);
        assert_eq!(std::fs::read(&busy).expect("a file"), last, "and it comes back");
    }
}

#[test]
fn w3_with_a_writer_beside_them_the_last_look_of_many_processes_is_right() {
    let dirs = TestDirs::new();
    for number in 0..20 {
        write(&dirs.file(&format!("f{number}")), "start");
    }
    let _server = record_session(&dirs, &[&["echo one > a"]]);
    let save = |round: u64| {
        let name = format!("f{}", round * 7 % 20);
        std::fs::write(dirs.file(&name), format!("{:05}", round % 100_000)).expect("saved");
    };
    for _ in 0..6 {
        beside(save, || {
            for _ in 0..5 {
                rewind(&dirs, &LOOK);
            }
        });
        check_cache(&dirs);
    }
}

/// A page of a shared mapping, which is written without a system call.
struct MappedPage(*mut u8);

impl MappedPage {
    #[expect(unsafe_code, reason = "a shared mapping is what this test is about")]
    fn of(path: &Path) -> Self {
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let file = std::fs::File::options().read(true).write(true).open(path).expect("a file");
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping of a whole page of a file that nothing else maps.
        let page =
            unsafe { mmap(std::ptr::null_mut(), 4096, protection, MapFlags::SHARED, &file, 0) };
        Self(page.expect("a mapping").cast())
    }

    #[expect(unsafe_code, reason = "a shared mapping is what this test is about")]
    fn write(&self, byte: u8) {
        // SAFETY: the first byte of a page that is mapped for writing.
        unsafe { self.0.write_volatile(byte) };
    }
}

#[test]
fn w4_a_mapping_that_a_program_goes_on_writing_is_seen_after_each_call() {
    const TMPFS: i64 = 0x0102_1994;
    let dirs = TestDirs::new();
    // There a write to a mapping never gives the file a time.
    if rustix::fs::statfs(dirs.work()).expect("a file system").f_type == TMPFS {
        return;
    }
    write(&dirs.file("mapped"), &"-".repeat(4096));
    let first = |path: &Path| std::fs::read(path).expect("a file")[0];
    let page = MappedPage::of(&dirs.file("mapped"));
    let wait = |number: u32| {
        format!("echo r > ready{number}; until [ -e go{number} ]; do sleep 0.02; done")
    };
    let script = Script::new()
        .answer(bash(&wait(1)))
        .answer(bash(&wait(2)))
        .answer(ScriptedAnswer::text("Done.").repeat(0));
    let server = play(script);
    let flags = ["--dangerously-skip-permissions", "--session-id", SESSION, "-p", "go"];
    let session = RunningCommand::start(&mut dirs.asking(&server.url(), &flags));
    for number in [1_u8, 2] {
        wait_for_file(&dirs.file(&format!("ready{number}")));
        page.write(b'0' + number);
        write(&dirs.file(&format!("go{number}")), "");
    }
    assert_eq!(session.finish().code, Some(0));
    assert_eq!(first(&dirs.file("mapped")), b'2');
    let second = find_call(&dirs, &wait(2));
    rewind(&dirs, &["--to", &second, "--files"]);
    assert_eq!(first(&dirs.file("mapped")), b'1', "as it was before the second call");
    rewind(&dirs, &["--to", "1", "--files"]);
    assert_eq!(first(&dirs.file("mapped")), b'-');
}

#[test]
fn w11_where_nothing_can_be_kept_a_command_runs_and_that_is_told() {
    let is_allowed = |command: &mut Command| command.output().is_ok_and(|it| it.status.success());
    if !is_allowed(Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"])) {
        return;
    }
    // In a namespace of its own the store of snapshots is on a disk that is full, or cannot be written.
    for (options, command) in
        [("size=2m", "echo two > a; head -c 3000000 /dev/urandom > noise"), ("ro", "echo two > a")]
    {
        let dirs = TestDirs::new();
        write(&dirs.file("a"), "one\n");
        let stores = dirs.work().with_file_name("state").join("windlass/workspaces");
        std::fs::create_dir_all(&stores).expect("a folder");
        let script = Script::new().answer(bash(command)).answer(ScriptedAnswer::text("Done."));
        let server = play(script.answer(ScriptedAnswer::text("Done.").repeat(0)));
        let flags = ["--dangerously-skip-permissions", "--verbose", "-p", "go"];
        let mount = format!(
            "exec unshare --user --map-root-user --mount sh -c 'mount -t tmpfs -o {options} small {} \
             && exec \"$@\"' sh \"$@\"",
            stores.display()
        );
        let ended = run(&mut started_by(&mount, &dirs.asking(&server.url(), &flags)));
        assert_eq!(ended.code, Some(0), "{options}: {ended:?}");
        assert_eq!(text(&dirs.file("a")), "two\n", "{options}: the command ran");
        let told = ["not covered by rewind: noise", "changes made by commands cannot be undone"];
        assert!(told.iter().any(|words| ended.stderr.contains(words)), "{options}: {ended:?}");
    }
}

/// With a disk for snapshots that is full from the beginning; nothing where namespaces cannot be had.
fn on_a_full_disk(dirs: &TestDirs, asking: &Command) -> Option<Command> {
    let mut check = Command::new("unshare");
    let checked = check.args(["--user", "--map-root-user", "--mount", "true"]).output();
    let is_possible = checked.is_ok_and(|it| it.status.success());
    let stores = dirs.work().with_file_name("state").join("windlass/workspaces");
    std::fs::create_dir_all(&stores).expect("a folder");
    let mount = format!(
        "exec unshare --user --map-root-user --mount sh -c 'mount -t tmpfs -o size=64k small {0} \
         && head -c 65536 /dev/zero > {0}/filler; exec \"$@\"' sh \"$@\"",
        stores.display()
    );
    is_possible.then(|| started_by(&mount, asking))
}

#[test]
fn w11_a_command_that_cannot_be_taken_back_is_asked_about_once() {
    for mode in ["default", "acceptEdits"] {
        let dirs = TestDirs::new();
        let answers = ["touch one", "touch two", "touch three"].map(bash);
        let script = answers.into_iter().fold(Script::new(), Script::answer);
        let server = play(script.answer(ScriptedAnswer::text("Done.").repeat(0)));
        let flags = ["--permission-mode", mode, "--permission-prompt-tool", "stdio"];
        let allowed = ["--allowedTools", "Bash(touch:*)"];
        let asking = dirs.asking(&server.url(), &LINES);
        let Some(mut asking) = on_a_full_disk(&dirs, &asking) else { return };
        let mut driven = StreamJsonProcess::spawn(asking.args(flags).args(allowed));
        driven.prompt("go");
        let asked = driven.asked("can_use_tool");
        let why = asked["request"]["decision_reason"].to_string();
        assert!(why.contains("cannot be taken back"), "{asked}");
        let exists = |name: &str| dirs.file(name).exists();
        assert!(!exists("one") && !exists("two"), "nothing ran before the answer");
        driven.answer(&asked, &json!({"behavior": "allow"}));
        driven.result();
        let ended = driven.end();
        let questions = ended.frames.iter().filter(|frame| frame["type"] == "control_request");
        assert_eq!(questions.count(), 1, "a yes holds for the session: {ended:?}");
        assert!(exists("two") && exists("three"), "{ended:?}");
    }
}

#[test]
fn w11_where_nobody_can_be_asked_a_command_runs_and_that_is_told() {
    let dirs = TestDirs::new();
    let script = Script::new().answer(bash("touch one"));
    let server = play(script.answer(ScriptedAnswer::text("Done.").repeat(0)));
    let flags = ["--allowedTools", "Bash(touch:*)", "--verbose", "-p", "go"];
    let asking = dirs.asking(&server.url(), &flags);
    let Some(mut asking) = on_a_full_disk(&dirs, &asking) else { return };
    let ended = run(&mut asking);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("changes made by commands cannot be undone"), "{ended:?}");
    assert!(dirs.file("one").exists(), "{ended:?}");
}

#[test]
fn w13_files_that_cannot_be_read_or_vanish_are_named_and_the_rest_goes_back() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    write(&dirs.file("closed"), "closed\n");
    write(&dirs.file("folder/inside"), "inside\n");
    let set_mode = |name: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(dirs.file(name), mode).expect("a mode");
    };
    set_mode("closed", 0);
    set_mode("folder", 0);
    // Root may read everything.
    let is_root = std::fs::File::open(dirs.file("closed")).is_ok();
    let churn = |round: u64| {
        let folder = |number: u64| dirs.file(&format!("churn{}", number % 7));
        let _ = std::fs::create_dir(folder(round));
        let _ = std::fs::write(folder(round).join("x"), "x");
        let _ = std::fs::remove_dir_all(folder(round + 3));
    };
    let ended = beside(churn, || run_verbosely(&dirs, "echo two > a"));
    for name in ["closed", "folder"] {
        let is_named = ended.stderr.contains(&format!("{name} (cannot be read)"));
        assert_eq!(is_named, !is_root, "{name}: {ended:?}");
    }
    run(&mut dirs.windlass(&["rewind", "--to", "1", "--files", "--skip-changed"])).answer();
    assert_eq!(text(&dirs.file("a")), "one\n");
    set_mode("folder", 0o755);
    set_mode("closed", 0o644);
    assert_eq!(text(&dirs.file("folder/inside")) + &text(&dirs.file("closed")), "inside\nclosed\n");
}

#[test]
fn w14_sockets_fifos_and_devices_are_named_once_for_what_they_are() {
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let made = Command::new("mkfifo").arg(dirs.file("pipe")).status().expect("mkfifo");
    assert!(made.success());
    let _socket = UnixListener::bind(dirs.file("talk")).expect("a socket");
    let first = run_verbosely(&dirs, "echo two > a");
    for words in ["pipe (a fifo)", "talk (a socket)"] {
        assert!(first.stderr.contains(words), "{words}: {first:?}");
    }
    let second = run_verbosely(&dirs, "echo three > a");
    assert!(!second.stderr.contains("not covered by rewind"), "told once: {second:?}");
}

#[test]
fn w27_the_oldest_session_that_is_over_gives_way_and_a_running_one_never_does() {
    const LIMIT: &str = r#"{"snapshotMegabytesMax": 1}"#;
    let dirs = TestDirs::new();
    write(&dirs.file("a"), "one\n");
    let flags = |id| {
        ["--dangerously-skip-permissions", "--settings", LIMIT, "--session-id", id, "-p", "go"]
    };
    let noise = |bytes: u32, then: &str| {
        let make = format!("head -c {bytes} /dev/urandom > n{bytes}");
        let script = Script::new().answer(bash(&make)).answer(bash(then));
        play(script.answer(ScriptedAnswer::text("Done.").repeat(0)))
    };
    let ids = ["1a0e9d8c", "2a0e9d8c", "3a0e9d8c", "4a0e9d8c"];
    let ids = ids.map(|id| format!("{id}-7b6a-4958-8473-625140312233"));
    let [old, running, beside, later] = ids.each_ref().map(String::as_str);
    run(&mut dirs.asking(&noise(700_000, "rm n700000").url(), &flags(old))).answer();
    let waits = noise(150_000, "echo r > ready; until [ -e go ]; do sleep 0.02; done");
    let runs = RunningCommand::start(&mut dirs.asking(&waits.url(), &flags(running)));
    wait_for_file(&dirs.file("ready"));
    let meanwhile = noise(1_000, "true");
    run(&mut dirs.asking(&meanwhile.url(), &flags(beside))).answer();
    write(&dirs.file("go"), "");
    assert_eq!(runs.finish().code, Some(0));
    run(&mut dirs.asking(&noise(2_000, "true").url(), &flags(later))).answer();

    let preview =
        |id| run(&mut dirs.windlass(&["rewind", id, "--to", "1", "--dry-run"])).answer().to_owned();
    assert!(preview(old).contains("were deleted"), "the oldest gives way");
    for id in [running, beside, later] {
        assert!(!preview(id).contains("were deleted"), "{id}");
    }
    run(&mut dirs.windlass(&["rewind", running, "--to", "1", "--files", "--skip-changed"]))
        .answer();
    assert!(!dirs.file("n150000").exists(), "what it needs is kept");
}
