//! `install.sh` and `windlass update` against a place of releases on loopback: a whole release, and every
//! way to get a broken one. What was installed before stays.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::conversation::talk::Talk;
use crate::fixture::{FinishedCommand, TestDirs, run};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../install.sh");
const NEWER: &str = "9.9.9";

/// What the server says to a path.
#[derive(Clone)]
enum ServedFile {
    Whole(Vec<u8>),
    /// Says the length of the whole and ends the connection early.
    Cut(Vec<u8>),
    /// Is somewhere else.
    Moved(String),
    /// Goes on until the client leaves, but not for ever.
    Endless,
}

/// What an endless file has if nobody stops reading.
const ENDLESS_BYTES: usize = 1 << 30;

/// A file server that lives as long as the test's process.
pub(crate) struct ReleaseHost {
    pub(crate) url: String,
    files: Arc<Mutex<BTreeMap<String, ServedFile>>>,
}

impl ReleaseHost {
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/releases", listener.local_addr().expect("an address"));
        let files = Arc::new(Mutex::new(BTreeMap::new()));
        let served = Arc::clone(&files);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served: BTreeMap<String, ServedFile> = served.lock().expect("files").clone();
                // A client that went away is no failure of the server.
                std::thread::spawn(move || answer(&stream, &served).ok());
            }
        });
        Self { url, files }
    }

    fn put(&self, path: &str, file: ServedFile) {
        self.files.lock().expect("files").insert(format!("/releases/{path}"), file);
    }

    /// A release of this version whose program is a script, as if it were the newest.
    pub(crate) fn publish(&self, version: &str, program: &str) -> Vec<u8> {
        let packed = pack(program.as_bytes());
        self.publish_list(version, &sha256(&packed), packed.len());
        self.put(
            &format!("download/v{version}/{}", file_name()),
            ServedFile::Whole(packed.clone()),
        );
        packed
    }

    fn publish_list(&self, version: &str, sum: &str, bytes: usize) {
        let list = format!("windlass {version}\n{sum}  {bytes}  {}\n", file_name());
        for path in ["latest/download".to_owned(), format!("download/v{version}")] {
            self.put(&format!("{path}/manifest.txt"), ServedFile::Whole(list.clone().into_bytes()));
        }
    }
}

fn answer(mut stream: &TcpStream, files: &BTreeMap<String, ServedFile>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let (status, length, body) = match files.get(path) {
        Some(ServedFile::Whole(body)) => ("200 OK".to_owned(), body.len(), body.as_slice()),
        Some(ServedFile::Cut(body)) => ("200 OK".to_owned(), body.len(), &body[..body.len() / 2]),
        Some(ServedFile::Moved(to)) => (format!("302 Found\r\nlocation: {to}"), 0, &[][..]),
        Some(ServedFile::Endless) => {
            write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
            let piece = [b'x'; 1 << 16];
            return (0..ENDLESS_BYTES / piece.len()).try_for_each(|_| stream.write_all(&piece));
        }
        None => ("404 Not Found".to_owned(), 0, &[][..]),
    };
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n")?;
    stream.write_all(body)
}

fn file_name() -> String {
    format!("windlass-{}-{}.gz", std::env::consts::ARCH, std::env::consts::OS)
}

/// Runs a filter of the system on bytes.
fn filter(command: &mut Command, bytes: &[u8]) -> Vec<u8> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a filter");
    let mut stdin = child.stdin.take().expect("an input");
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes).expect("written"));
    let output = child.wait_with_output().expect("an output");
    writer.join().expect("written");
    assert!(output.status.success());
    output.stdout
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    filter(Command::new("gzip").arg("-nc"), bytes)
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let said = filter(&mut Command::new("sha256sum"), bytes);
    String::from_utf8_lossy(&said)[..64].to_owned()
}

/// A program that says this version.
fn program(version: &str) -> String {
    format!("#!/bin/sh\necho windlass {version}\n")
}

