//! Where the shell stands and what it has exported, from one command to the next.
//!
//! Each command is a new shell, so the directory it ends in and its exported variables have to be
//! carried over. A command that could change them gets a line in front that writes them to a file
//! when the shell exits; neither its output nor its exit code changes. A command that cannot gets
//! nothing, which also lets bash replace itself by a single program. Functions, aliases and
//! options are not carried over.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::surroundings::Surroundings;

/// A directory and all exported variables; more is not carried over.
const REPORT_BYTES_MAX: u64 = 256 * 1024;

/// Where a command runs and how its last directory comes back.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) directory: PathBuf,
    returned_by: Option<PathBuf>,
    note: Option<String>,
}

impl Place {
    /// Where the next command runs, and how what it changes comes back.
    pub(super) async fn find(
        surroundings: &Surroundings,
        words: Option<&[String]>,
    ) -> Result<Self, String> {
        let mut place = Self::standing(surroundings)?;
        if may_move(words) {
            place.returned_by = file_for(surroundings).await;
        }
        Ok(place)
    }

    /// Where the last command ended, or the session's directory if that is gone.
    pub(super) fn standing(surroundings: &Surroundings) -> Result<Self, String> {
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
        Ok(Self { directory, returned_by: None, note })
    }

    /// The command with whatever must stand in front of it.
    pub(super) fn script(&self, command: &str, is_bash: bool) -> String {
        match self.returned_by.as_deref().and_then(Path::to_str) {
            Some(file) => {
                let file = file.replace('\'', "'\\''");
                let action = match is_bash {
                    true => REPORT_BASH.replace("FILE", &format!("'{file}'")),
                    false => format!("{{ command pwd -P >|'{file}'; }} 2>/dev/null"),
                };
                // Within the trap's quotes the file's own quotes must be quoted once more.
                format!("trap '{}' EXIT\n{command}", action.replace('\'', "'\\''"))
            }
            None => command.to_owned(),
        }
    }

    /// Takes over the directory the command ended in. Returns what the model must know.
    pub(super) async fn settle(self, surroundings: &Surroundings) -> Option<String> {
        let Some(file) = &self.returned_by else {
            return self.note;
        };
        let Some(report) = Report::take(file) else {
            return self.note;
        };
        let too_much = report.settle(surroundings).err();
        self.move_to(report.directory, surroundings).or(too_much)
    }

    fn move_to(self, ended: Option<PathBuf>, surroundings: &Surroundings) -> Option<String> {
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

const MOVERS: &[&str] = &[
    "cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "export", "unset",
    "declare", "typeset", "readonly", "set",
];

/// Written when the shell exits: the directory, then every exported variable. Only builtins, so
/// that nothing is started for it; without the options the command may have set, which could end
/// it half-way; unseen, whatever is traced.
const REPORT_BASH: &str = "{ set +euxo pipefail; builtin pwd -P; builtin printf \"\\0\"; \
builtin compgen -e >|FILE.names; while IFS= builtin read -r REPLY; do builtin printf \
\"%s=%s\\0\" \"$REPLY\" \"${!REPLY}\"; done <FILE.names; } >|FILE 2>/dev/null";

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

/// What the shell wrote when it exited.
struct Report {
    /// `None` when its directory was gone.
    directory: Option<PathBuf>,
    variables: Option<Vec<(OsString, OsString)>>,
    is_cut: bool,
}

impl Report {
    /// Nothing when the shell never came to its end.
    fn take(file: &Path) -> Option<Self> {
        let mut names = file.as_os_str().to_owned();
        names.push(".names");
        let _ = std::fs::remove_file(names);
        let mut bytes = Vec::new();
        let opened = std::fs::File::open(file).ok()?;
        opened.take(REPORT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let _ = std::fs::remove_file(file);
        let is_cut = bytes.len() as u64 == REPORT_BYTES_MAX;
        let mut parts = bytes.split(|byte| *byte == 0);
        let path = parts.next().unwrap_or_default();
        let path = path.strip_suffix(b"\n").unwrap_or_default();
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        let variables = bytes.contains(&0).then(|| {
            let pair = |part: &[u8]| {
                let at = part.iter().position(|byte| *byte == b'=')?;
                let (name, value) = part.split_at(at);
                let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
                Some((text(name), text(value.get(1..)?)))
            };
            parts.filter_map(pair).collect()
        });
        Some(Self { directory: path.is_absolute().then_some(path), variables, is_cut })
    }

    /// The next command gets the variables this one left.
    fn settle(&self, surroundings: &Surroundings) -> Result<(), String> {
        if self.is_cut {
            return Err(format!(
                "The exported variables have more than {REPORT_BYTES_MAX} bytes; the next command \
                 gets those from before."
            ));
        }
        if let Some(variables) = &self.variables {
            surroundings.keep_variables(variables);
        }
        Ok(())
    }
}
