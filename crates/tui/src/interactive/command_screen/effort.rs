//! `/effort`: how hard the model thinks, for the rest of the session.

use windlass_driver::SettingsChange;
use windlass_vocabulary::Effort;

use super::super::prompt_handler::PromptHandler;
use super::super::words;
use super::build_item;
use crate::{Picker, PromptAction};
use windlass_host::command_error::CommandError;

impl PromptHandler {
    pub(super) async fn change_effort(
        &self,
        name: Option<&str>,
    ) -> Result<PromptAction, CommandError> {
        let Some(name) = name else {
            let current = self.read_current_settings().await?.effort;
            let item = |(name, effort): &(&str, Option<Effort>)| {
                let note = if *effort == current { words::CURRENT } else { "" };
                build_item(format!("/effort {name}"), *name, note)
            };
            let items = EFFORTS.iter().map(item).collect();
            return Ok(PromptAction::OpenPicker(Picker::new(words::TITLE_EFFORT, items)));
        };
        let known = EFFORTS.iter().find(|(known, _)| *known == name);
        let (_, effort) = known.ok_or_else(|| CommandError::usage(words::EFFORT_USAGE))?;
        let sent = self.session.configure([SettingsChange::Effort(*effort)]);
        sent.map_err(|error| CommandError::failure(error.to_string()))?;
        Ok(PromptAction::ShowResult(words::describe_effort(name), None))
    }
}

pub(super) fn name_effort(effort: Option<Effort>) -> &'static str {
    EFFORTS.iter().find(|(_, known)| *known == effort).map_or("default", |(name, _)| name)
}

const EFFORTS: [(&str, Option<Effort>); 6] = [
    ("default", None),
    ("low", Some(Effort::Low)),
    ("medium", Some(Effort::Medium)),
    ("high", Some(Effort::High)),
    ("xhigh", Some(Effort::Xhigh)),
    ("max", Some(Effort::Max)),
];
