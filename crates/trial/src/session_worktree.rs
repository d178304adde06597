//! `--worktree`: a session works in a git worktree beside the repository, on a branch of its own, so
//! that several can work at once.
//!
//! The worktree has the last commit and the user's local settings. It is a project of its own: what
//! it brings along is trusted for itself. If nothing happened in it, it is removed at the end; else
//! the user is told where it is, and the same name enters it again.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_assembly::directories::working_directory;
use windlass_git::worktree::{GitWorktree, find_repository_root, is_same_repository};
use windlass_host::command_error::CommandError;
use windlass_host::random::generate_uuid;
use windlass_host::standard_streams::write_error_line;

/// Runs a session, in a worktree if one is wanted: one of this name, or a new one.
pub async fn run_in_worktree<T>(
    wanted: Option<Option<String>>,
    session: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    let worktree = wanted.map(SessionWorktree::enter).transpose()?;
    let ended = session.await;
    if let Some(worktree) = worktree {
        worktree.leave();
    }
    ended
}

#[derive(Debug)]
struct SessionWorktree {
    worktree: GitWorktree,
    /// Where the session was started.
    started_in: PathBuf,
    branch: String,
    is_new: bool,
}

impl SessionWorktree {
    /// Makes the worktree of this name, or finds it, and moves the process there. Blocks.
    fn enter(name: Option<String>) -> Result<Self, CommandError> {
        let started_in = working_directory()?;
        let name = name.unwrap_or_else(|| generate_uuid().chars().take(8).collect());
        check_name(&name)?;
        let fail = |why: String| CommandError::failure(format!("--worktree: {why}"));
        let root = find_repository_root(&started_in).map_err(fail)?;
        let path = name_folder(&root, &name).ok_or_else(|| {
            fail(format!("`{}` has no folder beside it for a worktree", root.display()))
        })?;
        let branch = format!("worktree-{name}");
        let is_new = fs::symlink_metadata(&path).is_err();
        let worktree = match is_new {
            true => GitWorktree::create(&started_in, path, Some(&branch)).map_err(fail)?,
            false if is_same_repository(&path, &root) => {
                GitWorktree::open_existing(path).map_err(fail)?
            }
            false => {
                let place = path.display();
                return Err(fail(format!(
                    "{place} already exists and is not a worktree of this repository"
                )));
            }
        };
        if is_new {
            copy_local_settings(&root, worktree.path()).map_err(|error| {
                worktree.remove();
                fail(format!("your {LOCAL_SETTINGS} was not copied: {error}"))
            })?;
        }
        let below = started_in.strip_prefix(&root).unwrap_or(Path::new(""));
        let entered = Some(worktree.path().join(below)).filter(|folder| folder.is_dir());
        let entered = entered.unwrap_or_else(|| worktree.path().to_owned());
        std::env::set_current_dir(&entered)
            .map_err(|error| fail(format!("{}: {error}", entered.display())))?;
        Ok(Self { worktree, started_in, branch, is_new })
    }

    /// Removes it if nothing happened in it; else says where it is.
    fn leave(self) {
        // If that folder is gone, this one is left all the same when the process ends.
        let _ = std::env::set_current_dir(&self.started_in);
        let changes = self.worktree.describe_changes(&[LOCAL_SETTINGS]);
        if self.is_new && changes == Ok(None) {
            return self.worktree.remove();
        }
        let path = self.worktree.path().display();
        let happened = match changes {
            Ok(Some(changes)) => format!("; {changes}"),
            Ok(None) => String::new(),
            Err(why) => format!("; {why}"),
        };
        write_error_line(&format!("windlass: the worktree is {path} ({}{happened})", self.branch));
    }
}

/// It becomes a part of a folder's name and of a branch's.
fn check_name(name: &str) -> Result<(), CommandError> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_name = name.chars().all(is_letter)
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !name.contains("..")
        && !name.ends_with('.')
        && !name.ends_with(".lock")
        && name.len() <= NAME_BYTES_MAX;
    match is_name {
        true => Ok(()),
        false => Err(CommandError::usage(format!(
            "`{name}` is not a valid name for a worktree; use letters, digits, - and _, and give the prompt \
             after -p"
        ))),
    }
}

fn name_folder(root: &Path, name: &str) -> Option<PathBuf> {
    let own = root.file_name()?.to_str()?;
    Some(root.parent()?.join(format!("{own}-{name}")))
}

/// They are seldom committed, and what they deny is denied there too.
fn copy_local_settings(root: &Path, worktree: &Path) -> std::io::Result<()> {
    let from = root.join(LOCAL_SETTINGS);
    let to = worktree.join(LOCAL_SETTINGS);
    if !from.is_file() || to.exists() {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).map(drop)
}

const LOCAL_SETTINGS: &str = ".claude/settings.local.json";
const NAME_BYTES_MAX: usize = 64;
