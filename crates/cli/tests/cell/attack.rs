//! What a program tries that a command judged to only read has started.

use std::fs;
use std::os::unix::net::{UnixDatagram, UnixListener};

use serde_json::json;

use crate::held_session::{HeldSession, SECRET, for_each_user, last_tool_result};

/// Tells of each attempt whether it worked. Only what is on every machine is used; sockets that bash
/// cannot open are tried with Python where there is one.
const ATTACKS: &str = r#"#!/bin/bash
# A Python below a user's home does not start here, and would seem to be held.
export PATH=/usr/bin:/bin:$PATH
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
try home-file cat "$HOME/notes"
try home-through-proc cat "/proc/self/root$HOME/notes"
try home-from-inside bash -c 'cd "$HOME" && cat notes'
try home-through-link bash -c 'ln -s "$HOME/notes" $TMPDIR/n && cat $TMPDIR/n'
try home-program "$HOME/program"
try secret-variable test -n "$GITHUB_TOKEN"
try own-journal cat BASE/state/windlass/sessions/*/*.jsonl
try namespaces unshare -Ur true
try link-in-own bash -c 'ln -s "$HOME" $TMPDIR/l && echo x > $TMPDIR/l/planted'
try other-tasks bash -c "cat /proc/$engine/task/*/environ"
try engine-maps cat "/proc/$engine/maps"
try terminal head -c 1 /dev/tty
try kernel-log dmesg
try shared-memory ipcmk -M 64
if command -v python3 >/dev/null; then
  socket() { python3 -c "import socket; socket.socket($1, $2)"; }
  for family in AF_INET AF_INET6 AF_UNIX AF_NETLINK AF_PACKET AF_VSOCK; do
    try "socket-$family" socket "socket.$family" socket.SOCK_DGRAM
  done
  try unix-path python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('BASE/listener')"
  try datagram-pair python3 -c "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', 'BASE/datagrams')"
  try raw-pair python3 -c "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].sendto(b'x', 'BASE/datagrams')"
  try keys python3 -c "import ctypes,sys; sys.exit(ctypes.CDLL(None).syscall(248,b'user',b'x',b'y',1,-3) < 0)"
  try uring python3 -c "import ctypes,sys; b=ctypes.create_string_buffer(120); sys.exit(ctypes.CDLL(None).syscall(425,1,b) < 0)"
  try trace python3 -c "import ctypes,sys; sys.exit(ctypes.CDLL(None).ptrace(16,$PPID,0,0) < 0)"
  call() { python3 -c "import ctypes,sys; sys.exit(ctypes.CDLL(None).syscall($1) < 0)"; }
  try userfault call '323,0'
  try trace-read call "310,$engine,0,0,0,0,0"
  try pidfd-steal python3 -c "import ctypes,os,sys; fd=os.pidfd_open($engine); sys.exit(ctypes.CDLL(None).syscall(438,fd,0,0) < 0)"
  try pidfd-signal python3 -c "import os,signal; signal.pidfd_send_signal(os.pidfd_open($engine), 0)"
  # Refused by the filter, so on kernels too where Landlock does not see it.
  emptied() { python3 -c "import errno,os,sys
try: os.open('a.json', os.O_RDONLY|os.O_TRUNC)
except OSError as e: sys.exit(e.errno == errno.EPERM)"; }
  try empty-by-reading emptied
  try unnamed-file python3 -c "import os; os.open('.', os.O_TMPFILE|os.O_RDWR)"
  try unnamed-link python3 -c "import os; fd=os.open(os.environ['TMPDIR'], os.O_TMPFILE|os.O_RDWR); os.link(f'/proc/self/fd/{fd}', 'planted', follow_symlinks=True)"
  try move-out python3 -c "import os; p=os.environ['TMPDIR']+'/m'; open(p,'w').close(); os.rename(p,'planted')"
  try fifo-outside python3 -c "import os; os.open('BASE/fifo', os.O_WRONLY|os.O_NONBLOCK)"
  try fifo-both-ways python3 -c "import os; os.open('BASE/fifo', os.O_RDWR|os.O_NONBLOCK)"
  try own-mount call '165,0,0,0,0,0'
  try new-mount call '430,0,0'
  try priority-of-all python3 -c "import os; os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_PROCESS, 0) + 1)"
  subvolume() { python3 -c "import errno,fcntl,os,sys
try: fcntl.ioctl(os.open('.', os.O_RDONLY), $1, b'x' * 64)
except OSError as e: sys.exit(e.errno == errno.EPERM)"; }
  try make-subvolume subvolume 0x5000940e
  try remove-subvolume subvolume 0x5000943f
  try other-file-system subvolume 0x4020bc10
  try lease python3 -c "import fcntl,os; fcntl.fcntl(os.open('a.json', os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)"
  try open-tree python3 -c "import ctypes,sys; sys.exit(ctypes.CDLL(None).syscall(467,-100,b'.',0,0,0) < 0)"
  try file-attributes call '469,-100,b"a.json",b"\\0"*32,32,0'
  try process-limits python3 -c "import resource; resource.prlimit($engine, resource.RLIMIT_NOFILE, (1, 1))"
  try queue python3 -c "import ctypes,os,sys; sys.exit(ctypes.CDLL(None).syscall(240,b'q',os.O_CREAT|os.O_RDWR,0o600,0) < 0)"
  try group-change call '116,0,0'
  try user-change call '105,12345'
  try handle-open call '304,-100,0,0'
  try xattr python3 -c "import os; os.setxattr('a.json','user.x',b'y')"
  try memfd-write python3 -c "import os; fd=os.memfd_create('x'); os.write(fd,b'#!/bin/sh\necho x > planted\n'); p=os.spawnv(os.P_WAIT,f'/proc/self/fd/{fd}',['x']); assert p==0 and os.path.exists('planted')"
fi
command -v python3 >/dev/null && ! python3 -c "import socket; a, b = socket.socketpair(); a.send(b'x')" || echo "works pair"
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
        let _datagrams = UnixDatagram::bind(base.join("datagrams")).expect("a socket");
        let _named = UnixListener::bind(base.join("listener")).expect("a socket");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            base.join("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o666),
            0,
        )
        .expect("a pipe");
        // A reader waits for what is written there.
        let _reader =
            fs::OpenOptions::new().read(true).write(true).open(base.join("fifo")).expect("a pipe");
        let script = ATTACKS
            .replace("BASE", &base.display().to_string())
            .replace("PORT", &port.to_string())
            .replace("VICTIM", &std::process::id().to_string());
        session.plant_program("jq", &script);
        fs::write(session.dirs.home().join("notes"), SECRET).expect("a file");
        fs::copy("/bin/true", session.dirs.home().join("program")).expect("a program");
        let told = session.run_bash(&[], "jq . a.json");
        let who = session.user;
        assert!(!told.contains("HOLE"), "{who:?}: {told}");
        assert!(told.matches("held ").count() > 30, "{who:?}: {told}");
        for works in ["pair", "temporary", "null", "stderr", "reading"] {
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

/// Without a cell a program is asked about that the cell would hold, so it does not start at all.
#[test]
fn without_a_cell_such_a_program_is_asked_about() {
    for_each_user(|session| {
        let session = session.without_landlock();
        let script = "#!/bin/bash\necho ran > \"${0##*/}.ran\"\n";
        let lines = [
            "git status",
            "git diff",
            "awk '{print $1}' a.json",
            "tar -tf a.tar",
            "unzip -l a.zip",
            "sha256sum -c sums",
            "cd . && git log",
            "cat a.json | awk '{print $1}'",
            "find . -name a.json -exec awk '{print $1}' {} +",
        ];
        for name in ["git", "awk", "tar", "unzip", "sha256sum"] {
            session.plant_program(name, script);
        }
        let calls: Vec<_> = lines.iter().map(|line| json!({ "command": line })).collect();
        let (told, _) = session.run(&[], &calls);
        for name in ["git", "awk", "tar", "unzip", "sha256sum"] {
            let mark = session.dirs.file(&format!("{name}.ran"));
            assert!(!mark.exists(), "{:?}: {name}: {told}", session.user);
        }
    });
}

/// Nor does a line see what a deny rule hides.
#[test]
fn without_a_cell_what_a_deny_rule_hides_is_asked_about() {
    for_each_user(|session| {
        let session = session.without_landlock();
        fs::create_dir(session.dirs.file("deep")).expect("a folder");
        for name in [".env", "deep/.env"] {
            fs::write(session.dirs.file(name), SECRET).expect("a file");
        }
        let lines = [
            "cat .env",
            "cat .e*",
            "cat deep/.en?",
            "grep -r . .",
            "grep -rh canary deep",
            "cat < .env",
            "head -c 99 deep/../.env",
            "find . -name '.env' -exec cat {} +",
            "ls -a | xargs cat",
            "rg --hidden canary",
        ];
        let calls: Vec<_> = lines.iter().map(|line| json!({ "command": line })).collect();
        let (told, _) = session.run(&["--disallowedTools", "Read(.env)"], &calls);
        assert!(!told.contains(SECRET), "{:?}: {told}", session.user);
    });
}

/// A directory whose name ends in a blank makes two words of a name, and the second is a place elsewhere.
#[test]
fn a_name_that_a_loop_divides_leads_nowhere_unasked() {
    crate::held_session::for_each_machine(|session| {
        let key = session.dirs.home().join(".ssh/id_rsa");
        let notes = session.base().join("notes");
        fs::write(&notes, "canary: elsewhere\n").expect("a file");
        for place in [&key, &notes] {
            let decoy = session.dirs.file(&format!("d {}", place.display()));
            fs::create_dir_all(decoy.parent().expect("a folder")).expect("a folder");
            fs::write(decoy, "decoy\n").expect("a file");
            let told = session.run_bash(
                &[],
                &format!("for i in */{}; do cat $i; done", &place.display().to_string()[1..]),
            );
            let who = (session.user, session.machine);
            assert!(!told.contains(SECRET) && !told.contains("elsewhere"), "{who:?}: {told}");
        }
    });
}

/// With one, what walks is not asked about: the cell hides the file.
#[test]
fn walking_commands_run_unasked_and_do_not_see_what_is_denied() {
    for_each_user(|session| {
        fs::create_dir(session.dirs.file("deep")).expect("a folder");
        for name in [".env", "deep/.env"] {
            fs::write(session.dirs.file(name), SECRET).expect("a file");
        }
        fs::write(session.dirs.file("deep/shown.txt"), "canary: shown\n").expect("a file");
        for line in [
            "grep -rh canary . 2>/dev/null; true",
            "find . -type f -exec grep -h canary {} + 2>/dev/null; true",
            "find deep -type f | xargs grep -h canary 2>/dev/null; true",
        ] {
            let told = session.run_bash(&["--disallowedTools", "Read(.env)"], line);
            assert!(told.contains("canary: shown"), "{:?}: {line}: {told}", session.user);
            assert!(!told.contains(SECRET), "{:?}: {line}: {told}", session.user);
        }
    });
}

/// What the session itself was started with is open for writing; a command must not have it.
#[test]
fn descriptors_that_the_session_inherited_are_not_handed_on() {
    for_each_user(|session| {
        let target = session.base().join("log");
        session.plant_program("jq", "#!/bin/bash\necho escaped >&9 && echo HOLE\necho end\n");
        let server = crate::held_session::serve(&[json!({"command": "jq . a.json"})]);
        let inner = session.dirs.asking(&server.url(), &["-p", "go"]);
        let mut outer = std::process::Command::new("/bin/bash");
        outer.args(["-c", "exec 9>\"$1\"; shift; exec \"$@\"", "bash"]).arg(&target);
        outer.arg(inner.get_program()).args(inner.get_args()).env_clear();
        outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        outer.current_dir(session.dirs.work());
        outer.stdin(std::process::Stdio::null());
        outer.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let finished = crate::fixture::run(&mut session.prepare(outer));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let told = server.requests().last().expect("a request").body.to_string();
        let told = last_tool_result(&told);
        assert!(told.contains("end") && !told.contains("HOLE"), "{:?}: {told}", session.user);
        assert_eq!(fs::read_to_string(&target).expect("the log"), "");
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
/// A second name for a secret, inside the project, also one that is made between two commands.
#[test]
fn a_hard_link_to_a_secret_is_not_read_unasked() {
    for_each_user(|session| {
        let secret = session.dirs.home().join(".ssh/id_rsa");
        fs::create_dir_all(session.dirs.file("deep")).expect("a folder");
        fs::hard_link(&secret, session.dirs.file("deep/notes.txt")).expect("a link");
        fs::write(session.dirs.file("own.txt"), "my own").expect("a file");
        fs::hard_link(session.dirs.file("own.txt"), session.dirs.file("other.txt"))
            .expect("a link");
        let told = session.run_bash(&[], "cat deep/notes.txt other.txt");
        assert!(!told.contains(SECRET) && told.contains("my own"), "{told}");
    });
}

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
            for place in \"$HOME/planted\" .git/hooks/pre-commit .npmrc {state}/planted; do
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
        assert!(!session.dirs.file(".npmrc").exists(), "{who:?}: {told}");
        assert!(!told.contains(SECRET), "{who:?}: {told}");
    });
}
