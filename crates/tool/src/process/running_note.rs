//! Records each running command in a file, so that the next start can end what a dead process left
//! running.
//!
//! The note names the command's process and ours, each with its start time, because ids are reused.
//! A command started right before we are killed may lack a note, but carries a mark with our
//! prefix: the prefix is recorded before the first command starts.

use std::path::{Path, PathBuf};

use super::launch;
use super::process_context::ProcessContext;

const NOTE_EXTENSION: &str = "running";
const OWNER_PREFIX: &str = "owner";
const NOTES_MAX: usize = 1_000;
const NOTE_BYTES_MAX: usize = 1_000;

/// The note of a running command; deleted on drop.
#[derive(Debug)]
pub(crate) struct RunningNote(PathBuf);

impl RunningNote {
    /// Writes the note, beside the output if there is one. A command without a note runs anyway.
    pub(crate) fn write(
        processes: &ProcessContext,
        output: Option<&Path>,
        identity: &str,
    ) -> Option<Self> {
        let us = launch::our_start_time()?;
        let place = match output {
            Some(output) => output.with_extension(NOTE_EXTENSION),
            None => processes.new_spill_path("command").with_extension(NOTE_EXTENSION),
        };
        let note = format!("{} {us} {}", std::process::id(), identity);
        if std::fs::write(&place, &note).is_err() {
            std::fs::create_dir_all(&processes.spill_directory).ok()?;
            std::fs::write(&place, note).ok()?;
        }
        Some(Self(place))
    }
}

impl RunningNote {
    /// Records whose commands run in this spill directory, before the first one starts.
    pub(crate) fn write_owner(processes: &ProcessContext) -> Option<Self> {
        let us = launch::our_start_time()?;
        let place = processes.new_spill_path(OWNER_PREFIX).with_extension(NOTE_EXTENSION);
        std::fs::create_dir_all(&processes.spill_directory).ok()?;
        let note = format!("{} {us} 0 {us} {}", std::process::id(), launch::our_call_mark());
        std::fs::write(&place, note).ok()?;
        Some(Self(place))
    }
}

impl Drop for RunningNote {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Ends every command whose owner is dead. Returns the output path of each.
pub(super) fn end_orphaned_commands(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let notes = entries.flatten().map(|entry| entry.path());
    let notes =
        notes.filter(|path| path.extension().is_some_and(|ending| ending == NOTE_EXTENSION));
    let is_owner = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OWNER_PREFIX))
    };
    // Owners last: their notes do not contain the output path of a command.
    let (owners, notes): (Vec<PathBuf>, Vec<PathBuf>) = notes.take(NOTES_MAX).partition(is_owner);
    let notes = notes.into_iter().chain(owners).filter(|note| end_noted_command(note));
    notes.map(|note| note.with_extension("")).collect()
}

/// Returns whether something was ended. The note of a live owner is left alone.
fn end_noted_command(path: &Path) -> bool {
    let Ok(note) = std::fs::read_to_string(path) else { return false };
    let note = note.get(..NOTE_BYTES_MAX).unwrap_or(&note);
    let mut words = note.splitn(3, ' ');
    let owner = words.next().and_then(|id| id.parse().ok());
    let began = words.next().and_then(|began| began.parse::<u64>().ok());
    if owner.is_some_and(|owner| launch::process_start_time(owner) == began) {
        return false;
    }
    let _ = std::fs::remove_file(path);
    words.next().is_some_and(launch::end_process_tree)
}
