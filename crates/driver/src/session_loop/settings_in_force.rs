//! Temporary settings: rules and a model that a prompt sets for its run, and hooks that a skill
//! adds when it is loaded.

use std::sync::Arc;

use serde_json::Value;
use windlass_engine::{Event, Settings};
use windlass_permission::Rule;
use windlass_vocabulary::{ModelFacts, ModelName, ToolCall};

use super::SessionLoop;
use crate::hook::prompt_intake::IntakeItem;
use crate::model::switch_model;
use crate::prompt_submission::PromptSubmission;

pub(crate) struct RunOverrides {
    allow: Vec<Rule>,
    model: ModelFacts,
    fallbacks: Vec<ModelFacts>,
}

impl SessionLoop {
    /// Applies the options of a prompt, until its run ends.
    pub(super) fn apply_run_overrides(&mut self, mut submission: PromptSubmission) -> Event {
        let allow = std::mem::take(&mut submission.allow);
        let model = submission.model.take();
        if let Some(wanted) = model.as_ref().filter(|wanted| !self.is_known_model(wanted)) {
            let asked = &self.settings.model.name;
            self.performer.warn(format!(
                "the page wants {wanted}, which is not available here; {asked} is used"
            ));
        }
        self.inbox.ready_items.push_front(IntakeItem::Prompt(submission));
        let settings = &self.settings;
        let mut overrides = self.overrides.active.take().unwrap_or_else(|| RunOverrides {
            allow: Vec::new(),
            model: settings.model.clone(),
            fallbacks: settings.fallbacks.clone(),
        });
        overrides.allow.extend(allow.iter().cloned());
        self.overrides.active = Some(overrides);
        let models = Arc::clone(&self.overrides.named_models);
        self.change_settings(|settings| {
            settings.policy.rules.allow.extend(allow);
            if let Some(model) = &model {
                switch_model(settings, &models, model);
            }
        })
    }

    /// Does the session know this model?
    fn is_known_model(&self, wanted: &ModelName) -> bool {
        let Settings { model, fallbacks, small_model, .. } = &*self.settings;
        let mut own = std::iter::once(model).chain(fallbacks).chain(small_model);
        own.any(|model| model.name == *wanted)
            || self.overrides.named_models.iter().any(|(name, _)| name == wanted.as_str())
    }

    /// Restores the settings after the run.
    pub(super) fn revert_run_overrides(&mut self) {
        let Some(RunOverrides { allow, model, fallbacks }) = self.overrides.active.take() else {
            return;
        };
        let event = self.change_settings(|settings| {
            let rules = &mut settings.policy.rules.allow;
            for rule in &allow {
                if let Some(place) = rules.iter().rposition(|known| known == rule) {
                    rules.remove(place);
                }
            }
            settings.model = model;
            settings.fallbacks = fallbacks;
        });
        self.inbox.ready_items.push_back(IntakeItem::Event(event));
    }

    /// The model loads a skill: its hooks are active from now on.
    pub(super) fn load_called_skill(&mut self, call: &ToolCall) {
        let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
        let name = input.get("skill").and_then(Value::as_str).unwrap_or_default();
        if let Some(event) = self.load_skill_hooks(name.trim().trim_start_matches('/')) {
            self.inbox.ready_items.push_back(IntakeItem::Event(event));
        }
    }

    /// Adds the hooks of this skill, unless it was loaded before.
    pub(super) fn load_skill_hooks(&mut self, name: &str) -> Option<Event> {
        let place = self.overrides.skill_hooks.iter().position(|(skill, _)| skill == name)?;
        let (_, set) = self.overrides.skill_hooks.remove(place);
        let (points, has_stop) = self.hooks.add_skill_hooks(set);
        Some(self.change_settings(|settings| {
            crate::hook::apply_hook_points(settings, points);
            settings.limits.stop_hooks = has_stop;
        }))
    }
}
