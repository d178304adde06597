//! Reads a project's branch from its git files. Starts no program; an unusual repository has no
//! branch.

use std::path::{Path, PathBuf};

use windlass_host::regular_file::read_or_skip;

pub fn current_branch(cwd: &Path) -> Option<String> {
    let git = cwd.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())?;
    let head = read_or_skip(&git_directory(git)?.join("HEAD"), BYTES_MAX)?;
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    (branch.len() <= BRANCH_MAX).then(|| branch.to_owned())
}

/// In a worktree, `.git` is a file with the path of the git directory.
fn git_directory(git: PathBuf) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git);
    }
    let text = read_or_skip(&git, BYTES_MAX)?;
    Some(git.parent()?.join(text.trim().strip_prefix("gitdir: ")?))
}

const BRANCH_MAX: usize = 250;
/// Bytes of the files that name a branch.
const BYTES_MAX: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_branch_is_read_in_a_repository_and_in_a_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work/deep");
        let tree = folder.path().join("tree");
        let git = folder.path().join("work/.git");
        for path in [&work, &tree, &git.join("worktrees/tree")] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/feature/one\n").unwrap();
        fs::write(git.join("worktrees/tree/HEAD"), "ref: refs/heads/two\n").unwrap();
        let place = git.join("worktrees/tree");
        fs::write(tree.join(".git"), format!("gitdir: {}\n", place.display())).unwrap();
        assert_eq!(current_branch(&work).as_deref(), Some("feature/one"));
        assert_eq!(current_branch(&tree).as_deref(), Some("two"));
        fs::write(git.join("HEAD"), "0123456789abcdef\n").unwrap();
        assert_eq!(current_branch(&work), None);
    }
}