/// A home with an installed copy of the program under test.
struct InstalledCopy {
    dirs: TestDirs,
    host: ReleaseHost,
}

impl InstalledCopy {
    fn new() -> Self {
        let copy = Self { dirs: TestDirs::new(), host: ReleaseHost::open() };
        let own = copy.versions().join(env!("CARGO_PKG_VERSION"));
        std::fs::create_dir_all(&own).expect("a folder");
        let binary = env!("CARGO_BIN_EXE_windlass");
        if std::fs::hard_link(binary, own.join("windlass")).is_err() {
            std::fs::copy(binary, own.join("windlass")).expect("a copy");
        }
        let current = copy.versions().join("current");
        std::os::unix::fs::symlink(env!("CARGO_PKG_VERSION"), current).expect("a link");
        copy
    }

    fn versions(&self) -> PathBuf {
        self.dirs.home().join(".local/share/windlass/versions")
    }

    fn update(&self, words: &[&str]) -> FinishedCommand {
        let mut command = Command::new(self.versions().join("current/windlass"));
        run(self.with_environment(command.arg("update").args(words)))
    }

    fn install(&self, words: &[&str]) -> FinishedCommand {
        let mut command = Command::new("sh");
        run(self.with_environment(command.arg(SCRIPT).args(words)))
    }

    fn with_environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").expect("a path"))
            .env("HOME", self.dirs.home())
            .env("WINDLASS_RELEASES_URL", &self.host.url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
    }

    /// The version that would start now; and nothing half-made lies about.
    fn current(&self) -> String {
        for entry in std::fs::read_dir(self.versions()).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            assert!(!name.starts_with('.'), "{name} was left");
        }
        let link = std::fs::read_link(self.versions().join("current")).expect("a link");
        link.to_string_lossy().into_owned()
    }

    /// Both ways to a new version must fail with these words and change nothing.
    fn refuses(&self, words: &str) {
        let mut said = vec![self.update(&[])];
        said[0].error_line(1);
        said.push(self.install(&[]));
        for finished in said {
            assert_eq!(finished.code, Some(1), "{finished:?}");
            assert!(finished.stderr.contains(words), "{words}: {finished:?}");
        }
        assert_eq!(self.current(), env!("CARGO_PKG_VERSION"));
        let entries = std::fs::read_dir(self.versions()).expect("a folder").count();
        assert_eq!(entries, 2, "only the installed version and the link");
    }
}

#[test]
fn a_newer_version_is_put_beside_the_old_one_and_back() {
    let copy = InstalledCopy::new();
    copy.host.publish(NEWER, &program(NEWER));
    let own = env!("CARGO_PKG_VERSION");
    let looked = copy.update(&["--check"]);
    assert!(looked.answer().contains(NEWER), "{looked:?}");
    assert_eq!(copy.current(), own);
    // What an update left that was killed, and the lock of a process that is gone.
    std::fs::create_dir(copy.versions().join(".begun-1")).expect("a folder");
    std::fs::create_dir(copy.versions().join(".lock")).expect("a folder");
    std::fs::write(copy.versions().join(".lock/pid"), "999999999").expect("a file");
    let updated = copy.update(&[]);
    assert!(updated.answer().starts_with(&format!("{own} → {NEWER}")), "{updated:?}");
    assert_eq!(copy.current(), NEWER);
    // The old program is still whole, finds itself up to date, and can be gone back to without a network.
    copy.host.publish(own, "not a program");
    let mut command = Command::new(copy.versions().join(own).join("windlass"));
    let same = run(copy.with_environment(command.arg("update")));
    assert_eq!(same.answer(), format!("{own} is up to date\n"));
    let mut command = Command::new(copy.versions().join(own).join("windlass"));
    command.args(["update", own]);
    let back = run(copy.with_environment(&mut command).env_remove("WINDLASS_RELEASES_URL"));
    assert!(back.answer().contains("already installed"), "{back:?}");
    assert_eq!(copy.current(), own);
}

