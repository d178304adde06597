//! A project, a home with secrets, a user, and a model that sends commands.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{FinishedCommand, TestDirs, play, run};

/// In the environment and the files of the user, and not for a command to see.
pub(crate) const SECRET: &str = "canary-3b9d41f0";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunAs {
    Oneself,
    OrdinaryUser,
}

/// Whether the machine has what a cell is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    WithCell,
    /// The kernel says that it has no Landlock.
    WithoutLandlock,
}

pub(crate) struct HeldSession {
    pub(crate) dirs: TestDirs,
    pub(crate) user: RunAs,
    pub(crate) machine: Machine,
}

/// Runs a test once for each user there can be.
pub(crate) fn for_each_user(test: impl Fn(HeldSession)) {
    test(HeldSession::new(RunAs::Oneself));
    if rustix::process::geteuid().is_root() {
        test(HeldSession::new(RunAs::OrdinaryUser));
    }
}

/// The same, on a machine with a cell and on one without.
pub(crate) fn for_each_machine(test: impl Fn(HeldSession)) {
    for_each_user(&test);
    for_each_user(|session| test(session.without_landlock()));
}

impl HeldSession {
    pub(crate) fn new(user: RunAs) -> Self {
        let dirs = TestDirs::new();
        let session = Self { dirs, user, machine: Machine::WithCell };
        fs::create_dir(session.base().join("bin")).expect("a folder");
        fs::create_dir(session.dirs.file("tools")).expect("a folder");
        fs::create_dir_all(session.dirs.home().join(".ssh")).expect("a folder");
        fs::write(session.dirs.home().join(".ssh/id_rsa"), SECRET).expect("a file");
        fs::write(session.dirs.file("a.json"), "{\"a\": 1}\n").expect("a file");
        session
    }

    pub(crate) fn without_landlock(mut self) -> Self {
        self.machine = Machine::WithoutLandlock;
        self
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.dirs.work().parent().expect("a folder").to_owned()
    }

    /// Puts a program before all others of its name.
    pub(crate) fn plant_program(&self, name: &str, script: &str) {
        write_program(&self.base().join("bin").join(name), script);
    }

    /// The same inside the project, where a sandbox shows it too.
    pub(crate) fn plant_visible_program(&self, name: &str, script: &str) {
        write_program(&self.dirs.file("tools").join(name), script);
    }

    /// Runs a session whose model sends these calls, and returns what it was told last.
    pub(crate) fn run(&self, flags: &[&str], calls: &[Value]) -> (String, FinishedCommand) {
        let server = serve(calls);
        let finished = run(&mut self.command(&server, flags));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let requests = server.requests();
        let last = &requests.last().expect("a request").body;
        (last.to_string(), finished)
    }

    /// What one command of the model came to.
    pub(crate) fn run_bash(&self, flags: &[&str], command: &str) -> String {
        let (told, _) = self.run(flags, &[json!({ "command": command })]);
        last_tool_result(&told)
    }

    pub(crate) fn command(&self, server: &Rehearsal, flags: &[&str]) -> Command {
        let mut command = self.dirs.asking(&server.url(), &["-p", "go"]);
        command.args(flags);
        self.prepare(command)
    }

    /// The same command as the user of the session, on the machine of the session.
    pub(crate) fn prepare(&self, command: Command) -> Command {
        let mut command = match self.machine {
            Machine::WithCell => command,
            Machine::WithoutLandlock => behind_filter(&command),
        };
        let path = std::env::var("PATH").expect("a path");
        let (outside, inside) = (self.base().join("bin"), self.dirs.file("tools"));
        let path = format!("{}:{}:{path}", outside.display(), inside.display());
        command.env("PATH", path);
        command.env("GITHUB_TOKEN", SECRET);
        if self.user == RunAs::OrdinaryUser {
            let number = 1_500_000 + std::process::id() % 100_000;
            give(&self.base(), number);
            command.uid(number).gid(number);
        }
        command
    }
}

/// The same command where the kernel answers that it has no Landlock.
fn behind_filter(inner: &Command) -> Command {
    let mut outer = Command::new(inner.get_program());
    outer.args(["__sandbox", "without-landlock", "--"]);
    outer.arg(inner.get_program()).args(inner.get_args());
    outer.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer.current_dir(inner.get_current_dir().expect("a folder"));
    outer.stdin(std::process::Stdio::null());
    outer.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    outer
}

fn write_program(path: &Path, script: &str) {
    fs::write(path, script).expect("a program");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

pub(crate) fn serve(calls: &[Value]) -> Rehearsal {
    let mut script = Script::new();
    for call in calls {
        script = script.answer(ScriptedAnswer::call("Bash", call.clone()));
    }
    play(script.answer(ScriptedAnswer::text("Over.").repeat(0)))
}

/// The text of the last tool result in a request.
pub(crate) fn last_tool_result(request: &str) -> String {
    let request: Value = serde_json::from_str(request).expect("JSON");
    let messages = request["messages"].as_array().expect("messages");
    let parts = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let mut results = parts.filter(|part| part["type"] == "tool_result");
    let last = results.next_back().expect("a result");
    match &last["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

fn give(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).expect("another owner");
    if !path.is_dir() {
        return;
    }
    for entry in fs::read_dir(path).expect("a folder") {
        let entry = entry.expect("an entry");
        if !entry.file_type().expect("a kind").is_symlink() {
            give(&entry.path(), user);
        }
    }
}
