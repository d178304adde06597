//! The demonstration: a small broken project, and a conversation that repairs it.
//!
//! The project only needs a POSIX shell, so that an installed binary can show it without a
//! toolchain.

use std::io;
use std::path::Path;

use crate::script::Script;

/// The programs of the project: path and contents.
const PROJECT_PROGRAMS: [(&str, &str); 2] = [
    ("days_in_month.sh", include_str!("project/days_in_month.sh")),
    ("test.sh", include_str!("project/test.sh")),
];

/// Writes the project into a directory that exists.
///
/// # Errors
///
/// A file cannot be written or made executable.
pub fn write_project(project_dir: &Path) -> io::Result<()> {
    for (path, contents) in PROJECT_PROGRAMS {
        let path = project_dir.join(path);
        std::fs::write(&path, contents)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

#[must_use]
pub fn prompt() -> &'static str {
    "The date test fails. Find out why and fix it."
}

/// The conversation for a project in this directory. Slow enough to watch; use [`Script::pace`]
/// without a pause for a fast one.
#[must_use]
pub fn build_script(project_dir: &Path) -> Script {
    // A test parses the embedded script, so this default is never used.
    let script = Script::parse(include_str!("demo.toml")).unwrap_or_default();
    script.fill("project", &project_dir.to_string_lossy())
}