#[test]
fn install_sh_installs_runs_and_leaves_what_is_not_its_own() {
    let copy = InstalledCopy::new();
    copy.host.publish(NEWER, &program(NEWER));
    let installed = copy.install(&[]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    assert!(installed.stderr.contains("is not on PATH"), "{installed:?}");
    assert_eq!(copy.current(), NEWER);
    let launcher = copy.dirs.home().join(".local/bin/windlass");
    let said = run(Command::new(&launcher).arg("--version").stdout(Stdio::piped()));
    assert_eq!(said.stdout, format!("windlass {NEWER}\n"));
    assert!(!copy.dirs.home().join(".profile").exists(), "no profile is touched");
    // Again, and another version by name.
    copy.host.publish("9.9.10", &program("9.9.10"));
    assert_eq!(copy.install(&[NEWER]).code, Some(0));
    assert_eq!(copy.current(), NEWER);
    assert_eq!(copy.install(&["v9.9.10"]).code, Some(0));
    assert_eq!(copy.current(), "9.9.10");
    // A launcher of the user's own stays.
    std::fs::remove_file(&launcher).expect("removed");
    std::fs::write(&launcher, "mine").expect("a file");
    let left = copy.install(&[]);
    assert!(left.stderr.contains("is not ours and stays"), "{left:?}");
    assert_eq!(std::fs::read_to_string(&launcher).expect("a file"), "mine");
    for wrong in ["../1.2.3", "1.2.3/..", "a b"] {
        assert!(copy.install(&[wrong]).stderr.contains("is not a version"), "{wrong}");
    }
}

/// A folder with a link to every tool of BusyBox, as small systems have them, and to `downloader`.
fn busybox_tools(copy: &InstalledCopy, downloader: &str) -> Option<PathBuf> {
    let Ok(listed) = Command::new("busybox").arg("--list").output() else {
        assert!(std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "busybox is not installed");
        return None;
    };
    let find = |name: &str| {
        let path = std::env::var("PATH").expect("a path");
        let found = path.split(':').map(|folder| PathBuf::from(folder).join(name));
        found.into_iter().find(|path| path.exists())
    };
    let busybox = find("busybox").expect("it was just run");
    let tools = copy.dirs.work().join(format!("busybox-with-{downloader}"));
    std::fs::create_dir(&tools).expect("a folder");
    for name in String::from_utf8_lossy(&listed.stdout).lines().filter(|name| *name != "wget") {
        std::os::unix::fs::symlink(&busybox, tools.join(name)).expect("a link");
    }
    let program = if downloader == "wget" { busybox } else { find(downloader)? };
    std::os::unix::fs::symlink(program, tools.join(downloader)).expect("a link");
    Some(tools)
}

#[test]
fn install_sh_runs_with_the_tools_of_a_small_system() {
    let copy = InstalledCopy::new();
    copy.host.publish(NEWER, &program(NEWER));
    let install = |tools: &PathBuf| {
        let mut command = Command::new(tools.join("sh"));
        run(copy.with_environment(command.arg(SCRIPT)).env("PATH", tools))
    };
    let Some(tools) = busybox_tools(&copy, "curl") else {
        return;
    };
    for _ in 0..2 {
        let installed = install(&tools);
        assert_eq!(installed.code, Some(0), "{installed:?}");
        assert_eq!(copy.current(), NEWER);
    }
    // This one follows redirects wherever they lead.
    let tools = busybox_tools(&copy, "wget").expect("it was there before");
    let refused = install(&tools);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("curl or GNU wget is needed"), "{refused:?}");
}

