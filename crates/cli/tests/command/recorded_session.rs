//! A session whose prompts were answered by commands, and what is asked about it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use crate::fixture::{TestDirs, play, run};
use crate::work_files::bash;

pub(crate) const SESSION: &str = "7a0e9d8c-7b6a-4958-8473-625140312233";

/// One session; each prompt is answered by these calls, one after the other.
pub(crate) fn record_session(dirs: &TestDirs, prompts: &[&[&str]]) -> Rehearsal {
    let mut script = Script::new();
    for commands in prompts {
        for command in *commands {
            script = script.answer(bash(command));
        }
        script = script.answer(ScriptedAnswer::text("Done."));
    }
    let server = play(script.answer(ScriptedAnswer::text("Nothing more.").repeat(0)));
    for (place, _) in prompts.iter().enumerate() {
        let mut command = dirs.asking(&server.url(), &["--dangerously-skip-permissions"]);
        let prompt = format!("prompt {}", place + 1);
        match place {
            0 => command.args(["--session-id", SESSION, "-p", &prompt]),
            _ => command.args(["-c", "-p", &prompt]),
        };
        run(&mut command).answer();
    }
    server
}

pub(crate) fn rewind(dirs: &TestDirs, arguments: &[&str]) -> String {
    run(dirs.windlass(&["rewind", SESSION]).args(arguments)).answer().to_owned()
}

pub(crate) fn diff(dirs: &TestDirs, arguments: &[&str]) -> String {
    run(dirs.windlass(&["diff", SESSION]).args(arguments)).answer().to_owned()
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TreeEntry {
    pub(crate) path: PathBuf,
    /// Bytes of a file, target of a link, or the kind.
    held: Vec<u8>,
    mode: u32,
}

/// Every path below a folder, with what it holds and its mode.
pub(crate) fn read_tree(folder: &Path) -> Vec<TreeEntry> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"))
    {
        let path = entry.path();
        let metadata = path.symlink_metadata().expect("metadata");
        let mode = metadata.permissions().mode();
        let held = match () {
            () if metadata.is_dir() => {
                found.extend(read_tree(&path));
                b"folder".to_vec()
            }
            () if metadata.is_symlink() => {
                std::fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            }
            () if metadata.is_file() && metadata.len() < LARGE => {
                std::fs::read(&path).expect("a file")
            }
            () => format!("special or large, {} bytes", metadata.len()).into_bytes(),
        };
        found.push(TreeEntry { path, held, mode });
    }
    found.sort();
    found
}

/// Files from this size on are not read.
const LARGE: u64 = 64 << 20;

/// The id of the call of this command, as the transcript has it.
pub(crate) fn find_call(dirs: &TestDirs, command: &str) -> String {
    let exported = run(&mut dirs.windlass(&["sessions", "export", SESSION, "--format", "jsonl"]))
        .answer()
        .to_owned();
    let call = exported
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|line| line.to_string().contains(command).then(|| find_id(&line)).flatten());
    call.unwrap_or_else(|| panic!("no call in {exported}"))
}

fn find_id(value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => {
            let own =
                fields.values().filter_map(Value::as_str).find(|text| text.starts_with("toolu"));
            own.map(str::to_owned).or_else(|| fields.values().find_map(find_id))
        }
        Value::Array(items) => items.iter().find_map(find_id),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
