//! Confines single programs of a command line, when a rule lets another part of it run freely.
//!
//! One shell runs all parts, and the kernel can only confine processes. So each program that no
//! rule permits gets our entry program as a prefix, which drops its rights and executes the
//! program. Variables, directory, pipes and redirections remain the shell's.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use windlass_permission::shell_command::{may_start_git, may_walk_directories};

use super::call_confinement::CallConfinement;
use super::confined_environment::{confine_environment, neutralize_git};
use super::launch::HeldProgramsRequest;
use super::process_confinement::{PrivateDirectory, find_hidden_files};
use crate::shell_state::CommandSide;
use crate::tool_session_context::ToolSessionContext;

/// A command line with the prefixes, and the directory of their plan.
#[derive(Debug)]
pub(crate) struct HeldProgramsLine {
    pub(crate) text: String,
    pub(crate) directory: Arc<PrivateDirectory>,
}

/// The command line with the programs confined that the grant names. `None` if the whole line is
/// confined, or nothing can confine it: the permission check has taken that into account.
///
/// # Errors
/// They cannot be confined, as a message for the model.
pub(crate) async fn hold_programs(
    command: &str,
    granted: CallConfinement<'_>,
    standing: &Path,
    context: &ToolSessionContext,
) -> Result<Option<HeldProgramsLine>, String> {
    let starts = granted.held_words;
    let processes = &context.processes;
    let is_free = processes.launcher.is_none() && processes.command_prefix.is_none();
    let Some(cell) = processes.cell.as_ref().filter(|_| is_free && !starts.is_empty()) else {
        return Ok(None);
    };
    let broken = |error: std::io::Error| {
        format!("The programs of this command line cannot be confined: {error}.")
    };
    let directory = PrivateDirectory::create(processes).map_err(broken)?;
    let temporary = directory.path().join("tmp");
    std::fs::create_dir(&temporary).map_err(broken)?;
    let before = context.build_child_environment(CommandSide::Inside);
    let mut after = before.clone();
    confine_environment(&mut after, &temporary);
    if may_start_git(command) {
        let held_git = Arc::clone(&processes.held_git);
        let standing = standing.to_owned();
        let found = tokio::task::spawn_blocking(move || held_git.neutralize(&standing)).await;
        let found =
            found.map_err(|_| "It is unknown which programs git would run here.".to_owned())?;
        if let Some(why) = found.obstacle {
            return Err(format!(
                "{why} Git does not run so without the user's yes. {}",
                super::ASK_TO_RUN_UNCONFINED
            ));
        }
        neutralize_git(&mut after, found.variables);
    }
    let set: Vec<_> = after.iter().filter(|pair| !before.contains(pair)).cloned().collect();
    let is_gone = |name: &OsString| !after.iter().any(|(own, _)| own == name);
    let unset: Vec<_> = before.into_iter().map(|(name, _)| name).filter(is_gone).collect();
    // If the project has too many files to scan, only programs that may open a hidden file fail;
    // the arguments of the others were checked.
    let hidden = match find_hidden_files(context) {
        Err(_) if !may_walk_directories(command) => Vec::new(),
        found => found?,
    };
    let words = cell.hold_programs(&HeldProgramsRequest {
        directory: directory.path(),
        temporary_directory: &temporary,
        hidden: &hidden,
        readable: granted.readable,
        set: &set,
        unset: &unset,
    })?;
    let prefix = quote_words(&words).ok_or(
        "The programs of this command line cannot be confined: our own path cannot be quoted.",
    )?;
    let text = insert_before(command, starts, &prefix)
        .ok_or("The programs of this command line cannot be confined: the line has changed.")?;
    Ok(Some(HeldProgramsLine { text, directory: Arc::new(directory) }))
}

/// Quotes words for the shell. `None` if they cannot be quoted safely everywhere.
fn quote_words(words: &[OsString]) -> Option<String> {
    let mut text = String::new();
    for word in words {
        let word = word.to_str().filter(|word| !word.contains(['\'', '\\', '\n', '!']))?;
        text.push('\'');
        text.push_str(word);
        text.push_str("' ");
    }
    Some(text)
}

fn insert_before(command: &str, starts: &[usize], prefix: &str) -> Option<String> {
    let mut text = String::with_capacity(command.len() + starts.len() * prefix.len());
    let mut last = 0;
    for start in starts {
        text.push_str(command.get(last..*start)?);
        text.push_str(prefix);
        last = *start;
    }
    text.push_str(command.get(last..)?);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_before_each_program() {
        let line = insert_before("make | grep x && wc -l a", &[7, 17], "'p' '--' ");
        assert_eq!(line.as_deref(), Some("make | 'p' '--' grep x && 'p' '--' wc -l a"));
        assert_eq!(insert_before("abc", &[9], "x"), None);
        assert_eq!(insert_before("abc", &[2, 1], "x"), None);
        assert_eq!(quote_words(&["/a b/c".into(), "--".into()]).as_deref(), Some("'/a b/c' '--' "));
        assert_eq!(quote_words(&["/it's".into()]), None);
    }
}
