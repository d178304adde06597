//! The last files: `SHA256SUMS` for people, `manifest.txt` for `install.sh` and `windlass update`, which
//! want the size too.

use std::fs;

use super::DistPlan;
use super::pages::{files_of, write};
use crate::program::run_text;

const OWN_FILES: &[&str] = &["SHA256SUMS", "manifest.txt", "windlass"];

pub(super) fn make(plan: &DistPlan) -> Result<(), String> {
    let mut sums = String::new();
    let mut manifest = format!("windlass {}\n", plan.version);
    for path in files_of(&plan.out)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if OWN_FILES.contains(&name.as_str()) {
            continue;
        }
        let said = run_text(&plan.out, "sha256sum", &[&name])?;
        let sum = said.split_whitespace().next().unwrap_or_default();
        let bytes = fs::metadata(&path).map_err(|error| format!("{name}: {error}"))?.len();
        sums.push_str(&format!("{sum}  {name}\n"));
        manifest.push_str(&format!("{sum}  {bytes}  {name}\n"));
    }
    write(&plan.out.join("SHA256SUMS"), &sums)?;
    write(&plan.out.join("manifest.txt"), &manifest)
}
