//! Runs lines in a traced shell and tells what they did that reading does not do.
//!
//! Everything lies below one temporary directory: `root`, where the lines run, and `outside` and
//! `home`, which they must not look into. Where bubblewrap works, it keeps the rest of the disk
//! read-only and takes the network away.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use windlass_permission::file_system_view::{
    FileSystemView, MatchingNames, PathEntry, fits_shell_pattern,
};
use windlass_permission::shell_command::list_certain_commands;
use windlass_permission::{PermissionDecision, Policy, PriorDecision, decide_with_file_system};
use windlass_vocabulary::{EffectClass, Json, ToolCall, ToolInspection};

/// A batch that takes longer has hung.
const BATCH_MAX: Duration = Duration::from_secs(60);

const TRACED: &str = "trace=open,openat,openat2,creat,execve,execveat,socket,unlink,unlinkat,rename,\
                      renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,truncate,\
                      ftruncate,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,mknod,mknodat,\
                      utimensat,utime,utimes,setxattr";

const TOOLS: &[&str] = &["strace", "bwrap"];

fn find_tool(name: &str) -> Option<PathBuf> {
    assert!(TOOLS.contains(&name));
    ["/usr/bin", "/bin"].iter().map(|place| Path::new(place).join(name)).find(|path| path.exists())
}

pub(crate) fn has_strace() -> bool {
    find_tool("strace").is_some()
}

pub(crate) struct TracedShell {
    top: tempfile::TempDir,
    has_wall: bool,
}