/// As in `curl … | sh`, where the connection may break anywhere.
#[test]
fn a_script_that_is_cut_does_nothing() {
    let copy = InstalledCopy::new();
    copy.host.publish(NEWER, &program(NEWER));
    let script = std::fs::read_to_string(SCRIPT).expect("the script");
    let deletion = script.find("rm -rf \"$versions\"/").expect("old leftovers are removed");
    let end = script.trim_end().len() - 1;
    let cuts = (0..end).step_by(499).chain([deletion + "rm -rf \"$versions\"".len(), end]);
    for cut in cuts {
        let part = copy.dirs.work().join("part.sh");
        std::fs::write(&part, &script[..cut]).expect("a part");
        run(copy.with_environment(Command::new("sh").arg(&part)));
        assert_eq!(copy.current(), env!("CARGO_PKG_VERSION"), "cut at {cut}");
        assert!(copy.versions().join("current/windlass").exists(), "cut at {cut}");
        assert!(!copy.dirs.home().join(".local/bin").exists(), "cut at {cut}");
    }
}

#[test]
fn the_same_version_again_replaces_its_program_alone() {
    let copy = InstalledCopy::new();
    copy.host.publish(NEWER, &program(NEWER));
    assert_eq!(copy.install(&[]).code, Some(0));
    // Its folder is never gone: what starts it meanwhile finds a program.
    let folder = copy.versions().join(NEWER);
    std::fs::write(folder.join("beside"), "").expect("a file");
    copy.host.publish(NEWER, &format!("{}# again\n", program(NEWER)));
    assert_eq!(copy.install(&[]).code, Some(0));
    assert!(folder.join("beside").exists());
    let text = std::fs::read_to_string(folder.join("windlass")).expect("a program");
    assert!(text.ends_with("# again\n"), "{text}");
    assert_eq!(copy.current(), NEWER);
}

#[test]
fn relative_folders_make_a_link_that_leads_to_the_program() {
    let copy = InstalledCopy::new();
    copy.host.publish(NEWER, &program(NEWER));
    let mut command = Command::new("sh");
    copy.with_environment(command.arg(SCRIPT))
        .env("XDG_DATA_HOME", "share")
        .env("WINDLASS_INSTALL_DIR", "bin")
        .current_dir(copy.dirs.work());
    let installed = run(&mut command);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    let launcher = copy.dirs.work().join("bin/windlass");
    let said = run(Command::new(launcher).arg("--version").stdout(Stdio::piped()));
    assert_eq!(said.stdout, format!("windlass {NEWER}\n"));
}

#[test]
fn a_list_or_a_program_that_never_ends_is_cut_off() {
    let copy = InstalledCopy::new();
    copy.host.publish(NEWER, &program(NEWER));
    copy.host.put(&format!("download/v{NEWER}/{}", file_name()), ServedFile::Endless);
    copy.refuses(&format!("download/v{NEWER}/"));
    copy.host.put("latest/download/manifest.txt", ServedFile::Endless);
    copy.refuses("manifest.txt");
}

/// At a terminal it asks before it writes into a profile; anything but a yes leaves it alone.
#[test]
fn install_sh_writes_into_a_profile_only_after_a_yes() {
    for (answer, is_added) in [("\r", false), ("n\r", false), ("y\r", true)] {
        let copy = InstalledCopy::new();
        copy.host.publish(NEWER, &program(NEWER));
        let profile = copy.dirs.home().join(".profile");
        std::fs::write(&profile, "# mine\n").expect("a file");
        let mut command = Command::new("sh");
        copy.with_environment(command.arg(SCRIPT));
        let mut talk = Talk::sized(command, 24, 200);
        talk.until("[y/N]");
        talk.key(answer);
        talk.until(&format!("windlass {NEWER} is installed"));
        assert_eq!(talk.over().code(), Some(0));
        let written = std::fs::read_to_string(&profile).expect("a file");
        let bin = copy.dirs.home().join(".local/bin");
        let line = format!("\nexport PATH=\"{}:$PATH\"\n", bin.display());
        let expected = if is_added { format!("# mine\n{line}") } else { "# mine\n".to_owned() };
        assert_eq!(written, expected, "{answer:?}");
    }
}

