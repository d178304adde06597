//! Environment variables that session start hooks set for later commands.
//!
//! Hooks append shell lines to a file. A shell runs it once, and the variables that changed are
//! applied like those a command exports.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_tool::{OneShotCommand, OneShotLauncher, ToolSessionContext};

pub(super) fn create_env_file(tool_context: &ToolSessionContext) -> Option<PathBuf> {
    std::fs::create_dir_all(&tool_context.processes.spill_directory).ok()?;
    let path = tool_context
        .processes
        .spill_directory
        .join(format!("variables-{}", super::generate_uuid()));
    std::fs::File::create_new(&path).ok()?;
    Some(path)
}

/// Applies the file and deletes it. An error is the reason why that failed.
pub(super) async fn import_env_file(
    file: &Path,
    tool_context: &ToolSessionContext,
) -> Result<(), String> {
    let is_empty = std::fs::metadata(file).is_ok_and(|found| found.len() == 0);
    if !is_empty {
        let read = read_exported_variables(file, tool_context).await?;
        tool_context.set_exported_variables(&read);
    }
    let _ = std::fs::remove_file(file);
    Ok(())
}

async fn read_exported_variables(
    file: &Path,
    tool_context: &ToolSessionContext,
) -> Result<Vec<(OsString, OsString)>, String> {
    // Prints the environment twice, because the sandbox changes variables by itself: only the
    // difference comes from the file.
    let script = "env -0; printf '\\0'; set -a; . \"$0\" >/dev/null 2>&1; exec env -0";
    let processes = &tool_context.processes;
    let errand = OneShotCommand {
        // A project's hooks write to the file too, and they are confined, so this shell is as well.
        held_by: processes.launcher.clone().map(|launcher| OneShotLauncher {
            launcher,
            scratch_directory: processes.spill_directory.clone(),
        }),
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into(), file.into()],
        directory: tool_context.files.cwd.clone(),
        environment: processes.environment.clone(),
        input: Vec::new(),
        timeout: READING_MAX,
        output_bytes_max: BYTES_MAX,
        cancel: CancellationToken::new(),
    };
    let end = errand.run().await.map_err(|error| error.to_string())?;
    if end.code != Some(0) || end.stdout.is_cut() {
        return Err(format!("{} could not be read as shell lines", file.display()));
    }
    let lost = || format!("{} ended the shell that reads it", file.display());
    let (before, after) = split_at_empty(&end.stdout.bytes).ok_or_else(lost)?;
    let is_changed = |name: &OsString| before.get(name) != after.get(name);
    let mut left = processes.environment.clone();
    left.retain(|(name, _)| !is_changed(name));
    left.extend(
        after
            .iter()
            .filter(|(name, _)| is_changed(name))
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    Ok(left)
}

/// Two environments with an empty record between them.
fn split_at_empty(bytes: &[u8]) -> Option<(Variables, Variables)> {
    let at = bytes.windows(2).position(|pair| pair == [0, 0])?;
    let (before, after) = bytes.split_at_checked(at)?;
    let after = parse_variables(after);
    (!after.is_empty()).then(|| (parse_variables(before), after))
}

type Variables = BTreeMap<OsString, OsString>;

fn parse_variables(bytes: &[u8]) -> Variables {
    let pair = |line: &[u8]| {
        let place = line.iter().position(|byte| *byte == b'=')?;
        let (name, value) = line.split_at_checked(place)?;
        let value = value.get(1..)?.to_vec();
        Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value)))
    };
    bytes.split(|byte| *byte == 0).filter_map(pair).collect()
}

/// Limit for running the file.
const READING_MAX: Duration = Duration::from_secs(5);
/// Limit on the bytes of both environments.
const BYTES_MAX: usize = 512 * 1024;