impl TracedShell {
    pub(crate) fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let place = top.path();
        let root = place.join("root");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir_all(place.join("outside")).unwrap();
        fs::create_dir_all(place.join("home")).unwrap();
        fs::write(place.join("outside/secret"), "secret\n").unwrap();
        fs::write(place.join("home/token"), "token\n").unwrap();
        for name in ["a", "b", "list", "k", "src/x.rs", "src/deep/y.rs", "-oout", "n.json"] {
            fs::write(root.join(name), "b 2\na 1\n").unwrap();
        }
        fs::write(root.join("names0"), format!("{}\0", place.join("outside/secret").display()))
            .unwrap();
        fs::write(root.join("evil"), "#!/bin/sh\ncat >/dev/null\n").unwrap();
        fs::set_permissions(root.join("evil"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("../outside/secret", root.join("link")).unwrap();
        symlink("../outside", root.join("src/away")).unwrap();
        let has_wall = find_tool("bwrap").is_some_and(|bwrap| {
            let test = Command::new(bwrap)
                .args(["--ro-bind", "/", "/", "--dev", "/dev", "--unshare-net", "/bin/true"])
                .stderr(Stdio::null())
                .status();
            test.is_ok_and(|status| status.success())
        });
        Self { top, has_wall }
    }

    fn root(&self) -> PathBuf {
        self.top.path().canonicalize().unwrap().join("root")
    }

    /// Does the line run without a question in default mode with no rule?
    pub(crate) fn allows(&self, line: &str) -> bool {
        let policy = Policy {
            directories: vec![self.root().display().to_string()],
            can_ask: true,
            ..Policy::default()
        };
        let call = ToolCall {
            id: "traced".into(),
            name: "Bash".into(),
            input: Json::from_checked(&serde_json::json!({ "command": line }).to_string()),
            signature: None,
        };
        let inspection =
            ToolInspection { class: EffectClass::Effect, ..ToolInspection::SHARED_READ };
        let disk = TestDisk { home: self.root().with_file_name("home") };
        let decided =
            decide_with_file_system(&policy, call, &inspection, PriorDecision::None, &disk);
        matches!(decided, PermissionDecision::Allow(_))
    }

    /// Runs lines one after the other and returns what each did beyond reading.
    pub(crate) fn run(&self, lines: &[(u64, String)]) -> Vec<String> {
        if lines.is_empty() {
            return Vec::new();
        }
        let root = self.root();
        let scripts = root.with_file_name("scripts");
        let temporary = root.with_file_name("tmp");
        let log = root.with_file_name("log");
        fs::create_dir_all(&scripts).unwrap();
        fs::create_dir_all(&temporary).unwrap();
        for (at, (_, line)) in lines.iter().enumerate() {
            fs::write(scripts.join(format!("{at}")), line).unwrap();
        }
        // A name that is looked for and not there marks where each line begins in the log.
        let driver = format!(
            "for i in $(seq 0 {}); do : 2>/dev/null </begin/$i; \
             timeout 5 bash --noprofile --norc -c \"$(cat ../scripts/$i)\"; done; : </begin/end",
            lines.len() - 1
        );
        let mut arguments: Vec<String> = Vec::new();
        if self.has_wall {
            let top = self.root().parent().unwrap().display().to_string();
            arguments.extend(
                ["/usr/bin/bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
                    .map(str::to_owned),
            );
            arguments.extend(["--bind".to_owned(), top.clone(), top, "--unshare-net".to_owned()]);
            arguments.push("--die-with-parent".to_owned());
        }
        let log_text = log.display().to_string();
        arguments.extend(
            ["/usr/bin/strace", "-f", "-qq", "-s", "300", "-e", TRACED, "-e", "signal=none", "-o"]
                .map(str::to_owned),
        );
        arguments.extend([log_text, "/bin/bash".to_owned(), "-c".to_owned(), driver]);
        let (program, rest) = arguments.split_first().unwrap();
        let mut child = Command::new(program)
            .args(rest)
            .current_dir(&root)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", root.with_file_name("home"))
            .env("TMPDIR", &temporary)
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let group = Pid::from_child(&child);
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > BATCH_MAX {
                let _ = kill_process_group(group, Signal::KILL);
                let _ = child.wait();
                panic!("a batch of lines does not end: {lines:?}");
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
        let text = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
        assert!(text.contains("/begin/end"), "the tracer did not run: {text:.400}");
        self.compare(lines, &text)
    }

    fn compare(&self, lines: &[(u64, String)], log: &str) -> Vec<String> {
        let top = self.root().parent().unwrap().display().to_string();
        let mut holes = BTreeSet::new();
        let mut at = None;
        for entry in join_interrupted(log) {
            let entry = entry.as_str();
            if let Some((_, rest)) = entry.split_once("\"/begin/") {
                at = rest.split('"').next().and_then(|number| number.parse::<usize>().ok());
                continue;
            }
            let Some((seed, line)) = at.and_then(|at| lines.get(at)) else { continue };
            if let Some(deed) = describe_deed(entry, &top, line, &self.root()) {
                holes.insert(format!("seed {seed}: {deed}\n    {line:?}\n    {entry:.300}"));
            }
        }
        holes.into_iter().collect()
    }
}

/// The entries of a log, with calls in one piece that another process came in between of.
fn join_interrupted(log: &str) -> Vec<String> {
    let mut open: BTreeMap<&str, &str> = BTreeMap::new();
    let mut entries = Vec::new();
    for entry in log.lines() {
        let Some((process, call)) = entry.split_once(' ') else { continue };
        if let Some(start) = call.strip_suffix("<unfinished ...>") {
            open.insert(process, start);
        } else if let Some((_, end)) = call.split_once(" resumed>") {
            let start = open.remove(process).unwrap_or_default();
            entries.push(format!("{process} {start}{end}"));
        } else {
            entries.push(entry.to_owned());
        }
    }
    entries.extend(open.iter().map(|(process, start)| format!("{process} {start}")));
    entries
}

/// What an entry of the log says that reading does not do.
fn describe_deed(entry: &str, top: &str, line: &str, root: &Path) -> Option<String> {
    let call = entry.split_once(' ')?.1.trim_start();
    let name = call.split('(').next()?;
    let path = call.split('"').nth(1).unwrap_or_default();
    let has_failed =
        call.contains(") = -1 ") && !call.contains("EROFS") && !call.contains("EACCES");
    let own_temporary = path.starts_with(&format!("{top}/tmp/"));
    match name {
        "execve" | "execveat" if !has_failed => {
            let program = path.rsplit('/').next().unwrap_or_default();
            (!may_run(program, line, root)).then(|| format!("runs {program}"))
        }
        "open" | "openat" | "openat2" | "creat" => {
            let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"];
            let is_device = matches!(path, "/dev/null" | "/dev/tty");
            if writes.iter().any(|flag| call.contains(flag)) && !is_device && !own_temporary {
                return Some(format!("writes {path}"));
            }
            let is_outside = ["outside", "home"].iter().any(|place| {
                path.starts_with(&format!("{top}/{place}/"))
                    || path.contains(&format!("../{place}"))
            });
            let is_settings = [".gitconfig", ".config/git", ".jq", ".ripgreprc"]
                .iter()
                .any(|name| path.contains(name));
            // A directory in front of a link, or a link itself, may be opened to be listed.
            (is_outside && !is_settings && !has_failed).then(|| format!("reads {path}"))
        }
        "socket" => (!call.contains("AF_UNIX") && !call.contains("AF_NETLINK"))
            .then(|| "opens a socket".to_owned()),
        _ if has_failed || own_temporary => None,
        "execve" | "execveat" => None,
        _ => Some(format!("makes or removes something: {name} {path}")),
    }
}

/// Is the program one that the line names, or one that such a program is made of?
fn may_run(program: &str, line: &str, root: &Path) -> bool {
    let (found, _) = list_certain_commands(line, root);
    let named = |name: &str| {
        found.iter().flat_map(|command| &command.words).flatten().any(|word| word == name)
    };
    let is_driver = matches!(program, "timeout" | "bash" | "seq" | "cat") && !named(program);
    let is_own_shell = program == "bash" && !line.contains("bash");
    match program {
        "grep" => named("grep") || named("egrep") || named("fgrep"),
        "sh" | "dash" => named("egrep") || named("fgrep") || named("which"),
        "mawk" | "gawk" | "awk" => named("awk") || named(program),
        _ => named(program) || (is_driver && (program != "bash" || is_own_shell)),
    }
}

struct TestDisk {
    home: PathBuf,
}

impl FileSystemView for TestDisk {
    fn entry_at(&self, path: &Path) -> PathEntry {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => PathEntry::Symlink(fs::read_link(path).unwrap()),
            Ok(found) if found.is_dir() => PathEntry::Directory,
            Ok(found) if found.is_file() => PathEntry::File,
            Ok(_) => PathEntry::Special,
            Err(_) => PathEntry::Missing,
        }
    }

    fn home_directory(&self) -> Option<&Path> {
        Some(&self.home)
    }

    fn matching_names(&self, directory: &Path, pattern: &str) -> MatchingNames {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let named = entries.map(|entry| {
            let is_plain = entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir());
            (entry.file_name().to_string_lossy().into_owned(), is_plain)
        });
        MatchingNames::from_names(named.filter(|(name, _)| fits_shell_pattern(pattern, name)))
    }
}
