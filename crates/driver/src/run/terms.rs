//! What holds for one run alone: rules and a model that a prompt brings along, and hooks that a skill
//! brings from when it is loaded.

use std::sync::Arc;

use serde_json::Value;
use windlass_engine::{Event, Settings};
use windlass_permission::Rule;
use windlass_vocabulary::{ModelFacts, ModelName, ToolCall};

use super::Run;
use super::command::Change;
use crate::hook::door::Passage;
use crate::session::Submission;
use crate::tool::subagent::choose;

/// What the run under way was lent.
pub(crate) struct Lent {
    allow: Vec<Rule>,
    /// Who was asked before.
    model: ModelFacts,
    fallbacks: Vec<ModelFacts>,
}

impl Run {
    /// A prompt brings terms of its own along: they hold from before it until its run is over.
    pub(super) fn lend(&mut self, mut submission: Submission) -> Event {
        let allow = std::mem::take(&mut submission.allow);
        let model = submission.model.take();
        if let Some(wanted) = model.as_ref().filter(|wanted| !self.knows(wanted)) {
            let asked = &self.settings.model.name;
            self.performer.warn(format!(
                "the page wants {wanted}, which cannot be asked here; {asked} is asked as usual"
            ));
        }
        self.ready.push_front(Passage::Prompt(submission));
        let settings = &self.settings;
        let mut lent = self.lent.take().unwrap_or_else(|| Lent {
            allow: Vec::new(),
            model: settings.model.clone(),
            fallbacks: settings.fallbacks.clone(),
        });
        lent.allow.extend(allow.iter().cloned());
        self.lent = Some(lent);
        let models = Arc::clone(&self.models);
        self.configured(Change(Box::new(move |settings: &mut Settings| {
            settings.policy.rules.allow.extend(allow);
            if let Some(model) = &model {
                choose(settings, &models, model);
            }
        })))
    }

    /// Can it be asked in this session?
    fn knows(&self, wanted: &ModelName) -> bool {
        let Settings { model, fallbacks, small_model, .. } = &*self.settings;
        let mut own = std::iter::once(model).chain(fallbacks).chain(small_model);
        own.any(|model| model.name == *wanted)
            || self.models.iter().any(|(name, _)| name == wanted.as_str())
    }

    /// The run is over, and with it what was lent to it.
    pub(super) fn end_terms(&mut self) {
        let Some(Lent { allow, model, fallbacks }) = self.lent.take() else { return };
        let event = self.configured(Change(Box::new(move |settings: &mut Settings| {
            let rules = &mut settings.policy.rules.allow;
            for rule in &allow {
                if let Some(place) = rules.iter().rposition(|known| known == rule) {
                    rules.remove(place);
                }
            }
            (settings.model, settings.fallbacks) = (model, fallbacks);
        })));
        self.ready.push_back(Passage::Words(event));
    }

    /// The model loads a skill: from now on its hooks are asked too.
    pub(super) fn loaded(&mut self, call: &ToolCall) {
        let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
        let name = input.get("skill").and_then(Value::as_str).unwrap_or_default();
        if let Some(event) = self.load(name.trim().trim_start_matches('/')) {
            self.ready.push_back(Passage::Words(event));
        }
    }

    /// What a skill of this name brings along, if it was not loaded before.
    pub(super) fn load(&mut self, name: &str) -> Option<Event> {
        let place = self.skill_hooks.iter().position(|(skill, _)| skill == name)?;
        let (_, set) = self.skill_hooks.remove(place);
        let (points, has_stop) = self.hooks.add(set);
        Some(self.configured(Change(Box::new(move |settings: &mut Settings| {
            crate::hook::heed(settings, points);
            settings.limits.stop_hooks = has_stop;
        }))))
    }
}
