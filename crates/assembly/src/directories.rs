//! The working directory, a scratch directory, and the rule that lets a directory be read.

use std::path::{Path, PathBuf};

use windlass_host::command_error::CommandError;
use windlass_host::random;
use windlass_permission::Rule;

pub fn working_directory() -> Result<PathBuf, CommandError> {
    std::env::current_dir().map_err(|error| {
        CommandError::failure(format!(
            "the working directory cannot be used: {error}; change to one that exists"
        ))
    })
}

/// The name is random, so that no other user can have put something there beforehand.
pub(crate) fn build_scratch_path() -> PathBuf {
    let wanted = std::env::var_os("CLAUDE_CODE_TMPDIR").map(PathBuf::from);
    let folder = wanted.filter(|folder| folder.is_absolute() && folder.is_dir());
    folder.unwrap_or_else(std::env::temp_dir).join(format!("windlass-{}", random::generate_name()))
}

/// Allows reading everything below a directory. Two slashes mean the root in a rule.
pub(crate) fn build_read_rule(directory: &Path) -> Rule {
    let content = format!("/{}/**", directory.to_string_lossy());
    Rule { tool: "Read".to_owned(), content: Some(content) }
}
