//! The program alone, as `install.sh` and `windlass update` fetch it, and an archive with all that belongs
//! to it.

use std::fs;
use std::path::Path;

use super::DistPlan;
use super::pages::{LICENCES, completions_folder, copy, files_of, manual_folder, set_mode};
use crate::program::{run_bytes, run_with};

pub(super) fn make(plan: &DistPlan) -> Result<(), String> {
    let arch = plan.program.architecture.rust;
    let os = std::env::consts::OS;
    let packed = run_bytes(&plan.root, "gzip", &["-n9c", &plan.program.path.to_string_lossy()])?;
    let path = plan.out.join(format!("windlass-{arch}-{os}.gz"));
    fs::write(&path, packed).map_err(|error| format!("{}: {error}", path.display()))?;
    copy(&plan.root.join("install.sh"), &plan.out.join("install.sh"))?;

    let name = format!("windlass-{}-{arch}-{os}", plan.version);
    let folder = plan.folder("archive")?;
    let inside = folder.join(&name);
    copy(&plan.program.path, &inside.join("windlass"))?;
    set_mode(&inside.join("windlass"), 0o755)?;
    for file in LICENCES.iter().chain(&["README.md", "CHANGELOG.md"]) {
        copy(&plan.root.join(file), &inside.join(file))?;
    }
    for (from, to) in [(completions_folder(plan), "completions"), (manual_folder(plan), "man")] {
        for file in files_of(&from)? {
            let file_name = file.file_name().unwrap_or_default();
            copy(&file, &inside.join(to).join(file_name))?;
        }
    }
    pack(plan, &folder, &name, &plan.out.join(format!("{name}.tar.gz")))
}

/// A tar of a folder whose bytes depend on nothing but its files.
pub(super) fn pack(plan: &DistPlan, folder: &Path, name: &str, to: &Path) -> Result<(), String> {
    let mtime = format!("--mtime=@{}", plan.epoch);
    let to = to.to_string_lossy();
    let words = [
        "--sort=name",
        &mtime,
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mode=u=rwX,go=rX",
        "--format=ustar",
        "--use-compress-program=gzip -n9",
        "-cf",
        &to,
        name,
    ];
    run_with(folder, "tar", &words, &[])
}
