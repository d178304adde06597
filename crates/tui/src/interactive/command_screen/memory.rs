//! `/memory`: the memory files that were read, and an editor for each.

use std::path::{Path, PathBuf};

use crate::{Picker, PickerItem, PromptAction};

use super::super::prompt_handler::PromptHandler;
use super::super::words;
use super::build_item;
use windlass_host::command_error::CommandError;
use windlass_host::environment::process_environment;
use windlass_host::user_directories;

impl PromptHandler {
    /// The files that were read, then those that could be created.
    pub(super) async fn build_memory_picker(&self) -> Picker {
        let text =
            self.read_current_settings().await.ok().and_then(|settings| settings.user_context);
        let read = text.as_deref().map(parse_memory_sources).unwrap_or_default();
        let mut items = vec![build_item("/memory show", words::MEMORY_SHOW, "")];
        let row = |path: &Path, description: &str| -> PickerItem {
            let path = path.to_string_lossy();
            build_item(format!("/memory edit {path}"), self.shorten_path(&path), description)
        };
        items.extend(read.iter().map(|(path, scope)| row(path, scope)));
        let own = user_directories::claude_directory(&process_environment)
            .map(|folder| folder.join("CLAUDE.md"));
        let project = windlass_settings::find_project_root(&self.cwd);
        let more = [
            (Some(project.join("AGENTS.md")), words::MEMORY_NEW_PROJECT),
            (Some(project.join("CLAUDE.local.md")), words::MEMORY_NEW_LOCAL),
            (own, words::MEMORY_NEW_USER),
        ];
        items.extend(more.into_iter().filter_map(|(path, description)| {
            path.filter(|path| !path.exists()).map(|path| row(&path, description))
        }));
        Picker::new(words::TITLE_MEMORY, items)
    }

    pub(super) async fn show_memory(&self) -> Result<PromptAction, CommandError> {
        Ok(PromptAction::ShowText(match self.read_current_settings().await?.user_context {
            Some(text) => format!("{}\n", text.trim_end()),
            None => words::NO_MEMORY.to_owned(),
        }))
    }

    /// Changes take effect in the next session.
    pub(super) fn edit_memory(&self, path: &str) -> Result<PromptAction, CommandError> {
        let path = self.cwd.join(path);
        let is_markdown = path.extension().is_some_and(|extension| extension == "md");
        let has_folder = path.parent().is_some_and(Path::is_dir);
        match is_markdown && has_folder {
            true => Ok(PromptAction::EditFile(path)),
            false => Err(CommandError::usage(words::describe_bad_memory_file(&path))),
        }
    }
}

/// The files that the memory text was assembled from, each with its scope.
fn parse_memory_sources(text: &str) -> Vec<(PathBuf, String)> {
    let source = |line: &str| {
        let (path, scope) = line.strip_prefix("From ")?.strip_suffix("):")?.rsplit_once(" (")?;
        Path::new(path).is_absolute().then(|| (PathBuf::from(path), scope.to_owned()))
    };
    text.lines().filter_map(source).collect()
}
