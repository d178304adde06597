//! What belongs beside the program in every package: completions, manual pages, licences, notes.

use std::fs;
use std::path::{Path, PathBuf};

use super::DistPlan;
use crate::program::{run_text, run_with};

const SHELLS: &[(&str, &str)] =
    &[("bash", "windlass.bash"), ("zsh", "_windlass"), ("fish", "windlass.fish")];
pub(super) const LICENCES: &[&str] = &["LICENSE-MIT", "LICENSE-APACHE"];

/// Writes them below the scratch folder, where the packages take them from.
pub(super) fn make(plan: &DistPlan) -> Result<(), String> {
    let completions = completions_folder(plan);
    fs::create_dir_all(&completions).map_err(|error| error.to_string())?;
    let program = plan.program.path.to_string_lossy();
    for (shell, file) in SHELLS {
        let text = run_text(&plan.root, &program, &["completions", shell])?;
        write(&completions.join(file), &text)?;
    }
    let manual = manual_folder(plan);
    fs::create_dir_all(&manual).map_err(|error| error.to_string())?;
    let manual = manual.to_string_lossy();
    let epoch = plan.epoch.to_string();
    let words =
        ["run", "--quiet", "--locked", "--package", "windlass", "--example", "command_pages", "--"];
    let words: Vec<&str> = words.into_iter().chain([&*manual]).collect();
    run_with(&plan.root, "cargo", &words, &[("SOURCE_DATE_EPOCH", &epoch)])
}

pub(super) fn completions_folder(plan: &DistPlan) -> PathBuf {
    plan.scratch.join("completions")
}

pub(super) fn manual_folder(plan: &DistPlan) -> PathBuf {
    plan.scratch.join("man")
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Copies a file and makes the folders above it.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::copy(from, to).map(|_| ()).map_err(|error| format!("{}: {error}", from.display()))
}

/// The files of a folder, sorted by name.
pub(super) fn files_of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}

pub(super) fn set_mode(path: &Path, mode: u32) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, mode).map_err(|error| format!("{}: {error}", path.display()))
}
