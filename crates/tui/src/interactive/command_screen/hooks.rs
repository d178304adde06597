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
            (HookOutcome::Success, None | Some(0)) => "fine".to_owned(),
            (HookOutcome::Success, Some(code)) => format!("ended with {code}"),
            (HookOutcome::Cancelled, _) => "called off".to_owned(),
            (HookOutcome::Error, Some(code)) => format!("failed with {code}"),
            (HookOutcome::Error, None) => "failed".to_owned(),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < HOOK_RUNS_MAX {
            all.insert(((*event).to_owned(), hook.clone()), format!("{result}, {} ms", took.0));
        }
    }

    fn describe_last_run(&self, hook: &HookListing) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (hook.event.name().to_owned(), hook.name.clone());
        all.get(&key).map_or_else(|| "not run yet".to_owned(), |result| format!("last: {result}"))
    }
}

impl PromptHandler {
    pub(super) async fn build_hook_picker(&self) -> Picker {
        let mut items: Vec<PickerItem> = Vec::new();
        let reloader = self.settings_state.reloader.lock().await;
        for (hook, number) in reloader.hooks.list().iter().zip(1_usize..) {
            let (state, other_state) = if hook.is_enabled { ("on", "off") } else { ("off", "on") };
            let matcher = if hook.matcher.is_empty() { "*" } else { &hook.matcher };
            let label = format!("{} {matcher}  {} {}", hook.event.name(), hook.kind, hook.name);
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
            items.push(build_item(
                "",
                "There are no hooks",
                "settings have them: see docs/hooks.md",
            ));
        }
        Picker::new("Hooks: Enter switches one on or off for this session", items)
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
            return Err(CommandError::usage(format!(
                "there is no hook {number}; /hooks lists them"
            )));
        };
        if is_managed(&reloader.layers, hook) && !is_on {
            return Err(CommandError::usage("the administrator set this hook; it stays on"));
        }
        reloader.hooks.set_enabled(index, is_on);
        drop(reloader);
        let state = if is_on { "on" } else { "off for this session" };
        let words = format!("{} {} is {state}", hook.event.name(), to_single_line(&hook.name));
        Ok(PromptAction::ShowResult(words, Some(self.build_hook_picker().await)))
    }
}

fn is_managed(layers: &SettingsLayers, hook: &HookListing) -> bool {
    let mut hooks = layers.loaded.hooks.iter();
    hooks.any(|layer| layer.source == SettingsSource::Managed && layer.name == hook.source)
}

/// Hooks whose last run is remembered.
const HOOK_RUNS_MAX: usize = 1_000;
