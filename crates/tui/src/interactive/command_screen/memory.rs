//! `/memory`: which files of standing instructions were read, and an editor for each.

use std::path::{Path, PathBuf};

use crate::{Picker, PickerItem, PromptAction as Meant};

use super::super::prompt_handler::PromptHandler;
use super::{build_item, read_environment};
use windlass_host::command_error::CommandError;
use windlass_host::user_directories;

impl PromptHandler {
    /// What was read, then where more could be written.
    pub(super) async fn build_memory_picker(&self) -> Picker {
        let text =
            self.read_current_settings().await.ok().and_then(|settings| settings.user_context);
        let read = text.as_deref().map(parse_memory_sources).unwrap_or_default();
        let mut items = vec![build_item("/memory show", "Show what was read", "")];
        let row = |path: &Path, about: &str| -> PickerItem {
            let path = path.to_string_lossy();
            build_item(format!("/memory edit {path}"), self.shorten_path(&path), about)
        };
        items.extend(read.iter().map(|(path, whose)| row(path, whose)));
        let own = user_directories::claude_directory(&read_environment)
            .map(|folder| folder.join("CLAUDE.md"));
        let project = windlass_settings::find_project_root(&self.cwd);
        let more = [
            (Some(project.join("AGENTS.md")), "of the project, for everybody; not there yet"),
            (Some(project.join("CLAUDE.local.md")), "of the project, for you; not there yet"),
            (own, "the user's own, for all projects; not there yet"),
        ];
        items.extend(more.into_iter().filter_map(|(path, about)| {
            path.filter(|path| !path.exists()).map(|path| row(&path, about))
        }));
        Picker::new("Standing instructions: Enter opens a file in your editor", items)
    }

    pub(super) async fn show_memory(&self) -> Result<Meant, CommandError> {
        Ok(Meant::ShowText(match self.read_current_settings().await?.user_context {
            Some(text) => format!("{}\n", text.trim_end()),
            None => "There are no standing instructions; `/init` writes them.\n".to_owned(),
        }))
    }

    /// Opens one. What changes counts from the next session on.
    pub(super) fn edit_memory(&self, path: &str) -> Result<Meant, CommandError> {
        let path = self.cwd.join(path);
        let is_page = path.extension().is_some_and(|end| end == "md");
        let has_folder = path.parent().is_some_and(Path::is_dir);
        match is_page && has_folder {
            true => Ok(Meant::EditFile(path)),
            false => Err(CommandError::usage(format!(
                "{} is no file of instructions; give one that ends in .md",
                path.display()
            ))),
        }
    }
}

/// The files a text was put together from, and whose they are.
fn parse_memory_sources(text: &str) -> Vec<(PathBuf, String)> {
    let source = |line: &str| {
        let (path, whose) = line.strip_prefix("From ")?.strip_suffix("):")?.rsplit_once(" (")?;
        Path::new(path).is_absolute().then(|| (PathBuf::from(path), whose.to_owned()))
    };
    text.lines().filter_map(source).collect()
}
