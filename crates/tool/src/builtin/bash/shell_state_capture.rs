//! Carries the shell's directory and exported variables from one command to the next.
//!
//! Each command runs in a new shell, so its final directory and exported variables must be carried
//! over. A command that could change them gets a prefix line that writes them to a file when the
//! shell exits; its output and exit code do not change. Other commands get no prefix, which also
//! lets bash replace itself by a single program. Functions, aliases and options are not carried
//! over.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use windlass_permission::shell_command::is_read_only_line;
use windlass_permission::{Confinement, is_excluded_from_sandbox};

use crate::process::{ProcessConfinement, is_changed_by_confinement, may_hold_token};
use crate::shell_state::CommandSide;
use crate::tool_session_context::ToolSessionContext;

use super::BashInput;

/// Limit on the directory and all exported variables; a larger report is ignored.
const REPORT_BYTES_MAX: u64 = 256 * 1024;

/// The directory of a command, and the file for its final state.
#[derive(Debug)]
pub(super) struct ShellStateCapture {
    pub(super) directory: PathBuf,
    pub(super) side: CommandSide,
    report_path: Option<PathBuf>,
    /// The command line, if only variables named in it are carried over.
    naming: Option<String>,
    note: Option<String>,
}

impl ShellStateCapture {
    pub(super) async fn prepare(
        context: &ToolSessionContext,
        confinement: &ProcessConfinement,
        input: &BashInput,
        words: Option<&[String]>,
    ) -> Result<Self, String> {
        let mut capture = Self::in_current_directory(context)?;
        capture.side = find_side(context, confinement.kind, input);
        if confinement.kind != Confinement::Unconfined {
            // A program started by the command can write the report too, and must not influence
            // later commands without a permission check.
            capture.naming = Some(input.command.clone());
        }
        if may_change_shell_state(words) {
            capture.report_path = match &confinement.private_directory {
                Some(private) => Some(private.path().join("shell-state")),
                None => prepare_report_path(context).await,
            };
        }
        Ok(capture)
    }

    /// Starts in the last command's final directory, or in the session's if that was deleted.
    pub(super) fn in_current_directory(context: &ToolSessionContext) -> Result<Self, String> {
        let mut directory = context.shell.directory();
        let mut note = None;
        if !directory.is_dir() {
            let root = &context.files.cwd;
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
            context.shell.set_directory(directory.clone());
        }
        Ok(Self { directory, side: CommandSide::Inside, report_path: None, naming: None, note })
    }

    pub(super) fn wrap_script(&self, command: &str, is_bash: bool) -> String {
        match self.report_path.as_deref().and_then(Path::to_str) {
            Some(file) => {
                let file = file.replace('\'', "'\\''");
                let names = self.naming.as_deref().and_then(list_names);
                let action = match (is_bash, names) {
                    (true, Some(names)) => BASH_NAMED_REPORT_SCRIPT
                        .replace("NAMES", &names.join(" "))
                        .replace("FILE", &format!("'{file}'")),
                    (true, None) => BASH_REPORT_SCRIPT.replace("FILE", &format!("'{file}'")),
                    (false, _) => format!("{{ command pwd -P >|'{file}'; }} 2>/dev/null"),
                };
                // The action is inside of the trap's quotes, so its own quotes must be escaped
                // again.
                format!("trap '{}' EXIT\n{command}", action.replace('\'', "'\\''"))
            }
            None => command.to_owned(),
        }
    }

    /// Files that the shell writes at its end, to be deleted if they are not read.
    pub(super) fn list_report_files(&self) -> Vec<PathBuf> {
        let names = self.report_path.as_ref().map(|path| append_names_suffix(path));
        self.report_path.iter().cloned().chain(names).collect()
    }

    /// Applies the final directory of the command. Returns a message for the model.
    pub(super) async fn apply_report(self, context: &ToolSessionContext) -> Option<String> {
        let Some(file) = &self.report_path else {
            return self.note;
        };
        let Some(mut report) = ShellExitReport::read_and_remove(file) else {
            return self.note;
        };
        if let Some(variables) = &mut report.variables {
            let before = context.build_child_environment(self.side);
            if let Some(command) = &self.naming {
                keep_named_changes(variables, command, &before);
            }
            if context.processes.launcher.is_some() {
                restore_tokens(variables, &before);
            }
        }
        let too_much = report.apply_variables(context, self.side).err();
        self.change_directory(report.directory, context).or(too_much)
    }

    fn change_directory(
        self,
        ended: Option<PathBuf>,
        context: &ToolSessionContext,
    ) -> Option<String> {
        let Some(ended) = ended else {
            return Some(format!(
                "The directory the command ended in no longer exists. The next one runs in `{}`.",
                self.directory.display()
            ));
        };
        if ended == self.directory {
            return self.note;
        }
        if context.files.is_in_working_directory(&ended) || is_inside_canonical(context, &ended) {
            context.shell.set_directory(ended);
            return self.note;
        }
        context.shell.set_directory(context.files.cwd.clone());
        Some(format!(
            "The command ended in `{}`, outside the working directories. The next one runs in `{}`.",
            ended.display(),
            context.files.cwd.display()
        ))
    }
}

/// Does the command run outside of the session's sandbox?
pub(super) fn find_side(
    context: &ToolSessionContext,
    held_to: Confinement,
    input: &BashInput,
) -> CommandSide {
    let outside = &context.processes.unsandboxed_commands;
    let may_leave =
        input.dangerously_disable_sandbox || is_excluded_from_sandbox(outside, &input.command);
    let has_sandbox = context.processes.launcher.is_some();
    match has_sandbox && may_leave && held_to == Confinement::Unconfined {
        true => CommandSide::Outside,
        false => CommandSide::Inside,
    }
}

