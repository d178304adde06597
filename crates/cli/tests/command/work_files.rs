//! Small things that tests about files in the working directory share.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use windlass_rehearsal::ScriptedAnswer;

use crate::fixture::TestDirs;

/// The model runs a command.
pub(crate) fn bash(command: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("Bash", json!({"command": command, "description": "Change files"}))
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// Empty where there is no file.
pub(crate) fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The same command, started by a shell script as `"$@"`.
pub(crate) fn started_by(script: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(command.get_program()).args(command.get_args());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

pub(crate) fn count_trials(dirs: &TestDirs) -> usize {
    let folder = dirs.work().parent().expect("a folder").join("state/windlass/trials");
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// The directories of other tests are temporary ones, which stay writable; a checkout may be in one, too.
pub(crate) fn folders_that_stay() -> (tempfile::TempDir, [PathBuf; 3]) {
    let temporary = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let places = [Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR"))), std::env::home_dir()];
    let stays = |place: &PathBuf| {
        let place = place.canonicalize().unwrap_or_else(|_| place.clone());
        !temporary.iter().any(|path| place.starts_with(path))
            && !place.starts_with(std::env::temp_dir())
    };
    let place = places.into_iter().flatten().find(stays).expect("a place that is not temporary");
    let folder = tempfile::tempdir_in(place).expect("a folder");
    let paths = ["home", "work", "state"].map(|name| folder.path().join(name));
    for path in &paths {
        std::fs::create_dir(path).expect("a folder");
    }
    (folder, paths)
}
