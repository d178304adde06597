//! The models that settings allow (`availableModels`). The default model is always allowed.

use super::{ChosenModel, choose_model};
use crate::config::Config;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

#[derive(Clone, Copy, Debug)]
pub struct AvailableModels<'a>(pub Option<&'a [String]>);

impl AvailableModels<'_> {
    /// Is this model allowed? An entry is a name, a short name, or what follows `claude-` in the names
    /// of a family: `opus` allows every opus.
    pub fn allows(self, chosen: &ChosenModel, config: &Config, lookup: &impl EnvLookup) -> bool {
        let Some(list) = self.0 else { return true };
        let is_it = |entry: &String| {
            let entry = entry.trim();
            let is_family = |name: &str| {
                let rest = name.strip_prefix(entry);
                !entry.is_empty()
                    && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            };
            is_family(chosen.name.strip_prefix("claude-").unwrap_or(&chosen.name))
                || entry == chosen.name
                || choose_model(entry, config, lookup)
                    .is_ok_and(|one| one.full_name() == chosen.full_name())
        };
        list.iter().any(is_it)
    }

    /// Fails for a model that is not allowed.
    pub fn check(
        self,
        chosen: &ChosenModel,
        config: &Config,
        lookup: &impl EnvLookup,
    ) -> Result<(), CommandError> {
        match self.allows(chosen, config, lookup) {
            true => Ok(()),
            false => Err(CommandError::usage(format!(
                "the setting availableModels does not include {}; {}",
                chosen.name,
                self.describe()
            ))),
        }
    }

    pub fn describe(self) -> String {
        match self.0.unwrap_or_default() {
            [] => "only the default model is available".to_owned(),
            list => format!("there are {}", list.join(", ")),
        }
    }
}
