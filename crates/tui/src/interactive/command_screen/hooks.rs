//! `/hooks`: the hooks in force, the result of the last run of each, and a switch for this session. Managed
//! hooks cannot be switched off.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::{Picker, PickerItem, PromptAction};
use windlass_driver::hooks::HookListing;
use windlass_settings::SettingsSource;
use windlass_vocabulary::Notice;
use windlass_vocabulary::hook::{HookNotice, HookOutcome};

use super::super::prompt_handler::PromptHandler;
use super::super::words;
use super::build_item;
use windlass_assembly::settings::SettingsLayers;
use windlass_host::command_error::{CommandError, to_single_line};

/// The result of the last run of each hook, by event and name.
#[derive(Debug, Default)]
pub(crate) struct LastHookRuns(Mutex<HashMap<(String, String), String>>);

impl LastHookRuns {
    pub(crate) fn on_notice(&self, notice: &Notice) {
        let Notice::Hook(HookNotice::Ended { event, hook, outcome, took, exit_code, .. }) = notice
        else {
            return;
        };
        let result = match (outcome, exit_code) {
            (HookOutcome::Success, None | Some(0)) => words::HOOK_FINE.to_owned(),
            (HookOutcome::Success, Some(code)) => words::describe_hook_exit(code),
            (HookOutcome::Cancelled, _) => words::HOOK_CANCELLED.to_owned(),
            (HookOutcome::Error, Some(code)) => words::describe_hook_failure(code),
            (HookOutcome::Error, None) => words::HOOK_FAILED.to_owned(),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < HOOK_RUNS_MAX {
            all.insert(((*event).to_owned(), hook.clone()), format!("{result}, {} ms", took.0));
        }
    }

    fn describe_last_run(&self, hook: &HookListing) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (hook.event.name().to_owned(), hook.name.clone());
        all.get(&key)
            .map_or_else(|| words::HOOK_NOT_RUN.to_owned(), |result| format!("last: {result}"))
    }
}

impl PromptHandler {
    pub(super) async fn build_hook_picker(&self) -> Picker {
        let mut items: Vec<PickerItem> = Vec::new();
        let reloader = self.settings_state.reloader.lock().await;
        for (hook, number) in reloader.hooks.list().iter().zip(1_usize..) {
            let (state, other_state) = if hook.is_enabled { ("on", "off") } else { ("off", "on") };
            let matcher = if hook.matcher.is_empty() { "*" } else { &hook.matcher };
            let label =
                format!("{} {matcher}  {} {}", hook.event.name(), hook.kind.name(), hook.name);
            let (managed, value) = match is_managed(&reloader.layers, hook) {
                true => (", managed", String::new()),
                false => ("", format!("/hooks {other_state} {number}")),
            };
            let last_run = self.last_hook_runs.describe_last_run(hook);
            let source = self.shorten_path(&hook.source);
            items.push(build_item(
                value,
                to_single_line(&label),
                format!("{state}{managed} · {last_run} · {source}"),
            ));
        }
        if items.is_empty() {
            items.push(build_item("", words::NO_HOOKS, words::NO_HOOKS_NOTE));
        }
        Picker::new(words::TITLE_HOOKS, items)
    }

    /// `number` is the position in the picker, from 1.
    pub(super) async fn switch_hook(
        &self,
        number: usize,
        is_on: bool,
    ) -> Result<PromptAction, CommandError> {
        let reloader = self.settings_state.reloader.lock().await;
        let listing = reloader.hooks.list();
        let index = number.checked_sub(1);
        let hook = index.and_then(|index| listing.get(index));
        let (Some(index), Some(hook)) = (index, hook) else {
            return Err(CommandError::usage(words::describe_unknown_hook(number)));
        };
        if is_managed(&reloader.layers, hook) && !is_on {
            return Err(CommandError::usage(words::HOOK_MANAGED));
        }
        reloader.hooks.set_enabled(index, is_on);
        drop(reloader);
        let name = format!("{} {}", hook.event.name(), to_single_line(&hook.name));
        Ok(PromptAction::ShowResult(
            words::describe_switched_hook(&name, is_on),
            Some(self.build_hook_picker().await),
        ))
    }
}

fn is_managed(layers: &SettingsLayers, hook: &HookListing) -> bool {
    let mut hooks = layers.loaded.hooks.iter();
    hooks.any(|layer| layer.source == SettingsSource::Managed && layer.name == hook.source)
}

/// Hooks whose last run is remembered.
const HOOK_RUNS_MAX: usize = 1_000;