/// Could the command change the shell's directory? Only commands known not to are excluded.
fn may_change_shell_state(words: Option<&[String]>) -> bool {
    match words.and_then(<[String]>::first) {
        Some(first) => first.contains('=') || STATE_CHANGING_COMMANDS.contains(&first.as_str()),
        None => true,
    }
}

const STATE_CHANGING_COMMANDS: &[&str] = &[
    "cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "export", "unset",
    "declare", "typeset", "readonly", "set",
];

/// Written when the shell exits: the directory, then all exported variables. Uses only builtins, so
/// that no process is started; resets options of the command that could abort it; and prints
/// nothing even if tracing is on.
const BASH_REPORT_SCRIPT: &str = "{ set +euxo pipefail; builtin pwd -P; builtin printf \"\\0\"; \
builtin compgen -e >|FILE.names; while IFS= builtin read -r REPLY; do builtin printf \
\"%s=%s\\0\" \"$REPLY\" \"${!REPLY}\"; done <FILE.names; } >|FILE 2>/dev/null";

/// The same for a command that may only change variables it names: a confined shell has many more,
/// and each costs several system calls.
const BASH_NAMED_REPORT_SCRIPT: &str = "{ set +euxo pipefail; builtin pwd -P; builtin printf \"\\0\"; \
for REPLY in NAMES; do [[ ${!REPLY@a} == *x* ]] && builtin printf \"%s=%s\\0\" \"$REPLY\" \
\"${!REPLY}\"; done; } >|FILE 2>/dev/null";

/// Words of a command line that may be variable names; `None` if there are very many.
fn list_names(command: &str) -> Option<Vec<&str>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = command.split(|c: char| !is_part(c));
    let mut names: Vec<&str> = words
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .collect();
    names.sort_unstable();
    names.dedup();
    (names.len() <= NAMES_MAX).then_some(names)
}

const NAMES_MAX: usize = 200;

/// A working directory may be a symlink, while the shell reports canonical paths.
fn is_inside_canonical(context: &ToolSessionContext, path: &Path) -> bool {
    context
        .files
        .working_directories()
        .iter()
        .filter_map(|directory| directory.canonicalize().ok())
        .any(|directory| path.starts_with(directory))
}

/// Without a spill directory, the shell's directory does not change.
async fn prepare_report_path(context: &ToolSessionContext) -> Option<PathBuf> {
    if !context.processes.spill_directory.is_dir() {
        tokio::fs::create_dir_all(&context.processes.spill_directory).await.ok()?;
    }
    Some(context.processes.new_spill_path("directory"))
}

fn append_names_suffix(file: &Path) -> PathBuf {
    let mut names = file.as_os_str().to_owned();
    names.push(".names");
    names.into()
}

/// The command may have replaced the file: a symlink would lead elsewhere, and opening a pipe would
/// block.
fn open_report(file: &Path) -> Option<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).ok()?;
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(file).ok()?;
    opened.metadata().is_ok_and(|found| found.is_file()).then_some(opened)
}

/// A sandboxed command does not get tokens, which does not mean that it unset them.
fn restore_tokens(variables: &mut Vec<(OsString, OsString)>, before: &[(OsString, OsString)]) {
    let is_token = |name: &OsString| name.to_str().is_some_and(may_hold_token);
    let missing: Vec<_> = before
        .iter()
        .filter(|(name, _)| is_token(name) && !variables.iter().any(|(known, _)| known == name))
        .cloned()
        .collect();
    variables.extend(missing);
}

/// Restores variables that changed but are not named in the command line, or that such a command may
/// not export: the user would approve a later command without seeing that it gets another value.
fn keep_named_changes(
    variables: &mut Vec<(OsString, OsString)>,
    command: &str,
    before: &[(OsString, OsString)],
) {
    let is_kept = |name: &OsString| {
        let is_named = |text: &str| command.contains(text) && may_be_exported_unasked(text);
        name.to_str().is_some_and(is_named) && !is_changed_by_confinement(name)
    };
    variables.retain(|(name, _)| is_kept(name));
    variables.extend(before.iter().filter(|(name, _)| !is_kept(name)).cloned());
}

/// May a command export this variable without a question?
fn may_be_exported_unasked(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && is_read_only_line(&format!("export {name}=x"))
}

struct ShellExitReport {
    /// `None` if its directory was deleted.
    directory: Option<PathBuf>,
    variables: Option<Vec<(OsString, OsString)>>,
    is_cut: bool,
}

impl ShellExitReport {
    /// `None` if the shell did not exit normally.
    fn read_and_remove(file: &Path) -> Option<Self> {
        let _ = std::fs::remove_file(append_names_suffix(file));
        let mut bytes = Vec::new();
        let opened = open_report(file)?;
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

    fn apply_variables(
        &self,
        context: &ToolSessionContext,
        side: CommandSide,
    ) -> Result<(), String> {
        if self.is_cut {
            return Err(format!(
                "The exported variables have more than {REPORT_BYTES_MAX} bytes; the next command \
                 gets those from before."
            ));
        }
        if let Some(variables) = &self.variables {
            let base = &context.processes.environment;
            context.shell.set_exported_variables(base, variables, side);
        }
        Ok(())
    }
}
