//! What the process has used and spent so far, by model.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_vocabulary::{AttemptId, MicroUsd, ModelFacts, Notice, Usage};

use super::frame::ModelUse;
use crate::front::result::dollars;

/// The account of a process.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// What sessions before this one cost.
    earlier: MicroUsd,
    /// What this session has cost in all …
    total: MicroUsd,
    /// … of which other processes spent this much.
    inherited: Option<MicroUsd>,
    /// Whose the request is that is out.
    asked: Option<(AttemptId, String)>,
    used: BTreeMap<String, (Usage, MicroUsd)>,
    facts: BTreeMap<String, (u64, u64)>,
}

impl Account {
    /// What is known of a model.
    pub(crate) fn knows(&mut self, facts: &ModelFacts) {
        let name = facts.name.as_str().to_owned();
        self.facts.insert(name, (facts.window.0, facts.output_max.0));
    }

    /// Another session begins.
    pub(crate) fn next_session(&mut self) {
        self.earlier = self.spent();
        self.total = MicroUsd(0);
        self.inherited = None;
        self.asked = None;
    }

    /// Books what was told.
    pub(crate) fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::RequestStarted { attempt, model, .. } => {
                self.asked = Some((*attempt, model.as_str().to_owned()));
            }
            Notice::Billed { attempt, usage, cost, total } => {
                self.inherited.get_or_insert(total.less(*cost));
                self.total = *total;
                if let Some((_, model)) = self.asked.as_ref().filter(|(it, _)| it == attempt) {
                    let (used, spent) = self.used.entry(model.clone()).or_default();
                    *used += *usage;
                    *spent = *spent + *cost;
                }
            }
            Notice::RunEnded(ending) if self.inherited.is_some() => self.total = ending.cost,
            _ => {}
        }
    }

    /// Dollars spent by this process.
    pub(crate) fn dollars(&self) -> Value {
        dollars(self.spent())
    }

    /// By model.
    pub(crate) fn by_model(&self) -> BTreeMap<String, ModelUse> {
        let one = |(model, (used, spent)): (&String, &(Usage, MicroUsd))| {
            let (window, output) = self.facts.get(model).copied().unwrap_or_default();
            let used = ModelUse {
                input_tokens: used.input.0,
                output_tokens: used.output.0,
                cache_read_input_tokens: used.cache_read.0,
                cache_creation_input_tokens: used.cache_write.0,
                web_search_requests: 0,
                cost_usd: dollars(*spent).as_f64().unwrap_or_default(),
                context_window: window,
                max_output_tokens: output,
            };
            (model.clone(), used)
        };
        self.used.iter().map(one).collect()
    }

    fn spent(&self) -> MicroUsd {
        self.earlier + self.total.less(self.inherited.unwrap_or_default())
    }
}