/// A place of releases may lead on, as GitHub's does; with either program that downloads, and never to
/// another protocol.
#[test]
fn redirects_are_followed_by_curl_and_wget() {
    for program_name in ["curl", "wget"] {
        let copy = InstalledCopy::new();
        copy.host.publish(NEWER, &program(NEWER));
        let list = format!("{}/download/v{NEWER}/manifest.txt", copy.host.url);
        copy.host.put("latest/download/manifest.txt", ServedFile::Moved(list));
        // A PATH with one of the two programs.
        let tools = copy.dirs.work().join("tools");
        std::fs::create_dir(&tools).expect("a folder");
        let path = std::env::var("PATH").expect("a path");
        for folder in path.split(':') {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if name == program_name || (name != "curl" && name != "wget" && name != "windlass")
                {
                    // The first folder of PATH wins, as in the shell.
                    std::os::unix::fs::symlink(entry.path(), tools.join(name)).ok();
                }
            }
        }
        if !tools.join(program_name).exists() {
            assert!(std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "{program_name} is missing");
            continue;
        }
        let install = || {
            let mut command = Command::new("sh");
            run(copy.with_environment(command.arg(SCRIPT)).env("PATH", &tools))
        };
        let installed = install();
        assert_eq!(installed.code, Some(0), "{program_name}: {installed:?}");
        assert_eq!(copy.current(), NEWER);
        let elsewhere = "ftp://127.0.0.1/manifest.txt".to_owned();
        copy.host.put("latest/download/manifest.txt", ServedFile::Moved(elsewhere));
        let refused = install();
        assert_eq!(refused.code, Some(1), "{program_name}: {refused:?}");
        assert!(refused.stderr.contains("nothing was changed"), "{refused:?}");
        let around = format!("{}/latest/download/manifest.txt", copy.host.url);
        copy.host.put("latest/download/manifest.txt", ServedFile::Moved(around));
        assert_eq!(install().code, Some(1), "{program_name}: a circle of redirects");
        assert_eq!(copy.current(), NEWER);
    }
}

#[test]
fn another_copy_on_the_path_is_named() {
    let copy = InstalledCopy::new();
    copy.host.publish(NEWER, &program(NEWER));
    let other = copy.dirs.work().join("windlass");
    std::fs::write(&other, "#!/bin/sh\n").expect("a file");
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let path = format!("{}:{}", copy.dirs.work().display(), std::env::var("PATH").expect("a path"));
    let mut command = Command::new("sh");
    let installed = run(copy.with_environment(command.arg(SCRIPT)).env("PATH", path));
    let words = format!("another copy comes first on PATH: {}", other.display());
    assert!(installed.stderr.contains(&words), "{installed:?}");
}

