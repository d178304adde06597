//! What a command in a read-only cell may see, as data.
//!
//! A cell writes only its temporary directory and uses no sockets, so this has fewer fields than a
//! [`SandboxPlan`](crate::SandboxPlan).

use std::path::{Path, PathBuf};

use crate::visible_home::find_private_home;

/// What one command in a read-only cell may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellPlan {
    /// The only directory it may write to; exists, and is used by no other command.
    pub temporary_directory: PathBuf,
    /// Files and directories that it must not read. They need not exist.
    pub hidden: Vec<PathBuf>,
    /// A home directory, which is hidden too.
    pub home: Option<PathBuf>,
    /// Exceptions below hidden directories, such as the working directories.
    pub shown: Vec<PathBuf>,
}

/// Homes of other users, and of root unless we are root.
#[must_use]
pub fn list_other_homes(home: Option<&Path>) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = ["/home", "/Users"]
        .iter()
        .filter_map(|parent| std::fs::read_dir(parent).ok())
        .flat_map(|entries| entries.flatten().take(HOMES_MAX))
        .map(|entry| entry.path())
        .collect();
    homes.push("/root".into());
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    homes.extend(list_account_homes(&accounts));
    homes.retain(|other| {
        let is_own = home.is_some_and(|home| home.starts_with(other));
        !is_own && !SHARED_HOMES.iter().any(|shared| other == Path::new(shared))
    });
    homes.sort_unstable();
    homes.dedup();
    homes
}

/// The homes of people in a list of accounts, wherever they are. System accounts have low numbers.
fn list_account_homes(accounts: &str) -> impl Iterator<Item = PathBuf> {
    let home = |line: &str| {
        let mut fields = line.split(':').skip(2);
        let number: u32 = fields.next()?.parse().ok()?;
        let home = fields.nth(2).map(Path::new)?;
        let is_person = (FIRST_PERSON..NOBODY).contains(&number);
        is_person.then(|| find_private_home(home)).flatten()
    };
    accounts.lines().filter_map(home).take(HOMES_MAX)
}

/// Not of a person: programs for all users.
const SHARED_HOMES: &[&str] = &["/home/linuxbrew", "/Users/Shared"];

const FIRST_PERSON: u32 = 1_000;
const NOBODY: u32 = 65_534;

/// Machines with more users usually have their homes elsewhere.
const HOMES_MAX: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_of_people_are_found_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let accounts = format!(
            "root:x:0:0:root:/root:/bin/bash\n\
             daemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n\
             one:x:1001:1001:One,,,:{home}:/bin/bash\n\
             two:x:1002:1002::/usr:/bin/bash\n\
             three:x:1003:1003::/:/bin/bash\n\
             four:x:1004:1004::/missing:/bin/bash\n\
             nobody:x:65534:65534::{home}:/usr/sbin/nologin\nbroken\n",
            home = home.display()
        );
        assert_eq!(list_account_homes(&accounts).collect::<Vec<_>>(), [home]);
    }
}
