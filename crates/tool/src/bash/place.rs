//! Where the shell stands, from one command to the next.
//!
//! Each command is a new shell, so the directory it ends in has to be carried over. A command that
//! could move gets a line in front that writes the final directory to a file when the shell exits;
//! neither its output nor its exit code changes. A command that cannot move gets nothing, which
//! also lets bash replace itself by a single program.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::surroundings::Surroundings;

/// Longer than any path the system takes.
const PATH_BYTES_MAX: u64 = 16 * 1024;

/// Where a command runs and how its last directory comes back.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) directory: PathBuf,
    returned_by: Option<PathBuf>,
    note: Option<String>,
}

impl Place {
    /// Where the next command runs: where the last one ended, or the session's directory if that
    /// is gone.
    pub(super) async fn find(
        surroundings: &Surroundings,
        words: Option<&[String]>,
    ) -> Result<Self, String> {
        let mut directory = surroundings.shell_directory();
        let mut note = None;
        if !directory.is_dir() {
            let root = &surroundings.cwd;
            if !root.is_dir() {
                return Err(format!(
                    "The working directory `{}` no longer exists, so no command can run there. \
                     Create it again, or start in another directory.",
                    root.display()
                ));
            }
            note = Some(format!(
                "The shell's directory `{}` no longer exists. The command ran in `{}`.",
                directory.display(),
                root.display()
            ));
            directory.clone_from(root);
            surroundings.move_shell(directory.clone());
        }
        let returned_by = if may_move(words) { file_for(surroundings).await } else { None };
        Ok(Self { directory, returned_by, note })
    }

    /// The command with whatever must stand in front of it.
    pub(super) fn script(&self, command: &str) -> String {
        match self.returned_by.as_deref().and_then(Path::to_str) {
            Some(file) => {
                let file = file.replace('\'', "'\\''");
                // Within the trap's quotes the file's own quotes must be quoted once more.
                let action = format!("{{ command pwd -P >|'{file}'; }} 2>/dev/null");
                format!("trap '{}' EXIT\n{command}", action.replace('\'', "'\\''"))
            }
            None => command.to_owned(),
        }
    }

    /// Takes over the directory the command ended in. Returns what the model must know.
    pub(super) async fn settle(self, surroundings: &Surroundings) -> Option<String> {
        let Some(file) = self.returned_by else {
            return self.note;
        };
        let Some(ended) = take_path(&file) else {
            return self.note;
        };
        let Some(ended) = ended else {
            return Some(format!(
                "The directory the command ended in no longer exists. The next one runs in `{}`.",
                self.directory.display()
            ));
        };
        if ended == self.directory {
            return self.note;
        }
        if surroundings.is_inside(&ended) || is_really_inside(surroundings, &ended) {
            surroundings.move_shell(ended);
            return self.note;
        }
        surroundings.move_shell(surroundings.cwd.clone());
        Some(format!(
            "The command ended in `{}`, outside the working directories. The next one runs in `{}`.",
            ended.display(),
            surroundings.cwd.display()
        ))
    }
}

/// Could the shell stand elsewhere afterwards? Only what is known not to move is excluded.
fn may_move(words: Option<&[String]>) -> bool {
    match words.and_then(<[String]>::first) {
        Some(first) => first.contains('=') || MOVERS.contains(&first.as_str()),
        None => true,
    }
}

const MOVERS: &[&str] = &["cd", "pushd", "popd", "eval", "source", ".", "builtin", "command"];

/// A working directory may be reached through a symbolic link, while the shell reports real paths.
fn is_really_inside(surroundings: &Surroundings, path: &Path) -> bool {
    surroundings
        .directories()
        .iter()
        .filter_map(|directory| directory.canonicalize().ok())
        .any(|directory| path.starts_with(directory))
}

/// Without the spill directory the shell just stays where it was.
async fn file_for(surroundings: &Surroundings) -> Option<PathBuf> {
    if !surroundings.spill.is_dir() {
        tokio::fs::create_dir_all(&surroundings.spill).await.ok()?;
    }
    Some(surroundings.spill_path("directory"))
}

/// What the shell wrote: nothing at all when it never came to its end, an empty line when its
/// directory was gone.
fn take_path(file: &Path) -> Option<Option<PathBuf>> {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).ok()?;
    opened.take(PATH_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let _ = std::fs::remove_file(file);
    let path = bytes.strip_suffix(b"\n").unwrap_or_default();
    let path = PathBuf::from(OsString::from_vec(path.to_vec()));
    Some(path.is_absolute().then_some(path))
}
