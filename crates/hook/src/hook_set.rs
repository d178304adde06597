//! The hooks of a session, and the selection for one event.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::callback::HookCallback;
use crate::config::{HookConfigParser, HookSource};
use crate::event::HookEvent;
use crate::hook::{Hook, HookType, OnFailure};
use crate::http_hook::HookHttpPolicy;

/// The hooks of a session. Clones share their state, so that a hook with `once` runs only once.
#[derive(Clone, Debug, Default)]
pub struct HookSet {
    hooks: Vec<Arc<Hook>>,
    pub(crate) http_policy: Arc<HookHttpPolicy>,
}

#[derive(Clone, Debug)]
pub struct SelectedHooks {
    pub(crate) hooks: Vec<Arc<Hook>>,
    pub(crate) http_policy: Arc<HookHttpPolicy>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookListing {
    pub event: HookEvent,
    /// The matcher; empty matches everything.
    pub matcher: String,
    /// The permission rule of `if`.
    pub condition: Option<String>,
    pub kind: HookType,
    pub name: String,
    pub timeout_millis: u128,
    pub on_failure: Option<OnFailure>,
    pub source: String,
    /// Not disabled for this session.
    pub is_enabled: bool,
}

impl HookSet {
    /// Parses the `hooks` value of one settings layer. The second value lists its problems; all
    /// valid entries are used.
    #[must_use]
    pub fn parse(value: &Value, source: &HookSource) -> (Self, Vec<String>) {
        Self::parse_from(value, source, None)
    }

    /// Parses the `hooks` of a client with callbacks.
    #[must_use]
    pub fn parse_callbacks(value: &Value, callback: Arc<dyn HookCallback>) -> (Self, Vec<String>) {
        Self::parse_from(value, &HookSource::new("initialize"), Some(callback))
    }

    fn parse_from(
        value: &Value,
        source: &HookSource,
        callback: Option<Arc<dyn HookCallback>>,
    ) -> (Self, Vec<String>) {
        let mut reader = HookConfigParser { source, callback, problems: Vec::new() };
        let hooks = reader.parse(value);
        (Self { hooks, http_policy: Arc::default() }, reader.problems)
    }

    /// Appends the other hooks.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.hooks.extend(other.hooks);
        // A policy in one of the two sets applies to all hooks.
        if *self.http_policy == HookHttpPolicy::default() {
            self.http_policy = other.http_policy;
        }
        self
    }

    /// The same hooks, but those that also exist in `old` keep their state: a `once` hook does not
    /// run again.
    #[must_use]
    pub fn with_previous_state(mut self, old: &Self) -> Self {
        for hook in &mut self.hooks {
            let is_it = |known: &&Arc<Hook>| known.is_unchanged(hook);
            if let Some(known) = old.hooks.iter().find(is_it) {
                *hook = Arc::clone(known);
            }
        }
        self
    }

    #[must_use]
    pub fn with_http_policy(mut self, policy: HookHttpPolicy) -> Self {
        self.http_policy = Arc::new(policy);
        self
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    #[must_use]
    pub fn has_event(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }

    /// Selects hooks whose matcher matches the target (a tool's name, a source, a reason), and
    /// whose `if` rule `speaks` accepts. Of several with the same action only one is selected.
    pub fn select(
        &self,
        event: HookEvent,
        target: Option<&str>,
        speaks: impl Fn(&str) -> bool,
    ) -> SelectedHooks {
        let mut hooks: Vec<Arc<Hook>> = Vec::new();
        for hook in self.hooks.iter().filter(|hook| hook.event == event) {
            let is_meant =
                !event.has_matcher_target() || hook.matcher.matches(target.unwrap_or_default());
            let is_so = match &hook.condition {
                None => true,
                Some(rule) => event.is_about_tool_call() && speaks(rule),
            };
            let is_new = !hooks.iter().any(|other| other.runs_same_action(hook));
            let is_over = hook.once && hook.has_run.load(Ordering::Relaxed);
            let is_off = hook.is_off.load(Ordering::Relaxed);
            if is_meant && is_so && is_new && !is_over && !is_off {
                hooks.push(Arc::clone(hook));
            }
        }
        SelectedHooks { hooks, http_policy: Arc::clone(&self.http_policy) }
    }

    /// Enables or disables a listed hook by index, for the rest of the session and in all clones.
    /// Returns whether it exists.
    pub fn set_enabled(&self, place: usize, is_on: bool) -> bool {
        let hook = self.hooks.get(place);
        hook.inspect(|hook| hook.is_off.store(!is_on, Ordering::Relaxed)).is_some()
    }

    #[must_use]
    pub fn list(&self) -> Vec<HookListing> {
        self.hooks.iter().map(|hook| to_listing(hook)).collect()
    }
}

impl SelectedHooks {
    #[must_use]
    pub fn len(&self) -> usize {
        self.hooks.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    #[must_use]
    pub fn longest_timeout(&self) -> std::time::Duration {
        self.hooks.iter().map(|hook| hook.timeout()).max().unwrap_or_default()
    }
}

fn to_listing(hook: &Hook) -> HookListing {
    HookListing {
        event: hook.event,
        matcher: hook.matcher_text.clone(),
        condition: hook.condition.clone(),
        kind: hook.kind.hook_type(),
        name: hook.name(),
        timeout_millis: hook.timeout().as_millis(),
        on_failure: hook.on_failure,
        source: hook.source.to_string(),
        is_enabled: !hook.is_off.load(Ordering::Relaxed),
    }
}
