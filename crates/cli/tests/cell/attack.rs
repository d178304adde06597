//! What a program tries that a command judged to only read has started.

use std::fs;
use std::os::unix::net::UnixListener;

use serde_json::json;

use crate::held_session::{HeldSession, SECRET, for_each_user, last_tool_result};

/// Tells of each attempt whether it worked. Only what is on every machine is used; sockets that bash
/// cannot open are tried with Python where there is one.
const ATTACKS: &str = r#"#!/bin/bash
try() { local name=$1; shift; if "$@" >/dev/null 2>&1; then echo "HOLE $name"; else echo "held $name"; fi; }
write() { echo x > "$1"; }
engine=$(cut -d' ' -f4 /proc/$PPID/stat)
try write-work write "$PWD/planted"
try append-work bash -c 'echo x >> a.json'
try truncate-work truncate -s 0 a.json
try delete-work rm -f a.json
try rename-work mv a.json b.json
try hardlink-out ln a.json "$TMPDIR/linked"
try write-home write "$HOME/planted"
try write-tmp write BASE/tmp/planted
try mkdir-work mkdir "$PWD/made"
try symlink-work ln -s /etc/passwd "$PWD/link"
try fifo-work mkfifo "$PWD/fifo"
try chmod-work chmod 777 a.json
try times-work touch -d 2001-01-01 a.json
try attributes-work chattr +d a.json
try write-shm write /dev/shm/planted-$$
try write-proc bash -c 'echo 0 > /proc/self/oom_score_adj'
try write-engine-proc bash -c "echo 0 > /proc/$engine/oom_score_adj"
try tcp bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT'
try udp bash -c 'echo x > /dev/udp/127.0.0.1/PORT'
try signal-engine kill -0 "$engine"
try signal-other kill -0 VICTIM
try priority-other renice -n 19 -p VICTIM
try limits-other prlimit --pid VICTIM --nofile=1:1
try affinity-other taskset -p 1 VICTIM
try engine-environment cat "/proc/$engine/environ"
try engine-memory head -c 1 "/proc/$engine/mem"
try engine-descriptors readlink "/proc/$engine/fd/0"
try engine-directory ls "/proc/$engine/cwd/"
try secret-file cat "$HOME/.ssh/id_rsa"
try secret-through-proc cat "/proc/self/root$HOME/.ssh/id_rsa"
try secret-variable test -n "$GITHUB_TOKEN"
try own-journal cat BASE/state/windlass/sessions/*/*.jsonl
try namespaces unshare -Ur true
try terminal head -c 1 /dev/tty
try kernel-log dmesg
try shared-memory ipcmk -M 64
if command -v python3 >/dev/null; then
  socket() { python3 -c "import socket; socket.socket($1, $2)"; }
  for family in AF_INET AF_INET6 AF_UNIX AF_NETLINK AF_PACKET AF_VSOCK; do
    try "socket-$family" socket "socket.$family" socket.SOCK_DGRAM
  done
  try unix-path python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('BASE/listener')"
  try keys python3 -c "import ctypes,sys; sys.exit(ctypes.CDLL(None).syscall(248,b'user',b'x',b'y',1,-3) < 0)"
  try uring python3 -c "import ctypes,sys; b=ctypes.create_string_buffer(120); sys.exit(ctypes.CDLL(None).syscall(425,1,b) < 0)"
  try trace python3 -c "import ctypes,sys; sys.exit(ctypes.CDLL(None).ptrace(16,$PPID,0,0) < 0)"
  try memfd-write python3 -c "import os; fd=os.memfd_create('x'); os.write(fd,b'#!/bin/sh\necho x > planted\n'); p=os.spawnv(os.P_WAIT,f'/proc/self/fd/{fd}',['x']); assert p==0 and os.path.exists('planted')"
fi
echo x > "$TMPDIR/mine" && echo "works temporary"
echo x > /dev/null && echo "works null"
echo x > /dev/stderr && echo "works stderr"
cat a.json >/dev/null && echo "works reading"
exit 0
"#;

#[test]
fn a_program_that_a_read_only_command_starts_is_held() {
    for_each_user(|session| {
        let base = session.base();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let _named = UnixListener::bind(base.join("listener")).expect("a socket");
        let script = ATTACKS
            .replace("BASE", &base.display().to_string())
            .replace("PORT", &port.to_string())
            .replace("VICTIM", &std::process::id().to_string());
        session.plant_program("jq", &script);
        let told = session.run_bash(&[], "jq . a.json");
        let who = session.user;
        assert!(!told.contains("HOLE"), "{who:?}: {told}");
        assert!(told.matches("held ").count() > 30, "{who:?}: {told}");
        for works in ["temporary", "null", "stderr", "reading"] {
            assert!(told.contains(&format!("works {works}")), "{who:?}: {works} in {told}");
        }
        assert!(!told.contains(SECRET), "{who:?}: {told}");
        assert!(!session.dirs.file("planted").exists(), "{who:?}");
        assert_eq!(
            fs::read_to_string(session.dirs.file("a.json")).expect("a file"),
            "{\"a\": 1}\n"
        );
    });
}

/// The attacks are real: outside a cell they work.
#[test]
fn the_same_program_is_free_where_the_user_lets_it_run() {
    let session = HeldSession::new(crate::held_session::RunAs::Oneself);
    let script = "#!/bin/bash\necho x > planted; cat $HOME/.ssh/id_rsa; echo \"$GITHUB_TOKEN\"\n";
    session.plant_program("jq", script);
    let told = session.run_bash(&["--allowedTools", "Bash(jq:*)"], "jq . a.json");
    assert!(session.dirs.file("planted").exists() && told.contains(SECRET), "{told}");
}

/// What it leaves behind for later commands: a report that is no file, variables nobody named.
#[test]
fn a_held_command_does_not_steer_later_ones() {
    for_each_user(|session| {
        let script = "#!/bin/bash
            rm -f $TMPDIR/shell-state; mkfifo $TMPDIR/shell-state; kill -9 $PPID\n";
        session.plant_program("jq", script);
        session.plant_program(
            "wc",
            "#!/bin/bash
            printf '%s\\n\\0PATH=/evil\\0LD_PRELOAD=/evil\\0' \"$PWD\" > $TMPDIR/shell-state
            kill -9 $PPID\n",
        );
        let calls = [
            json!({"command": "cd . && jq . a.json"}),
            json!({"command": "cd . && wc a.json; true"}),
            json!({"command": "cd . ; cat a.json; echo \"path is $PATH\""}),
        ];
        let (told, _) = session.run(&[], &calls);
        let told = last_tool_result(&told);
        assert!(!told.contains("/evil"), "{told}");
    });
}

/// Deny rules hide from what runs, not only from what is named.
#[test]
fn what_a_deny_rule_hides_is_not_seen_from_inside() {
    for_each_user(|session| {
        fs::create_dir(session.dirs.file("deep")).expect("a folder");
        for name in [".env", "deep/.env", "deep/key.pem"] {
            fs::write(session.dirs.file(name), SECRET).expect("a file");
        }
        session.plant_program("jq", "#!/bin/bash\ncat .env deep/.env deep/key.pem; echo end\n");
        let flags = ["--disallowedTools", "Read(.env)", "Read(./deep/*.pem)"];
        let told = session.run_bash(&flags, "jq . a.json");
        assert!(told.contains("end") && !told.contains(SECRET), "{told}");
    });
}

/// Edits that the mode lets through stay inside, and away from what is protected there.
#[test]
fn an_edit_that_the_mode_lets_through_stays_inside() {
    for_each_user(|session| {
        fs::create_dir_all(session.dirs.file(".git/hooks")).expect("a folder");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = session.base().join("state");
        let script = format!(
            "#!/bin/bash
            /bin/mkdir \"$@\" && echo made
            for place in \"$HOME/planted\" .git/hooks/pre-commit {state}/planted; do
                echo x > \"$place\"
            done
            (exec 3<>/dev/tcp/127.0.0.1/{port}) && echo HOLE network
            cat \"$HOME/.ssh/id_rsa\" && echo HOLE secret
            exit 0\n",
            state = state.display()
        );
        session.plant_visible_program("mkdir", &script);
        let told = session.run_bash(&["--permission-mode", "acceptEdits"], "mkdir inside");
        let who = session.user;
        assert!(told.contains("made") && !told.contains("HOLE"), "{who:?}: {told}");
        assert!(session.dirs.file("inside").is_dir(), "{who:?}: {told}");
        assert!(!session.dirs.home().join("planted").exists(), "{who:?}: {told}");
        assert!(!state.join("planted").exists(), "{who:?}: {told}");
        assert!(!session.dirs.file(".git/hooks/pre-commit").exists(), "{who:?}: {told}");
        assert!(!told.contains(SECRET), "{who:?}: {told}");
    });
}