#[test]
fn a_broken_release_changes_nothing() {
    let copy = InstalledCopy::new();
    copy.refuses("manifest.txt");
    let marker = copy.dirs.work().join("ran");
    let evil = format!("#!/bin/sh\ntouch {}\necho windlass {NEWER}\n", marker.display());
    let packed = copy.host.publish(NEWER, &evil);
    let wrong_sum = "0".repeat(64);
    copy.host.publish_list(NEWER, &wrong_sum, packed.len());
    copy.refuses("checksum");
    copy.host.publish_list(NEWER, &sha256(&packed), packed.len() + 1);
    copy.refuses("bytes, not");
    let path = format!("download/v{NEWER}/{}", file_name());
    copy.host.publish_list(NEWER, &sha256(&packed), packed.len());
    copy.host.put(&path, ServedFile::Cut(packed));
    copy.refuses("cannot be read");
    assert!(!marker.exists(), "nothing of it was run");
    // Whole, and still not the program.
    copy.host.publish(NEWER, "#!/bin/sh\nexit 3\n");
    copy.refuses("does not run here");
    copy.host.publish(NEWER, &program("1.0.0"));
    copy.refuses("does not run here");
    copy.host.put("latest/download/manifest.txt", ServedFile::Whole(b"<html>".to_vec()));
    let page = copy.update(&[]);
    assert!(page.error_line(1).contains("names no version"), "{page:?}");
    assert!(copy.install(&[]).stderr.contains("is not a version"));
    // Held by a process that lives: this one.
    copy.host.publish(NEWER, &program(NEWER));
    let lock = copy.versions().join(".lock");
    std::fs::create_dir(&lock).expect("a folder");
    std::fs::write(lock.join("pid"), std::process::id().to_string()).expect("a file");
    assert!(copy.update(&[]).error_line(1).contains("another update is running"));
    assert!(copy.install(&[]).stderr.contains("another install is running"));
    std::fs::remove_dir_all(&lock).expect("removed");
    assert_eq!(copy.current(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn plain_http_of_others_and_a_missing_address_are_refused() {
    let copy = InstalledCopy::new();
    // Names that only begin like this machine's, and an address behind a user's name.
    let others = [
        "http://192.0.2.1/r",
        "http://127.0.0.1.example/r",
        "http://localhost.example/r",
        "http://127.0.0.1@192.0.2.1/r",
        "http://127.0.0.1:80@192.0.2.1/r",
        "ftp://127.0.0.1/r",
        "127.0.0.1/r",
        "",
    ];
    for value in others {
        let mut update = Command::new(copy.versions().join("current/windlass"));
        let mut install = Command::new("sh");
        for command in [update.arg("update"), install.arg(SCRIPT)] {
            let refused = run(copy.with_environment(command).env("WINDLASS_RELEASES_URL", value));
            assert_ne!(refused.code, Some(0), "{refused:?}");
            // The variable is named only where nothing was asked yet.
            assert!(refused.stderr.contains("WINDLASS_RELEASES_URL"), "{value}: {refused:?}");
        }
    }
    assert_eq!(copy.current(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn this_machine_may_be_named_and_a_slash_may_follow() {
    let copy = InstalledCopy::new();
    copy.host.publish(NEWER, &program(NEWER));
    let url = copy.host.url.replace("127.0.0.1", "localhost") + "/";
    let mut install = Command::new("sh");
    let finished =
        run(copy.with_environment(install.arg(SCRIPT)).env("WINDLASS_RELEASES_URL", &url));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let mut update = Command::new(copy.versions().join(env!("CARGO_PKG_VERSION")).join("windlass"));
    update.args(["update", "--check"]);
    let looked = run(copy.with_environment(&mut update).env("WINDLASS_RELEASES_URL", &url));
    assert_eq!(looked.code, Some(0), "{looked:?}");
    assert!(looked.stdout.contains(NEWER), "{looked:?}");
}

#[test]
fn updates_are_switched_off_by_the_variable() {
    let copy = InstalledCopy::new();
    let mut update = Command::new(copy.versions().join("current/windlass"));
    let off = run(copy.with_environment(update.arg("update")).env("DISABLE_UPDATES", "1"));
    assert!(off.error_line(1).contains("DISABLE_UPDATES"));
}

#[test]
fn a_copy_of_a_package_manager_is_left_to_it() {
    let dirs = TestDirs::new();
    let built = run(&mut dirs.windlass(&["update"]));
    assert!(built.error_line(1).contains("cargo build --release"), "{built:?}");
    let folder = dirs.home().join("node_modules/windlass-agent-linux-x64");
    std::fs::create_dir_all(&folder).expect("a folder");
    let copy = folder.join("windlass");
    std::fs::copy(env!("CARGO_BIN_EXE_windlass"), &copy).expect("a copy");
    let mut command = Command::new(&copy);
    command.arg("update").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let refused = run(&mut command);
    assert!(refused.error_line(1).contains("npm install -g windlass-agent@latest"), "{refused:?}");
}

/// Runs the command where the folder of versions is a small disk of its own: room for what is installed and
/// two megabytes. Then lists the folder. Nothing where nothing may be mounted.
#[cfg(target_os = "linux")]
fn run_on_small_disk(copy: &InstalledCopy, change: &str, command: &str) -> Option<FinishedCommand> {
    let binary = std::fs::metadata(env!("CARGO_BIN_EXE_windlass")).expect("the binary").len();
    let text = format!(
        "cp -R $VERSIONS $OLD && mount -t tmpfs -o size={kilobytes}k tmpfs $VERSIONS && \
         cp -R $OLD/. $VERSIONS/ && rm -r $OLD && {change} && mounted=yes; \
         [ -n \"$mounted\" ] || {{ echo not mounted >&2; exit 99; }}; \
         {command}; code=$?; ls -A $VERSIONS; exit $code",
        kilobytes = binary / 1024 + 2 * 1024,
    );
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--propagation", "private", "sh", "-c", &text]);
    copy.with_environment(&mut unshare)
        .env("VERSIONS", copy.versions())
        .env("OLD", copy.dirs.work().join("old"))
        .env("SCRIPT", SCRIPT);
    let finished = run(&mut unshare);
    if finished.code == Some(99) || finished.stderr.starts_with("unshare:") {
        assert!(std::env::var_os("WINDLASS_ALL_TESTS").is_none(), "{finished:?}");
        return None;
    }
    Some(finished)
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_and_a_read_only_folder_change_nothing() {
    let copy = InstalledCopy::new();
    // Digits of checksums cannot be packed to less than half: there is no room for the download. Blanks can: there is
    // none for what is unpacked, whose first lines alone would say the right version.
    let noise: String = (0..120_000).map(|line| sha256_like(line) + "\n").collect();
    let blanks = " ".repeat(8 << 20);
    let read_only = "mount -o remount,ro $VERSIONS";
    for (change, padding, words) in [
        (":", &noise, ["No space left", "space left"]),
        (":", &blanks, ["No space left", "cannot be written"]),
        (read_only, &blanks, ["Read-only file system", "read-only for you"]),
    ] {
        copy.host.publish(NEWER, &format!("{}exit\n{padding}", program(NEWER)));
        for command in ["$VERSIONS/current/windlass update", "sh $SCRIPT"] {
            let Some(finished) = run_on_small_disk(&copy, change, command) else {
                return;
            };
            assert_eq!(finished.code, Some(1), "{finished:?}");
            let has_words = words.iter().any(|words| finished.stderr.contains(words));
            assert!(has_words, "{command}: {finished:?}");
            let left = format!("{}\ncurrent\n", env!("CARGO_PKG_VERSION"));
            assert_eq!(finished.stdout, left, "{finished:?}");
        }
    }
    // The folder of the link is read-only, and the versions are not.
    let bin = copy.dirs.work().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let text = "mount --bind $BIN $BIN && mount -o remount,bind,ro $BIN || exit 99; sh $SCRIPT";
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--propagation", "private", "sh", "-c", text]);
    copy.with_environment(&mut unshare)
        .env("BIN", &bin)
        .env("WINDLASS_INSTALL_DIR", &bin)
        .env("SCRIPT", SCRIPT);
    let finished = run(&mut unshare);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let words =
        "bin cannot be changed; nothing was changed. WINDLASS_INSTALL_DIR names another folder";
    assert!(finished.stderr.contains(words), "{finished:?}");
    assert_eq!(copy.current(), env!("CARGO_PKG_VERSION"));
}

/// Sixty-four digits without a pattern that a packer would find.
#[cfg(target_os = "linux")]
fn sha256_like(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        format!("{state:016x}")
    };
    (0..4).map(|_| next()).collect()
}
