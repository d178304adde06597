//! `/hooks`: the hooks in force, how each went the last time, and a switch for this session. Those of
//! the administrator cannot be switched off.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use windlass_driver::hooks::Listed;
use windlass_settings::Source;
use windlass_terminal::{Item, Order as Meant, Picker};
use windlass_vocabulary::Notice;
use windlass_vocabulary::hook::{HookNotice, HookOutcome};

use super::super::desk::Desk;
use super::item;
use crate::layers::Layers;
use crate::refusal::{Refusal, one_line};

/// How hooks went the last time, by event and name.
#[derive(Debug, Default)]
pub(crate) struct Heard(Mutex<HashMap<(String, String), String>>);

impl Heard {
    /// Notes how one went.
    pub(crate) fn hear(&self, notice: &Notice) {
        let Notice::Hook(HookNotice::Ended { event, hook, outcome, took, exit_code, .. }) = notice
        else {
            return;
        };
        let how = match (outcome, exit_code) {
            (HookOutcome::Success, None | Some(0)) => "fine".to_owned(),
            (HookOutcome::Success, Some(code)) => format!("ended with {code}"),
            (HookOutcome::Cancelled, _) => "called off".to_owned(),
            (HookOutcome::Error, Some(code)) => format!("failed with {code}"),
            (HookOutcome::Error, None) => "failed".to_owned(),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < HEARD_MAX {
            all.insert(((*event).to_owned(), hook.clone()), format!("{how}, {} ms", took.0));
        }
    }

    fn of(&self, hook: &Listed) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (hook.event.name().to_owned(), hook.name.clone());
        all.get(&key).map_or_else(|| "not run yet".to_owned(), |how| format!("last: {how}"))
    }
}

impl Desk {
    /// The hooks there are.
    pub(super) async fn hook_list(&self) -> Picker {
        let mut items: Vec<Item> = Vec::new();
        let live = self.live.lock().await;
        for (hook, number) in live.hooks.listing().iter().zip(1_usize..) {
            let (state, turn) = if hook.is_on { ("on", "off") } else { ("off", "on") };
            let matcher = if hook.matcher.is_empty() { "*" } else { &hook.matcher };
            let label = format!("{} {matcher}  {} {}", hook.event.name(), hook.kind, hook.name);
            let (managed, value) = match is_managed(&live.layers, hook) {
                true => (", managed", String::new()),
                false => ("", format!("/hooks {turn} {number}")),
            };
            let (how, source) = (self.heard.of(hook), self.short(&hook.source));
            items.push(item(
                value,
                one_line(&label),
                format!("{state}{managed} · {how} · {source}"),
            ));
        }
        if items.is_empty() {
            items.push(item("", "There are no hooks", "settings have them: see docs/hooks.md"));
        }
        Picker::new("Hooks: Enter switches one on or off for this session", items)
    }

    /// Switches one.
    pub(super) async fn switch_hook(&self, number: usize, is_on: bool) -> Result<Meant, Refusal> {
        let live = self.live.lock().await;
        let listing = live.hooks.listing();
        let place = number.checked_sub(1);
        let hook = place.and_then(|place| listing.get(place));
        let (Some(place), Some(hook)) = (place, hook) else {
            return Err(Refusal::usage(format!("there is no hook {number}; /hooks lists them")));
        };
        if is_managed(&live.layers, hook) && !is_on {
            return Err(Refusal::usage("the administrator set this hook; it stays on"));
        }
        live.hooks.switch(place, is_on);
        drop(live);
        let state = if is_on { "on" } else { "off for this session" };
        let words = format!("{} {} is {state}", hook.event.name(), one_line(&hook.name));
        Ok(Meant::Done(words, Some(self.hook_list().await)))
    }
}

fn is_managed(layers: &Layers, hook: &Listed) -> bool {
    let mut hooks = layers.loaded.hooks.iter();
    hooks.any(|layer| layer.source == Source::Managed && layer.name == hook.source)
}

/// Hooks whose last run is remembered.
const HEARD_MAX: usize = 1_000;
