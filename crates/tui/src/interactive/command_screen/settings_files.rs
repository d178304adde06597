//! `/config`: the settings files, each opened in an editor.

use windlass_assembly::slash_command::RuleFile;
use windlass_settings::rule_file_path;

use super::super::prompt_handler::PromptHandler;
use super::super::words;
use super::build_item;
use super::permissions::rule_file_to_source;
use crate::{Picker, PromptAction};
use windlass_host::command_error::CommandError;

impl PromptHandler {
    /// A changed file takes effect with the next prompt.
    pub(super) fn edit_settings(
        &self,
        file: Option<RuleFile>,
    ) -> Result<PromptAction, CommandError> {
        let request = self.build_settings_request()?;
        let find = |file: RuleFile| rule_file_path(&request, rule_file_to_source(file));
        if let Some(file) = file {
            let path = find(file).ok_or_else(|| CommandError::failure(words::NO_HOME))?;
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(|error| {
                    CommandError::failure(words::describe_export_failure(folder, &error))
                })?;
            }
            return Ok(PromptAction::EditFile(path));
        }
        let items = RuleFile::ALL.into_iter().filter_map(|file| {
            let path = find(file)?;
            let note = if path.exists() { "" } else { words::NEW_FILE };
            let label = self.shorten_path(&path.to_string_lossy());
            Some(build_item(format!("/config {}", file.name()), label, note))
        });
        Ok(PromptAction::OpenPicker(Picker::new(words::TITLE_CONFIG, items.collect())))
    }
}
